"""Names that fields of a page offer while somebody types: models, machines, places, currencies."""

from __future__ import annotations

from typing import Any

from rigright.arch.sources import zoo
from rigright.base.money import currencies
from rigright.base.words import tell
from rigright.facts.chips import chips
from rigright.facts.tariffs import places, tariff_at


def offered(language: str) -> dict[str, Any]:
    """What the tables know, by name."""
    models = {name.rpartition("/")[2] for name in zoo.names() if "#" not in name}
    fields = {code: tell(region.shown, language) for code, region in places().items() if ":" not in code}
    return {
        "models": sorted(models, key=str.casefold),
        "machines": [chip.id for chip in chips() if chip.vendor != "cpu"],
        "places": {code: name for code, name in fields.items() if tariff_at(places()[code], company=False)},
        "currencies": {
            currency.code: {"sign": currency.sign, "per_usd": currency.per_usd}
            for currency in currencies().values()
        },
    }
