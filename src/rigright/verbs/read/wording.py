"""What a sentence says of a card or a processor without a figure: kind of memory, architecture, has it or not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from rigright.base.patterns import pattern
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say
from rigright.facts.chips import Chip, by_id, chips
from rigright.facts.clouds import Offer
from rigright.facts.cpus import CpuModel
from rigright.verbs.read.claims import claim_of
from rigright.verbs.read.passages import Passage
from rigright.verbs.read.record import RIGHT, UNKNOWN, WRONG, GuideClaim
from rigright.verbs.read.subjects import CHIP, CPU, OFFER, Subject

_MEMORY = pattern(r"(?<![A-Za-z])(?:LP|G)?DDR[3-7]X?|HBM[1-4]?e?(?![A-Za-z0-9])", re.IGNORECASE)
_NO = pattern(
    r"没有|不支持|无法|不能|不具备|不带|取消|移除|砍掉|缺少|缺乏|❌|✗|✘|×\s*\(|无\s?(?=nvlink|ecc)|\bno\b|\bnot\b|n't\b|without|lacks?\b|lacking|drop(?:s|ped)|remov(?:es|ed)|cannot",
    re.IGNORECASE,
)
_YES = pattern(
    r"支持|具备|拥有|配备|带有|通过|采用|使用|利用|结合|✅|✓|✔|\bhas\b|\bhave\b|\bwith\b|\bvia\b|supports?\b|support\b|\byes\b|connected|linked|joined|bridged?\b|\bover\b|offers?\b|互联|桥接",
    re.IGNORECASE,
)
_NEAR = 44  # signs between a subject and such a word
_LISTED = 12  # signs before a comma in which a word may open a list: "offers A, B and NVLink"
_CLAUSE = pattern(r"[,，;；。、|]|\bbut\b|但|而")


@dataclass(frozen=True, slots=True)
class Trait:
    """Something a chip has or has not."""

    id: str
    words: tuple[str, ...]
    has: Callable[[Chip], bool | None]


def _rate(field: str) -> Callable[[Chip], bool | None]:
    return lambda chip: getattr(chip, field) is not None


TRAITS = (
    Trait("NVLink", ("nvlink",), lambda chip: (chip.link or "").startswith("NVLink")),
    Trait("ECC", ("ecc",), lambda chip: chip.ecc),
    Trait("FP8", ("fp8",), _rate("fp8_flops_per_s")),
    Trait("FP4", ("fp4", "nvfp4"), _rate("fp4_flops_per_s")),
    Trait("BF16", ("bf16", "bfloat16"), _rate("bf16_flops_per_s")),
    Trait("TF32", ("tf32",), _rate("tf32_flops_per_s")),
    Trait("Tensor Cores", ("tensor core", "张量核心"), lambda chip: chip.tensor_core_gen is not None),
    Trait("unified memory", ("unified memory", "统一内存"), lambda chip: chip.unified_memory),
)


def traits(passage: Passage) -> Iterator[GuideClaim]:
    """Claims of a passage that bear no figure."""
    if passage.is_code:
        return
    yield from _memory_types(passage)
    yield from _architectures(passage)
    for trait in TRAITS:
        at = next((at for word in trait.words if (at := passage.plain.find(word)) >= 0), None)
        topic = any(word in passage.topic for word in trait.words)
        if at is None and not topic:
            continue
        yield from _has(passage, trait, at)


def _has(passage: Passage, trait: Trait, at: int | None) -> Iterator[GuideClaim]:
    """Whether the cards named have what is said that they have, or have not."""
    said = _polarity(passage, at)
    if said is None:
        return
    for one in _cards(passage, at):
        known = [trait.has(chip) for chip in one.records if isinstance(chip, Chip)]
        if not known or None in known:
            continue
        truth = _truth(trait, one)
        holds = said in known
        yield claim_of(passage, max(at or 0, 0), one, kind=trait.id, verdict=RIGHT if holds else WRONG, truth=truth)


def _truth(trait: Trait, one: Subject) -> Sentence | str:
    chip = one.records[0]
    if not isinstance(chip, Chip):
        return ""
    if trait.id == "NVLink" and chip.link is not None:
        return chip.link
    values = {trait.has(each) for each in one.records if isinstance(each, Chip)}
    if len(values) > 1:
        return say("some models of it have {trait}, others not", trait=trait.id)
    return say("{name} has {trait}", name=chip.name, trait=trait.id) if values == {True} else say(
        "{name} has no {trait}", name=chip.name, trait=trait.id
    )  # fmt: skip


def _polarity(passage: Passage, at: int | None) -> bool | None:
    """Whether a passage says that something is there; None where it only names it."""
    start, end = 0, len(passage.plain)
    if at is not None:
        breaks = [one.start() for one in _CLAUSE.finditer(passage.plain)]
        start = max((one for one in breaks if one < at), default=0)
        end = min((one for one in breaks if one > at), default=end)
        if passage.topic and not passage.subjects:
            start = 0
    clause = passage.plain[start:end]
    if _NO.search(clause):
        return False
    if at is None:
        return True if _YES.search(clause) or clause.strip() in {"是", "有", "y", "yes"} else None
    near = [one for one in _YES.finditer(passage.plain) if start - _LISTED <= one.start() < end]
    return True if any(abs(one.start() - at) <= _NEAR for one in near) else None


def _cards(passage: Passage, at: int | None) -> list[Subject]:
    """The cards that a word in a place is said of: those before it, else the one behind, else those above."""
    inside = [one for one in passage.subjects if one.kind == CHIP]
    if at is None:
        return inside or [one for one in passage.above if one.kind == CHIP]
    before = [one for one in inside if one.end <= at and at - one.end <= _NEAR + 20]
    if before:
        last = before[-1]
        group = [last]
        for one in reversed(before[:-1]):
            if re.fullmatch(r"[\s、,/]*(?:和|与|或|and|or|&)?[\s、,/]*", passage.text[one.end : group[-1].start], re.IGNORECASE):
                group.append(one)
            else:
                break
        return group
    behind = [one for one in inside if 0 <= one.start - at <= _NEAR]
    return behind[:1] or [one for one in passage.above if one.kind == CHIP]


def _memory_types(passage: Passage) -> Iterator[GuideClaim]:
    """GDDR6X, HBM3: what kind of memory a card or a processor has."""
    for found in _MEMORY.finditer(passage.text):
        word = found[0].upper().replace("E", "e") if found[0].upper().startswith("HBM") else found[0].upper()
        for one in _holders(passage, found.start(), graphics=not word.startswith("DDR")):
            types = {_type_of(record) for record in one.records}
            known = {kind for kind in types if kind}
            if not known:
                continue
            holds = any(word in re.split(r"[ /-]", kind) or (word == "HBM" and kind.startswith(word)) for kind in known)
            yield claim_of(passage, found.start(), one, kind="memory type", verdict=RIGHT if holds else WRONG, truth=", ".join(sorted(known)))


def _type_of(record: object) -> str:
    return str(getattr(record, "mem_type", "") or "")


def _holders(passage: Passage, at: int, *, graphics: bool) -> list[Subject]:
    kinds = {CHIP} if graphics else {CPU}
    inside = [one for one in passage.subjects if one.kind in kinds]
    before = [one for one in inside if one.end <= at]
    above = [one for one in passage.above if one.kind in kinds]
    return before[-1:] or [one for one in inside if one.start - at <= _NEAR][:1] or above[:1]


@cache
def _architecture_words() -> dict[str, str]:
    """A word for an architecture -> how names of architectures begin that bear it."""
    names = {chip.architecture.partition(" (")[0] for chip in chips() if chip.vendor in {"NVIDIA", "AMD"}}
    return {name.split()[0].casefold() if name.startswith("Ada") else name.casefold(): name.split()[0] for name in names if " " not in name or name.startswith("Ada")}


def _architectures(passage: Passage) -> Iterator[GuideClaim]:
    for word, begins in _architecture_words().items():
        for found in re.finditer(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9.])", passage.plain):
            if any(one.start <= found.start() < one.end for one in passage.subjects):
                continue
            said = _said_of(passage, found.start(), found.end())
            if said is None:
                continue
            known = {chip.architecture for chip in said.records if isinstance(chip, Chip)}
            holds = any(one.startswith(begins) for one in known)
            yield claim_of(passage, found.start(), said, kind="architecture", verdict=RIGHT if holds else WRONG, truth=", ".join(sorted(known)))


def _said_of(passage: Passage, start: int, end: int) -> Subject | None:
    """The card an architecture is said of: the nearest in its clause, or the one above where it is the topic."""
    cards = [one for one in passage.subjects if one.kind == CHIP]
    near = [
        (one.start - end if one.start >= end else start - one.end, one)
        for one in cards
        if not _CLAUSE.search(passage.plain[min(one.end, end) : max(one.start, start)])
    ]
    close = [pair for pair in near if 0 <= pair[0] <= 24]
    if close:
        return min(close, key=lambda pair: pair[0])[1]
    told = any(word in f"{passage.topic} {passage.plain}" for word in ("架构", "architecture"))
    return next((one for one in passage.above if one.kind == CHIP), None) if told and not cards else None


def made_no_more(passage: Passage) -> Iterator[GuideClaim]:
    """Cards and processors that a text calls new or current and that are made no more."""
    words = ("停产", "discontinued", "no longer made", "end of life")
    if not any(word in passage.plain for word in words):
        return
    for one in passage.subjects:
        chip = one.records[0]
        if isinstance(chip, Chip):
            truth = say("made until {month}", month=chip.ended) if chip.ended else say("in production")
            yield claim_of(passage, one.start, one, kind="production", verdict=RIGHT if chip.ended else WRONG, truth=truth)
        elif isinstance(chip, CpuModel):
            yield claim_of(passage, one.start, one, kind="production", verdict=UNKNOWN, truth=None)


def rented(passage: Passage) -> Iterator[GuideClaim]:
    """Which cards a rented machine has, and how many."""
    machines = [one for one in passage.subjects if one.kind == OFFER]
    cards = [one for one in passage.subjects if one.kind == CHIP]
    if len(machines) != 1 or not cards:
        return
    offer = machines[0].records[0]
    if not isinstance(offer, Offer) or offer.chip is None:
        return
    for one in cards[:1]:
        has = any(isinstance(chip, Chip) and chip.id == offer.chip for chip in one.records)
        holds = has and one.count in {1, int(offer.n_chips)}
        truth = f"{offer.n_chips:g}x {by_id()[offer.chip].name}"
        yield claim_of(passage, one.start, machines[0], kind="GPUs", verdict=RIGHT if holds else WRONG, truth=truth)
