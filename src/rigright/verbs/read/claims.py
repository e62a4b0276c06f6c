"""Figures of a sentence: whose they are and of what, and held against the fields of what they are about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rigright.base.errors import RigError
from rigright.base.record import dataclass, replace
from rigright.base.words import Sentence, say
from rigright.facts.chips import Chip
from rigright.facts.find import chips_meant
from rigright.verbs.read.passages import Passage
from rigright.verbs.read.quantities import ABOUT, StatedQuantity, words_for
from rigright.verbs.read.record import (
    BARE,
    NEED,
    RIGHT,
    UNKNOWN,
    WRONG,
    ClaimKind,
    ClaimVerdict,
    GuideClaim,
    kind_named,
    kinds,
)
from rigright.verbs.read.subjects import CHIP, CPU, LINK, MODEL, ClaimSubject

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


_NOT = re.compile(r"(?:不是|并非|而非|is not|isn't|rather than|not)\s?\Z", re.IGNORECASE)
_NATIVE = frozenset({"fp8", "fp4", "bf16", "tf32", "int8"})
OFF, _ROUGHLY = 0.1, 0.25  # how far such a factor may be off
_NEAR_LINK = 24  # signs behind the name of a link in which its own figure stands
_ORDERS = ((0, "as much"), (1, "more than"), (-1, "less than another"))
Known = Sequence[tuple[object, float]]  # records that a name may mean, and what each has


def figures(passage: Passage) -> Iterator[GuideClaim]:
    """Every figure of a passage that some kind of claim takes, judged."""
    for figure in figured(passage):
        if figure.kind.id != NEED:
            verdict = judged(figure, passage)
            yield claim_of(
                passage, figure.quantity.start, subject=figure.subject, kind=figure.kind.id, verdict=verdict
            )


def judged(figure: Figured, passage: Passage) -> ClaimVerdict:
    """A figure against what is known."""
    quantity, kind, subject = figure.quantity, figure.kind, figure.subject
    known = [(record, value) for record in subject.records for value in kind.values(record)]
    if not known:
        lacking = lacks(subject, kind)
        none = say("no table here has the {kind} of {name}", kind=kind.title, name=subject.name)
        return ClaimVerdict(verdict=UNKNOWN if lacking is None else WRONG, truth=lacking or none)
    context = f"{passage.topic} {passage.plain[max(0, quantity.start - 30) : quantity.end + 24]}"
    right = [
        pair
        for pair in known
        if any(kind.holds(quantity, value) for value in _values_meant(figure, pair[1], context=context))
    ]
    denied = _NOT.search(passage.text[max(0, quantity.start - 12) : quantity.start]) is not None
    shown = right if right and len(right) < len(known) else known
    return ClaimVerdict(
        verdict=RIGHT if bool(right) != denied else WRONG,
        truth=_truth_of(figure, shown, context=context),
        source=subject.source,
    )


def lacks(subject: ClaimSubject, kind: ClaimKind) -> Sentence | None:
    """Why there is no such figure: the card has no such thing; None where it is merely not known."""
    value = subject.records[0]
    if not isinstance(value, Chip):
        return None
    if kind.id == "link bandwidth" and all(getattr(each, "link", None) is None for each in subject.records):
        return say("{name} has no link between cards", name=value.name)
    if kind.id in _NATIVE and value.confidence == "high":
        return say("{name} does not compute in {kind}", name=value.name, kind=kind.id.upper())
    return None


def _values_meant(figure: Figured, value: float, *, context: str) -> Iterator[float]:
    """What a text may rightly say of a value: one card's or that of all, with sparsity where it says so."""
    count, adds = figure.subject.count, figure.kind.adds or figure.subject.kind == CPU
    alone = count == 1 or not adds or any(word in context for word in words_for("each"))
    if alone or not any(word in context for word in words_for("total")):
        yield value
    if not alone:
        yield value * count
        if figure.subject.kind == CPU:  # of two sockets people say either
            yield value
    flag = any(word in context for word in words_for("sparse"))
    if (
        _may_be_sparse(figure)
        and (flag or count == 1)
        and not any(word in context for word in words_for("dense"))
    ):
        yield value * 2


