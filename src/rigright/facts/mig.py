"""Slices of a GPU, each as a chip of its own: "h100 mig 3g.40gb", "1/7 h100", vGPU "A16-8Q", "MI300X CPX"."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache

from rigright.base.errors import AskError
from rigright.base.everyday import words_of
from rigright.base.loader import records
from rigright.base.patterns import pattern
from rigright.base.record import dataclass, replace
from rigright.base.units import GIB, to_gib
from rigright.base.words import Sentence, say
from rigright.facts.chips import ALONE, Chip

MEMORY_SLICES = 8
_MODES = {"dpx": 2, "tpx": 3, "qpx": 4, "cpx": 8}  # of an MI300: partitions, each with its share of all
_VGPU = pattern(r"\b(?:grid[ -])?(?P<chip>(?:rtx)?[a-z]{1,2}\d{1,4}s?)(?P<wide>d?)-(?:(?P<cut>[1-7])-)?"
                r"(?P<size>\d{1,2})[qcab]\b", re.IGNORECASE)  # fmt: skip
_PART = pattern(
    r"\A\s*(?P<count>\d{1,3}\s*[x×*]\s*)?(?:a\s+)?(?:(?P<some>[1-7])\s*/\s*(?P<of>[2-8])|"
    r"(?P<word>[a-z]{4,7}\b|[^\x00-\x7f]{1,4}?))\s*(?:张|块|个|of\b)?\s*(?:an?\b)?\s*(?=[a-z])",
    re.IGNORECASE,
)  # fmt: skip
PROFILE = pattern(r"(?:mig[ -]?)?[1-7]g\.\d{1,3}gb", re.IGNORECASE)
_MODE = pattern(r"\b(?P<mode>[dtqc]px)\b", re.IGNORECASE)
_SIZES = {"a100": ("40gb", "80gb"), "v100": ("16gb", "32gb")}  # without and with a D behind the name


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


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPart:
    """A part of a GPU as people say it."""

    text: str
    share: float | None = None  # nearest to which a profile of MIG is meant
    size_bytes: float | None = None  # of a vGPU
    parts: int = 0  # alike, into which a mode of the driver cuts the GPU


def split_slice(text: str) -> tuple[str, GpuPart | None]:
    """A machine without the words for a part of a GPU, and that part."""
    vgpu = _VGPU.search(text)
    if vgpu is not None:
        chip = f"{vgpu['chip']} {_SIZES.get(vgpu['chip'].lower(), ('', ''))[bool(vgpu['wide'])]}".strip()
        if vgpu["cut"]:
            chip += f" mig {vgpu['cut']}g.{vgpu['size']}gb"
        size = None if vgpu["cut"] else int(vgpu["size"]) * GIB
        part = None if size is None else GpuPart(text=f"vGPU {vgpu['size']}GB", size_bytes=size)
        return f"{text[: vgpu.start()]}{chip}{text[vgpu.end() :]}", part
    some, mode = _PART.match(text), _MODE.search(text)
    if mode is not None:
        parts = _MODES[mode["mode"].lower()]
        return text[: mode.start()] + text[mode.end() :], GpuPart(text=mode["mode"].upper(), parts=parts)
    share = None if some is None else words_of("slice").get((some["word"] or "").lower())
    if some is None or not (share or some["of"]):
        return text, None
    rest = f"{some['count'] or ''}{text[some.end() :]}"
    return rest, GpuPart(text=some[0].strip(), share=float(Fraction(share or f"{some['some']}/{some['of']}")))


def sliced(chip: Chip, part: GpuPart) -> Chip:
    """The part of a chip as a chip."""
    if part.share is not None:
        share = part.share
        near = min(_profiles_of(chip), default=None, key=lambda row: (
            abs(row.slices / row.slices_of - share) + abs(row.memory_eighths / MEMORY_SLICES - share)
        ))  # fmt: skip
        return instance_of(chip, "" if near is None else near.profile)
    share = 1 / part.parts if part.size_bytes is None else part.size_bytes / chip.mem_bytes
    if share > 1 or (part.parts and not chip.id.startswith("mi3")):
        raise AskError(
            say("{chip} has no {part}", chip=chip.name, part=part.text),
            hint=say("it has {size} GB of memory", size=f"{to_gib(chip.mem_bytes):.0f}"),
        )
    item = cut(chip, share=share, mem_share=share, usable_bytes=chip.mem_usable_bytes * share)
    return replace(item, name=f"{chip.name} {part.text}")


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


def notes_on(count: int, *, share: float) -> tuple[Sentence, ...]:
    """What is to be known of so many instances, each with a share of its GPU."""
    paid = say("prices count a whole GPU; its share of the memory is {share}", share=f"{share:.0%}")
    each = say("a program sees one slice of a GPU: run one copy of the model on each")
    return (each, paid) if count > 1 else (paid,)
