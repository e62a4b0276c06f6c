"""A machine as it stands, changes to it, what they cost and bring.

Time that a cause takes shrinks as the thing becomes faster, the rest stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from rigright.base.record import Flat, Inner
from rigright.base.units import KILO, to_gib
from rigright.base.words import Sentence
from rigright.build.machine import Circuit
from rigright.cost.estimate import Estimate
from rigright.facts.chips import Chip
from rigright.facts.cpus import CpuModel
from rigright.facts.parts import PartKind
from rigright.money.prices import ram_usd


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What stands there now. None is not observed."""

    today: date
    chips: tuple[Chip, ...] = ()
    used_bytes: float | None = None  # the most memory in use on a card
    slot_gen: int | None = None  # of the slots that cards stand in
    free_slots: tuple[int, ...] | None = None  # lanes of each free slot a card may go into
    supply_w: float | None = None  # of the power supplies
    room: Circuit | None = None  # where it stands
    limit_share: float | None = None  # lowest power limit over its card's default
    cpu: CpuModel | None = None
    sockets: int | None = None
    mem_bytes: float | None = None
    mem_kind: str | None = None  # "DDR5"
    mem_registered: bool | None = None
    mem_places_free: int | None = None
    disk_kinds: tuple[str, ...] | None = None  # "nvme", "ssd", "hdd"
    disk_bytes_per_s: float | None = None  # as benched, or as its kind reads
    net_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """One thing that must hold for a change: slots, lanes, watts, memory."""

    says: Sentence
    holds: bool | None  # None: not observed; somebody must look


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change."""

    kind: str  # "settings", "cards", "disk", "memory", "processor", "network", "cooling", "power"
    title: Sentence
    helps: Mapping[str, float]  # cause -> how many times as fast that becomes
    usd: Estimate | None  # of one machine; None: it costs no money
    fits: tuple[Fit, ...] = ()
    more_w: float | None = None  # it draws more, or less, than what stands there
    command: str | None = None  # that does it, or says more
    source: str = ""
    takes: Inner[tuple[str, ...]] = ()  # causes of which it takes more: no help where they are full
    drops_in: Inner[bool] = False  # goes where the old one stood, on what feeds and cools it

    @property
    def possible(self) -> bool:
        """Whether nothing that was looked at speaks against it."""
        return all(fit.holds is not False for fit in self.fits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """A change and what it brings."""

    change: Flat[Change]
    gain: float  # how many times as fast the whole becomes
    gain_per_kusd: float | None  # gain above one for each thousand dollars; None: free


def part_usd(part: PartKind, count: int = 1) -> Estimate | None:
    """So many of a part, as the table states it; memory by the GB. None where no price is known."""
    if part.usd_low is None or part.usd_high is None:
        kind, registered = part.id.partition("-")[0], "rdimm" in part.id
        return ram_usd(kind, registered=registered, gb=count * to_gib(part.rate or 0.0))
    low, high = count * part.usd_low, count * part.usd_high
    return Estimate(value=(low + high) / 2, low=low, high=high, mark="stated", as_of=part.as_of)


LEAST_GAIN = 1.02  # a change that brings less is not worth a line


def gain(shares: Mapping[str, float], helps: Mapping[str, float]) -> float:
    """How many times as fast the whole becomes: Amdahl's law over the causes' shares of time."""
    known = sum(shares.values())
    left = max(0.0, 1.0 - known) + sum(share / helps.get(cause, 1.0) for cause, share in shares.items())
    return 1.0 / left


def ranked(
    changes: Iterable[Change], shares: Mapping[str, float], *, full: frozenset[str] = frozenset()
) -> tuple[Worth, ...]:
    """Possible changes that bring something: free ones first, then by gain for the money.

    Of cards the best that drops in goes first. What takes more of a thing that is full brings nothing.
    """
    worths = [
        _worth(change, shares) for change in changes if change.possible and full.isdisjoint(change.takes)
    ]
    useful = [worth for worth in worths if worth.gain >= LEAST_GAIN]
    useful.sort(key=lambda worth: (worth.gain_per_kusd is not None, -(worth.gain_per_kusd or worth.gain)))
    cards = [worth for worth in useful if worth.change.kind == "cards"]
    dropping = next((worth for worth in cards if worth.change.drops_in), None)
    if dropping is None:
        return tuple(useful)
    place = useful.index(cards[0])
    useful.remove(dropping)
    return (*useful[:place], dropping, *useful[place:])


def _worth(change: Change, shares: Mapping[str, float]) -> Worth:
    whole = gain(shares, change.helps)
    usd = change.usd
    per_kusd = (whole - 1.0) / (usd.value / KILO) if usd is not None and usd.value > 0 else None
    return Worth(change=change, gain=whole, gain_per_kusd=per_kusd)
