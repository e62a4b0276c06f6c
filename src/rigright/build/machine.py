"""A machine as a list of parts: what rules look at. None is not said, or not known."""

from __future__ import annotations

from rigright.base.record import dataclass
from rigright.facts.chips import Chip
from rigright.facts.shop.cards import CardShape
from rigright.facts.shop.cpus import Processor
from rigright.facts.shop.tables import Board, Cooler, Enclosure, Finished, PowerSupply

UPRIGHT = 4  # units of a rack case that cards stand in
SAFE_SHARE = 0.8  # of a breaker's rating that may be drawn for hours


@dataclass(frozen=True, slots=True, kw_only=True)
class Cards:
    """Cards of one kind."""

    chip: Chip
    count: int
    shape: CardShape
    slots: float | None = None  # each is wide, where somebody says so
    length_m: float | None = None
    limit_w: float | None = None  # power limit of each, as stated
    bridged: bool = False  # an NVLink bridge is asked for

    @property
    def watts(self) -> float | None:
        """Of each at full load."""
        return self.limit_w or self.chip.tdp_w

    @property
    def least_slots(self) -> float | None:
        """How wide the narrowest such card is."""
        return self.slots or self.shape.least_slots

    @property
    def usual_slots(self) -> float | None:
        """How wide such a card usually is."""
        return self.slots or self.shape.usual_slots


@dataclass(frozen=True, slots=True, kw_only=True)
class Modules:
    """Modules of memory alike."""

    count: int | None
    each_bytes: float | None
    total_bytes: float | None
    type: str | None = None
    mts: int | None = None
    registered: bool | None = None
    reduced: bool = False  # load-reduced: LRDIMM
    ecc: bool | None = None
    laptop: bool = False
    stated_bytes: float | None = None  # the total as written beside the count


@dataclass(frozen=True, slots=True, kw_only=True)
class Disks:
    """Drives alike."""

    count: int
    kind: str | None  # "m2", "u2", "card", "sata"
    gen: int | None = None
    name: str = ""  # as it was written


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """Where the machine stands: what feeds it, how high it may be, and whether somebody works beside it."""

    volts: float | None = None
    amps: float | None = None
    circuits: float = 1  # each machine's share of them, of several
    units: int | None = None  # of a rack
    quiet: bool = False

    @property
    def is_flat(self) -> bool:
        """Whether only servers that are made for it go there: cards stand upright in no such case."""
        return self.units is not None and self.units < UPRIGHT

    @property
    def rated_w(self) -> float | None:
        """What the breakers carry."""
        return None if self.volts is None or self.amps is None else self.volts * self.amps * self.circuits


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """A whole machine."""

    processor: Processor | None = None
    cpu_count: int = 1
    board: Board | None = None
    modules: tuple[Modules, ...] = ()
    cards: tuple[Cards, ...] = ()
    supplies: tuple[PowerSupply, ...] = ()
    case: Enclosure | None = None
    disks: tuple[Disks, ...] = ()
    cooler: Cooler | None = None
    nics: int = 0  # network cards in slots
    room: Circuit | None = None
    machine: Finished | None = None
    remarks: str = ""  # everything that was written, in lower case
    unknown: tuple[tuple[str, str], ...] = ()  # kind and words of what nobody knows
    repeated: tuple[
        tuple[str, str], ...
    ] = ()  # the same of a second board, case or processor that is another

    @property
    def n_cards(self) -> int:
        """Of all kinds."""
        return sum(cards.count for cards in self.cards)

    @property
    def cards_w(self) -> float | None:
        """Of all cards at full load."""
        if any(cards.watts is None for cards in self.cards):
            return None
        return sum(cards.count * (cards.watts or 0.0) for cards in self.cards)

    @property
    def cpu_w(self) -> float:
        """Of its processors at most; a modest one where none is known."""
        value = None if self.processor is None else self.processor.peak_w
        return self.cpu_count * (value or 105.0)
