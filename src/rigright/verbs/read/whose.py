"""Whose figure it is and of what: the subject before it in its sentence, else behind it, else above it.

A word for the quantity decides before the mere unit does, and the nearest word before those farther away:
commas and other figures between count as distance, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.errors import RigError
from rigright.base.record import dataclass, replace
from rigright.facts.find import chips_meant
from rigright.verbs.read.kinds import BARE, ClaimKind, kind_named, kinds
from rigright.verbs.read.passages import Passage
from rigright.verbs.read.quantities import StatedQuantity
from rigright.verbs.read.subjects import CHIP, MODEL, ClaimSubject

FAR = 28  # signs between a figure and the word for it that must be said
NUMBERED = 16  # between a bare number and the word for what it counts
_LANES = "PCIe lanes"  # which Chinese calls channels, too
_LOOSE, _LOOSELY = "~", 20.0  # a word that may mean another quantity, too, counts as so far away
_CLAUSE, _ANOTHER = 30, 12  # how far a comma, and another figure, set two words apart
NEVER = 10_000.0
_ENDS = re.compile(r"[,，;；、。|/]")
_SAYS_ON = re.compile(r"\b(?:and|but|while|yet)\b|且|同时")  # what follows is another thing said
_TOGETHER = re.compile(r"[\s)）]*(?:/|、|,|，|or|and|&|和|或|与|及)[\s(（]*", re.IGNORECASE)
_RESPECTIVELY = ("respectively", "分别")
_FORM = re.compile(r"\b(sxm\d?|pcie|nvl)\b\s?(?:version|variant|model|版本|版)", re.IGNORECASE)
_BOX = re.compile(r"\b[dh]gx\b|整机|服务器|server|system|workstation")
_LIMITED = re.compile(
    r"power[- ]?(?:limit|cap)|undervolt|capp?ed|限(?:制|到|在|功耗|至)|降(?:压|到|至|功耗)|功耗墙"
)
_NEEDED = re.compile(r"所需|需求|需要|needed|required|requirement")
_RIGHT_BEFORE = re.compile(r"\s?(?:的|of|of the|on the|nvidia)?\s?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figured:
    """A figure, what it is of, and which quantity it is."""

    quantity: StatedQuantity
    subject: ClaimSubject
    kind: ClaimKind


def figured(passage: Passage) -> Iterator[Figured]:
    """Every figure of a passage that some kind of claim takes."""
    each = _respectively(passage)
    for quantity in passage.quantities:
        holder = next(
            (entry for entry in passage.subjects if entry.start <= quantity.start < entry.end), None
        )
        if holder is not None:
            if holder.kind == CHIP and quantity.unit == "bytes":
                yield Figured(quantity=quantity, subject=holder, kind=kind_named("VRAM", CHIP))
            continue
        box = _BOX.search(passage.besides) if quantity.unit == "w" else None
        own = box is not None and any(box[0] in entry.name.casefold() for entry in passage.subjects)
        limited = _LIMITED.search(passage.plain) is not None
        if quantity.unit == "w" and ((box and not own) or limited or passage.is_of_supply(quantity)):
            continue  # of a whole machine, its supply or a limit that somebody sets: no card's figure
        near = [each[quantity]] if quantity in each else list(nearest(passage, quantity))
        worded = ((entry, _worded_kind(passage, quantity, subject=entry)) for entry in near)
        plain = ((entry, _plain_kind(quantity, entry)) for entry in near)
        subject, kind = next(
            ((entry, kind) for entry, kind in (*worded, *plain) if kind is not None), (None, None)
        )
        if (
            kind is not None
            and kind.of == CHIP
            and quantity.unit == "bytes"
            and _NEEDED.search(passage.topic)
        ):
            continue  # what the model of the row needs
        if subject is None or kind is None:
            continue
        subject = of_form(subject, passage.text[max(subject.end, 0) : quantity.start])
        for item in (subject,) if quantity in each else together(passage, subject):
            yield Figured(quantity=quantity, subject=item, kind=kind)


def _respectively(passage: Passage) -> dict[StatedQuantity, ClaimSubject]:
    """Of "A and B have 1 and 2 respectively": which figure is whose."""
    if not any(word in passage.plain for word in _RESPECTIVELY) or len(passage.subjects) < 2:
        return {}
    same = len(passage.figures) == len(passage.subjects)
    return dict(zip(passage.figures, passage.subjects, strict=True)) if same else {}


def nearest(passage: Passage, quantity: StatedQuantity) -> Iterator[ClaimSubject]:
    """Subjects that a figure may be of, the likeliest first."""
    inside = [subject for subject in passage.subjects if not (passage.is_code and subject.kind == MODEL)]
    before = [subject for subject in reversed(inside) if subject.end <= quantity.start]
    behind = [subject for subject in inside if subject.start >= quantity.end]
    if behind:  # right before a name, and apart from the one before it: "..., a 24 GB RTX 4090"
        apart = not before or _ENDS.search(passage.text[before[0].end : quantity.start]) is not None
        if apart and _RIGHT_BEFORE.fullmatch(passage.text[quantity.end : behind[0].start]):
            yield behind[0]
    yield from (*before, *behind, *passage.above)


def together(passage: Passage, subject: ClaimSubject) -> Iterator[ClaimSubject]:
    """It, and those of its kind that are named with it: "A100/H100"."""
    yield subject
    if subject.start < 0:
        yield from (item for item in passage.above if item is not subject and item.kind == subject.kind)
        return
    known = [item for item in passage.subjects if item.kind == subject.kind]
    place = next((place for place, item in enumerate(known) if item.start == subject.start), 0)
    while place > 0 and _TOGETHER.fullmatch(passage.text[known[place - 1].end : known[place].start]):
        place -= 1
        if not known[place].sized:
            yield known[place]


def of_form(subject: ClaimSubject, between: str) -> ClaimSubject:
    """The same in another form that is named before the figure: "H100 PCIe ..., the SXM version 700 W"."""
    values = _FORM.findall(between) if subject.kind == CHIP and subject.start >= 0 else []
    if not values:
        return subject
    bare = re.sub(r"\b(?:sxm\d?|pcie|nvl)\b", "", subject.text, flags=re.IGNORECASE).strip()
    try:
        return replace(
            subject,
            records=tuple[object, ...](chips_meant(f"{bare} {values[-1]}")),
            text=f"{bare} {values[-1]}",
        )
    except RigError:
        return subject


def _worded_kind(passage: Passage, quantity: StatedQuantity, *, subject: ClaimSubject) -> ClaimKind | None:
    """The quantity that a figure is: the one whose word stands nearest among those of its unit."""
    pair: tuple[float, ClaimKind] | None = None
    lanes = (
        quantity.unit == "channels" and "pcie" in passage.plain[max(0, quantity.start - 16) : quantity.start]
    )
    for kind in kinds():
        if kind.of != subject.kind or not (kind.takes(quantity) or (lanes and kind.id == _LANES)):
            continue
        if lanes and kind.id == _LANES:
            return kind
        far = min((distance(passage, quantity, word=word) for word in kind.said), default=NEVER)
        most = NUMBERED if quantity.unit in BARE else FAR if kind.needs_word else NEVER - 1
        if far <= most and (pair is None or far < pair[0]):
            pair = far, kind
    return None if pair is None else pair[1]


def _plain_kind(quantity: StatedQuantity, subject: ClaimSubject) -> ClaimKind | None:
    """What the unit alone tells."""
    if quantity.unit in BARE:
        return None
    fitting = (kind for kind in kinds() if kind.of == subject.kind and kind.takes(quantity))
    return next((kind for kind in fitting if not kind.needs_word), None)


def distance(passage: Passage, quantity: StatedQuantity, *, word: str) -> float:
    """Signs between a figure and a word; commas, other figures, and that it may mean others count, too."""
    bare = word.removeprefix(_LOOSE)
    loosely = 0.0 if bare == word else _LOOSELY
    if bare in quantity.text.casefold():
        return loosely
    values = [NUMBERED - 2.0 if bare in passage.topic else NEVER]
    for start in places(passage.plain, bare):
        is_before = start + len(bare) <= quantity.start
        low, high = (start + len(bare), quantity.start) if is_before else (quantity.end, start)
        between = passage.text[low:high]
        weight = 1.0 if is_before else 1.01 if len(between) > 2 else 0.5
        others = sum(low <= figure.start < high for figure in passage.figures)
        values.append(len(between) * weight + _CLAUSE * _breaks(between) + _ANOTHER * others)
    return loosely + min(values)


def _breaks(between: str) -> int:
    """How often what is said changes on the way."""
    return len(_ENDS.findall(between)) + len(_SAYS_ON.findall(between))


def places(plain: str, word: str) -> Iterator[int]:
    """Where a word stands by itself: "ram" not within "parameter"; one more s behind it is let pass."""
    start = plain.find(word)
    while start >= 0:
        before, behind = plain[max(start - 1, 0) : start], plain[start + len(word) : start + len(word) + 1]
        letters = word[0].isascii() and word[0].isalpha() and before.isascii() and before.isalpha()
        more = (
            word[-1].isascii()
            and word[-1].isalpha()
            and behind.isascii()
            and behind.isalpha()
            and behind != "s"
        )
        digits = (word[0].isdigit() and before.isdigit()) or (word[-1].isdigit() and behind.isdigit())
        if not letters and not more and not digits:
            yield start
        start = plain.find(word, start + 1)