def _may_be_sparse(figure: Figured) -> bool:
    """Whether makers tell twice the figure for matrices of which half is left out."""
    chip = figure.subject.records[0]
    rate = figure.quantity.unit == "flops_per_s" and figure.kind.id not in {"fp32", "fp64"}
    return rate and isinstance(chip, Chip) and chip.sparsity


def _truth_of(item: Figured, shown: Known, *, context: str) -> Sentence | str:
    """The right figures: one, or one a model of the name."""
    kind, by_value = item.kind, dict[str, list[str]]()
    for record, value in shown:
        name = str(getattr(record, "name", getattr(record, "instance", "")))
        if not (kind.first_answers and any(name in names for names in by_value.values())):
            by_value.setdefault(kind.shown(value), []).append(name)
    several = len(by_value) > 1 or len({name for names in by_value.values() for name in names}) > 1
    parts = [f"{value} ({names[0]})" if several else value for value, names in by_value.items()]
    figure: Sentence | str = ", ".join(parts[:4])
    if item.subject.count > 1 and (kind.adds or item.subject.kind == CPU):
        each, all_of = shown[0][1], shown[0][1] * item.subject.count
        figure = say("{one} each, {all} together", one=kind.shown(each), all=kind.shown(all_of))
    half = item.quantity.mid / 2
    sparse = _may_be_sparse(item) and any(abs(half - value) <= kind.tolerance * value for _, value in shown)
    if sparse and not any(word in context for word in words_for("sparse")):
        return say("{dense} dense; the figure is with 2:4 sparsity", dense=figure)
    return figure


def claim_of(
    passage: Passage,
    start: int,
    *,
    kind: str,
    verdict: ClaimVerdict,
    subject: ClaimSubject | None = None,
    about: str | None = None,
) -> GuideClaim:
    """A claim of a passage: of a subject that it names, else about what is said."""
    return GuideClaim(
        line=passage.line,
        says=passage.around(start),
        about=about if subject is None else subject.shown,
        kind=kind,
        verdict=verdict.verdict,
        truth=verdict.truth,
        command=verdict.command or (None if subject is None else subject.command),
        source=verdict.source,
    )


def ratios(passage: Passage) -> Iterator[GuideClaim]:
    """Every factor of a passage that stands between two things of a kind."""
    for quantity in passage.quantities:
        counts = any(0 <= subject.start - quantity.end <= 2 for subject in passage.subjects)
        pair = (
            _two(passage, quantity.start)
            if quantity.unit == "times" and quantity.mid > 0 and not counts
            else None
        )
        if pair is not None:
            verdict = factor(passage, quantity, pair=pair)
            yield claim_of(passage, quantity.start, subject=pair[0], kind="ratio", verdict=verdict)


def orders(passage: Passage) -> Iterator[GuideClaim]:
    """Which of two things of a kind is said to have more, or that they have as much, without a factor."""
    pair = None if any(q.unit == "times" for q in passage.quantities) else _two(passage, len(passage.plain))
    found = next(
        (
            (sign, passage.plain.find(parts[0]))
            for sign, way in _ORDERS
            for parts in (word.split("~") for word in words_for(way))
            if all(part in passage.plain for part in parts)
        ),
        None,
    )
    kind = None if pair is None else _compared_by(passage, pair[0].kind)
    if pair is None or found is None or passage.is_code:
        return
    if kind is None:
        yield claim_of(passage, found[1], subject=pair[0], kind="comparison", verdict=_side_by_side(pair))
        return
    sign, at = found
    (first, second), ratios = (
        pair,
        [
            amount / other
            for amount in amounts(passage, pair[0], kind=kind)
            for other in amounts(passage, pair[1], kind=kind)
            if other
        ],
    )
    least = _ROUGHLY if any(word in passage.plain for word in words_for("by far")) else 0.0
    holds = any(abs(ratio - 1) <= OFF if sign == 0 else (ratio - 1) * sign > least for ratio in ratios)
    if ratios:
        values = [kind.shown(amounts(passage, each, kind=kind)[0]) for each in pair]
        truth = say("{one} ({first}), {other} ({second})", one=values[0], other=values[1],
                    first=first.shown, second=second.shown)  # fmt: skip
        verdict = ClaimVerdict(verdict=RIGHT if holds else WRONG, truth=truth)
        yield claim_of(passage, at, subject=first, kind="comparison", verdict=verdict)


