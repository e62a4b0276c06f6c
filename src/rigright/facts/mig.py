"""MIG: the instances that a GPU can be cut into, each as a chip of its own: "h100 mig 3g.40gb"."""

from __future__ import annotations

from functools import cache

from rigright.base.errors import AskError
from rigright.base.loader import records
from rigright.base.record import dataclass, replace
from rigright.base.words import Sentence, say
from rigright.facts.chips import ALONE, Chip

MEMORY_SLICES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One size of instance, of the chips that are cut alike."""

    chips: tuple[str, ...]  # ids
    profile: str  # "3g.40gb"
    slices: int  # of compute
    slices_of: int  # how many the whole GPU has
    memory_eighths: int  # of the memory, its bandwidth and the L2 cache
    mem_bytes: float | None  # what the driver lists; None: so many eighths of the GPU's
    sms: int | None  # what the driver lists; None: its compute slices of the GPU's
    source: str
    as_of: str

    @property
    def most(self) -> int:
        """How many of it a GPU holds."""
        return min(self.slices_of // self.slices, MEMORY_SLICES // self.memory_eighths)

    def peak_share(self, chip: Chip) -> float:
        """Its share of the GPU's compute."""
        return self.sms / chip.sms if self.sms and chip.sms else self.slices / self.slices_of


@cache
def profiles() -> tuple[Profile, ...]:
    """Every row of the table."""
    return records("mig_profiles.csv", Profile)


def profile_of(chip: Chip, name: str) -> Profile | None:
    """The profile of a chip by its name; None where it has no such one."""
    return next((row for row in _profiles_of(chip) if row.profile == name), None)


def _profiles_of(chip: Chip) -> tuple[Profile, ...]:
    """The sizes that a chip can be cut into, the smallest first; none where it has no MIG."""
    return tuple(row for row in profiles() if chip.id in row.chips)


def instance_of(chip: Chip, name: str) -> Chip:
    """One MIG instance as a chip: its share of memory, bandwidth and compute, linked to no other."""
    profile = profile_of(chip, name)
    if profile is None:
        known = ", ".join(row.profile for row in _profiles_of(chip))
        if not known:
            raise AskError(say("{chip} does not support MIG", chip=chip.name))
        missing = say("{chip} has no MIG profile {profile}", chip=chip.name, profile=name)
        raise AskError(
            missing if name else say("which MIG profile of {chip}?", chip=chip.name),
            hint=say("MIG profiles of {chip}: {profiles}", chip=chip.name, profiles=known),
        )
    mem_share = profile.memory_eighths / MEMORY_SLICES
    usable = min(profile.mem_bytes or chip.mem_usable_bytes, chip.mem_usable_bytes * mem_share)
    return replace(
        cut(chip, share=profile.peak_share(chip), mem_share=mem_share, usable_bytes=usable),
        name=f"{chip.name} MIG {name}",
        mem_program_bytes=usable if profile.mem_bytes else chip.mem_program_bytes * mem_share,
        sms=profile.sms,
    )


def cut(chip: Chip, *, share: float, mem_share: float, usable_bytes: float) -> Chip:
    """A part of a chip: its share of each peak, and of what goes with the memory; linked to no other."""
    peaks = {
        field: value * share
        for field in Chip.__slots__
        if field.endswith(("_flops_per_s", "_ops_per_s")) and (value := getattr(chip, field)) is not None
    }
    return replace(
        chip,
        mem_bytes=chip.mem_bytes * mem_share,
        mem_usable_bytes=usable_bytes,
        mem_program_bytes=usable_bytes,
        mem_bytes_per_s=chip.mem_bytes_per_s * mem_share,
        l2_bytes=chip.l2_bytes and chip.l2_bytes * mem_share,
        tdp_w=chip.tdp_w and chip.tdp_w * mem_share,
        link=None,
        link_both_ways_bytes_per_s=None,
        link_one_way_bytes_per_s=None,
        link_max_chips=ALONE,
        **peaks,
    )


def notes_on(count: int) -> tuple[Sentence, ...]:
    """What is to be known of so many instances."""
    paid = say("prices count a whole GPU for each MIG instance")
    each = say("a program sees one MIG instance: run one copy of the model on each")
    return (each, paid) if count > 1 else (paid,)
