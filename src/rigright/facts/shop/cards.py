"""How large the cards of a chip are, and what they are fed by: of its models, else of the chip itself."""

from __future__ import annotations

import re
from functools import cache
from statistics import median

from rigright.base.record import dataclass
from rigright.facts.chips import Chip
from rigright.facts.shop.find import named, words
from rigright.facts.shop.tables import CardModel, card_models

OPEN, BLOWER, PASSIVE, WATER = "open", "blower", "passive", "water"
SOLDERED = ("SXM", "OAM", "module", "SoC", "cloud", "superchip", "soldered", "SH5")
_WET = frozenset({"Water Cooled", "Hybrid"})
_BLOWER_SEGMENT = "workstation"
_NEW_PLUG = re.compile(r"16pin|12vhpwr|12v-2x6|12pin", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugs:
    """What feeds a card; a 12V plug may be fed by an adapter of several 8-pin ones."""

    h12v: int = 0
    pcie: int = 0  # 6 and 8-pin
    eps: int = 0  # as of processors: cards of servers


@dataclass(frozen=True, slots=True, kw_only=True)
class CardShape:
    """How a card is built. Least: of the smallest that is sold; usual: of the median. None is unknown."""

    least_slots: float | None
    usual_slots: float | None
    least_m: float | None
    usual_m: float | None
    cooling: str
    plugs: Plugs | None
    blowers: bool = False  # some of its cards blow their air out
    model: str | None = None  # the one that was named


@cache
def shape_of(chip: Chip, text: str = "", *, cooling: str | None = None) -> CardShape:
    """The shape of a chip's cards, of the model that is said where it is one."""
    every = tuple(card for card in card_models() if card.chip == chip.id)
    own_words = set(words(f"{chip.name} {chip.id} gb super ti laptop")) | {"x"}
    spoken = [
        word for word in words(text) if word not in own_words and not re.fullmatch(r"\d+x?|x\d+|\d+gb?", word)
    ]
    cards = named(text, every) if spoken and every else ()
    own = cards if 0 < len(cards) <= 3 else ()
    blown = cooling == BLOWER
    rows = own or tuple(card for card in every if blown or (card.cooling in _WET) == (cooling == WATER))
    blowers = tuple(card for card in rows if _blows(card, chip))
    if not own and not blown and (chip.slots or 0.0) > 2:
        rows = tuple(card for card in rows if card not in blowers) or rows  # rare ones are named as such
    wide = [card.slots for card in rows if card.slots]
    long = [card.length_m for card in rows if card.length_m]
    table_slots = [] if (own and wide) or chip.slots is None else [chip.slots]
    if blown or (cooling == WATER and not wide):
        wide = [2.0]
    return CardShape(
        least_slots=min(wide + (table_slots if not blown else []), default=None),
        usual_slots=median(wide) if wide else chip.slots,
        least_m=min(long + ([] if own or chip.length_m is None else [chip.length_m]), default=None),
        usual_m=median(long) if long else chip.length_m,
        cooling=cooling or (_cooling(own[0], chip) if own else _usual_cooling(chip)),
        plugs=_plugs(rows, chip),
        model=f"{own[0].vendor or ''} {own[0].name}".strip() if own else None,
        blowers=bool(blowers),
    )


def _usual_cooling(chip: Chip) -> str:
    """How the cards of a chip are cooled where nobody says."""
    if "passive" in chip.form or chip.id.endswith("blackwell-server"):
        return PASSIVE
    if "blower" in chip.form:
        return BLOWER
    through = chip.tdp_w is not None and chip.tdp_w > 350  # two fans that blow through the card
    return BLOWER if chip.segment == _BLOWER_SEGMENT and not through else OPEN


def _cooling(model: CardModel, chip: Chip) -> str:
    if model.cooling in _WET:
        return WATER
    if model.cooling == "Passive":
        return PASSIVE
    return BLOWER if _blows(model, chip) else _usual_cooling(chip)


def _blows(model: CardModel, chip: Chip) -> bool:
    """Whether a card has the one fan of a blower."""
    one_fan = model.cooling == "1" and (chip.tdp_w or 0.0) > 200 and (model.slots or 3) <= 2
    return model.cooling == "Blower" or one_fan


def _plugs(rows: tuple[CardModel, ...], chip: Chip) -> Plugs | None:
    """The fewest plugs that a card of the chip takes."""
    texts = {card.plugs for card in rows if card.plugs}
    if not texts and chip.power_connectors is None:
        return Plugs() if chip.tdp_w is not None and chip.tdp_w <= 75 else None
    cells = texts or {chip.power_connectors or ""}
    return min((_read_plugs(cell) for cell in cells), key=lambda plugs: (plugs.h12v, plugs.pcie + plugs.eps))


def _read_plugs(cell: str) -> Plugs:
    if cell == "none":
        return Plugs()
    if "EPS" in cell:
        return Plugs(eps=1)
    if _NEW_PLUG.search(cell) and "8pin" not in cell:
        count = re.match(r"(\d)x", cell)
        return Plugs(h12v=int(count[1]) if count else 1)
    counts = [int(value) for value in re.findall(r"(\d)(?:-\d)?x(?=[68])", cell)]
    return Plugs(pcie=sum(counts) or 1)