def _two(passage: Passage, place: int) -> tuple[ClaimSubject, ClaimSubject] | None:
    """The two things of a kind that are compared: the nearest to a place, in their order."""
    for kind in (CHIP, LINK):
        known = [subject for subject in passage.subjects if subject.kind == kind]
        if len({subject.records[0] for subject in known}) > 1:
            near = sorted(known, key=lambda subject: abs(subject.start - place))[:2]
            first, second = sorted(near, key=lambda subject: subject.start)
            return first, second
    return None


def _compared_by(passage: Passage, kind: str) -> ClaimKind | None:
    """The quantity that is compared: the one of which the longest word stands in the passage."""
    if kind == LINK:
        return kind_named("bandwidth", LINK)
    known = [item for item in kinds() if item.of == kind and item.fields]
    lengths = {
        item: max((len(word) for word in item.said if word.removeprefix("~") in passage.plain), default=0)
        for item in known
    }
    best = max(known, key=lambda item: lengths[item])
    return best if lengths[best] else None


def _side_by_side(pair: tuple[ClaimSubject, ClaimSubject]) -> ClaimVerdict:
    """What no single figure decides: speed, price, worth."""
    command = f'rigright compare "{pair[0].name}" "{pair[1].name}" --for llama-3.1-8b'
    truth = say("speed and price depend on the workload")
    return ClaimVerdict(verdict=UNKNOWN, truth=truth, command=command)


def factor(
    passage: Passage, quantity: StatedQuantity, *, pair: tuple[ClaimSubject, ClaimSubject]
) -> ClaimVerdict:
    """A factor against the figures of the two."""
    first, second = pair
    kind = _compared_by(passage, first.kind)
    if kind is None:
        return _side_by_side(pair)
    rows = [
        (amount / other, amount, other)
        for amount in amounts(passage, first, kind=kind)
        for other in amounts(passage, second, kind=kind)
        if other
    ]
    if not rows:
        none = say("no table here has the {kind} of {name}", kind=kind.title, name=first.name)
        return ClaimVerdict(verdict=UNKNOWN, truth=none)
    off = quantity.mid * (_ROUGHLY if quantity.bound == ABOUT else OFF)
    holds = any(abs(way - quantity.mid) <= off for ratio, _, _ in rows for way in (ratio, 1 / ratio))
    ratio, value, other = rows[0]
    truth = say(
        "{ratio} times: {one} ({first}), {other} ({second})",
        ratio=f"{max(ratio, 1 / ratio):.2g}",
        one=kind.shown(value),
        other=kind.shown(other),
        first=first.shown,
        second=second.shown,
    )
    return ClaimVerdict(verdict=RIGHT if holds else WRONG, truth=truth)


def amounts(passage: Passage, subject: ClaimSubject, *, kind: ClaimKind) -> list[float]:
    """What a thing has of a quantity; of a link both ways, or the figure that the sentence gives it."""
    if subject.kind != LINK:
        return list(
            dict.fromkeys(value for record in subject.records for value in kind.values(record) if value)
        )
    both = [value for record in subject.records if (value := getattr(record, "both_ways_bytes_per_s", None))]
    near = (quantity.mid for quantity in passage.figures if 0 <= quantity.start - subject.end <= _NEAR_LINK)
    values = [item for item in near if any(abs(item - value) <= kind.tolerance * value for value in both)]
    return values or both
