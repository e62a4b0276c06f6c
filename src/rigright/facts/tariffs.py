"""Places: what a kWh costs there, for homes and for companies, and the carbon in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from rigright.base.errors import AskError
from rigright.base.loader import records
from rigright.base.numerals import plain
from rigright.base.record import dataclass
from rigright.base.words import CHINESE_LETTERS, Bilingual, Sentence, say

HOME, COMPANY, CARBON = ("residential",), ("industrial", "commercial"), ("carbon",)
_ENDINGS = ("province", "state", "省", "市", "州", "自治区", "特别行政区")
_NEAR = 4  # names that a complaint lists


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A country, a province, or a cloud's region."""

    place: str  # "DE", "US-CA", "CN-GD", "gcp:us-central1"
    parent: str | None
    names: tuple[str, ...]  # the first is English, the first in Chinese letters is Chinese

    @property
    def shown(self) -> Bilingual:
        """Its name for people."""
        chinese = (name for name in self.names if name[0] >= CHINESE_LETTERS)
        return Bilingual(self.names[0], next(chinese, self.names[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class KwhPrice:
    """One figure of one place."""

    place: str
    kind: str  # "residential", "residential-valley", "commercial", "industrial", "carbon"
    value: float  # per kWh in `currency`, or grams of CO2 per kWh
    unit: str
    currency: str | None
    as_of: str
    source: str
    licence: str
    confidence: str
    notes: str | None


@cache
def places() -> dict[str, Region]:
    """Every place by its code."""
    read = records("places.csv", Region, read={"names": lambda cell: tuple(cell.split("|"))})
    return {region.place: region for region in read}


@cache
def tariffs() -> tuple[KwhPrice, ...]:
    """Every figure of the table, in its order."""
    return records("tariffs.csv", KwhPrice)


def find_place(asked: str) -> Region:
    """A place by its code or its name in English or Chinese: "US-CA", "germany", "广东省"."""
    wanted = _plain(asked)
    known = list(_named())
    regions = {code: place for name, code, place in known if name == wanted}
    if not regions:
        regions = {
            code: place
            for name, code, place in known
            for ending in _ENDINGS
            if wanted.endswith(ending) and name == wanted.removesuffix(ending).strip()
        }
    if len(regions) == 1:
        return next(iter(regions.values()))
    if regions:
        codes = ", ".join(f"{code} ({place.names[0]})" for code, place in regions.items())
        raise AskError(
            say('"{text}" is ambiguous: several places have this name', text=asked),
            hint=say("use a code: {known}", known=codes),
        )
    from difflib import get_close_matches

    near = get_close_matches(wanted, [name for name, _, _ in known], n=_NEAR, cutoff=0.6)
    fields = {name: place.names[0] for name, _, place in known}
    hint = (
        say("did you mean {near}?", near=", ".join(dict.fromkeys(fields[name] for name in near)))
        if near
        else say("use a code or a name: {known}", known="US-CA, DE, CN-GD, Guangdong, 广东")
    )
    raise AskError(say('unknown place "{text}"', text=asked), hint=hint)


def _plain(name: str) -> str:
    return " ".join(plain(name).replace("_", "-").split())


def _named() -> Iterator[tuple[str, str, Region]]:
    for code, place in places().items():
        for name in dict.fromkeys((code, *place.names)):
            yield _plain(name), code, place


def _of(place: str | None, kinds: tuple[str, ...]) -> KwhPrice | None:
    """The newest figure of the first kind that is known of a place."""
    for kind in kinds:
        rows = [row for row in tariffs() if row.place == place and row.kind == kind]
        if rows:
            return max(rows, key=lambda row: row.as_of)
    return None


def tariff_at(place: Region, *, company: bool) -> tuple[KwhPrice, Sentence | None] | None:
    """What a kWh costs there, and what was taken instead where just that is not known; None: nothing is."""
    asked, other = (COMPANY, HOME) if company else (HOME, COMPANY)
    for code, kinds in (
        (place.place, asked), (place.parent, asked), (place.place, other), (place.parent, other),
    ):  # fmt: skip
        kwh_price = _of(code, kinds)
        if kwh_price is None:
            continue
        if (code, kinds) == (place.place, asked):
            return kwh_price, None
        return kwh_price, say(
            "no {asked} tariff known for {place}: using the {kind} tariff of {other}",
            asked=say("company") if company else say("household"),
            kind=say("household") if kwh_price.kind in HOME else say("company"),
            place=place.shown,
            other=places()[kwh_price.place].shown,
        )
    return None


def carbon_at(place: Region) -> KwhPrice | None:
    """Grams of CO2 in a kWh there, or in its country."""
    return _of(place.place, CARBON) or _of(place.parent, CARBON)


def currency_at(place: Region) -> str | None:
    """What is paid with there, where a tariff tells it."""
    pair = tariff_at(place, company=False)
    return None if pair is None else pair[0].currency
