"""A machine as it stands, and a change to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from rigright.base.record import Flat, Inner
from rigright.base.words import Sentence
from rigright.cost.estimate import Estimate
from rigright.facts.chips import Chip
from rigright.facts.cpus import CpuModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What stands there now. None is not observed."""

    today: date
    chips: tuple[Chip, ...] = ()
    used_bytes: float | None = None  # the most memory in use on a card
    slot_gen: int | None = None  # of the slots that cards stand in
    free_slots: tuple[int, ...] | None = None  # lanes of each free slot a card may go into
    supply_w: float | None = None  # of the power supplies
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
