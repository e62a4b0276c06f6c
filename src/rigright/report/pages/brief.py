"""What pages of one screen share: short names, money, a bar with one line of legend, notes in few lines."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from rigright.base.money import show_money
from rigright.base.page import Bar, Bars, Line, Piece, Shown, Table, known, number, prose, records
from rigright.base.units import KIB, show_bytes, show_seconds, show_short, to_gib
from rigright.base.words import (
    ASSUMED,
    DECIDES,
    Sentence,
    assuming,
    is_known,
    say,
    with_commas,
    with_semicolons,
    worded,
)
from rigright.cost.estimate import SECONDS_PER_DAY, Estimate
from rigright.demand import PlanWish, Training
from rigright.facts.hosts import CPU_ID
from rigright.options.rows import rivals
from rigright.search.record import Rejection, Safe, Supply

if TYPE_CHECKING:
    from rigright.verbs.serving.explained import Explained, Reason, Remedy
    from rigright.verbs.training.case import Trained

_MOST_NOTES = 3
FEW_REMEDIES = 3  # of one screen
_WHOLE_MONTHS = 3  # from which no fraction of a month is stated
SERVED = {
    "weights": say("weights"),
    "cache": say("KV cache"),
    "states": say("KV cache"),
    "unused": say("spare KV cache"),
}
TRAINED = {
    **dict.fromkeys(("frozen", "weights", "master", "gathered", "casts"), say("weights")),
    **dict.fromkeys(("gradients", "buckets"), say("gradients")),
    **dict.fromkeys(("optimizer", "step"), say("optimizer")),
    **dict.fromkeys(("activations", "working", "loss"), say("activations")),
    **dict.fromkeys(("engine", "kv"), say("rollout engine")),
}
NAMES = {
    "weights": say("weights"),
    "cache": say("KV cache"),
    "states": say("states"),
    "step": say("activations"),
    "tables": say("workspaces"),
    "libraries": say("kernels and libraries"),
    "graphs": say("CUDA graphs"),
    "collectives": say("collectives"),
    "context": say("CUDA context"),
    "slack": say("fragmentation"),
    "unused": say("spare KV cache"),
    "memory": say("memory per GPU"),
    "rates": say("rates"),
}
_REST = say("overhead")
VRAM = say("VRAM")
_WHY = say("why: formula, numbers, sources")


SLOW = 0.5  # images a second, below which people count the seconds of one


def samples_rate(unit: str, rate: float, *, compiled: bool) -> Sentence:
    """Samples a second, in a verdict; of what is made slowly the time of one."""
    time, many = show_seconds(1 / rate), show_short(rate)
    if unit == "texts":
        return say("{rate} texts/s", rate=many)
    if unit == "videos":
        sentence = say("a video every {time}", time=time)
    else:
        sentence = (
            say("an image every {time}", time=time) if rate < SLOW else say("{rate} images/s", rate=many)
        )
    return say("{rate} with torch.compile", rate=sentence) if compiled else sentence


def model_name(name: str) -> str:
    """A model without its maker's account or folder; the main part of a pipeline bears the name of all."""
    return name.rstrip("/").rsplit("/", 1)[-1].removesuffix("#transformer").removesuffix("#unet")


def short_format(name: str) -> str:
    """A format of weights as files and flags call it."""
    return name.removeprefix("gguf:")


def show_tokens(count: float) -> str:
    """A length as people say it, never rounded up: "8K", "1,280"."""
    return f"{count // KIB:,.0f}K" if count >= 4 * KIB else f"{count:,.0f}"


def months_shown(months: float) -> str:
    """Months, to the whole month where they are many."""
    return f"{months:,.0f}" if months >= _WHOLE_MONTHS else f"{months:.2g}"


def months_between(low: float, high: float) -> str:
    """A band of months: "9-14"."""
    first, last = months_shown(low), months_shown(high)
    return first if first == last else f"{first}-{last}"


def money_words(
    figures: Mapping[str, Estimate], supply: Supply | None, *, currency: str, days: Estimate | None = None
) -> Shown:
    """What it costs and when that was so, in a verdict; `days`: until the work is done."""
    if supply is None:
        return ""
    if supply.how == "own":
        return say("your own")

    def money(name: str) -> str | None:
        return known(figures.get(name), lambda usd: show_money(usd.value, currency))

    total = money("usd_total") if days or "days" in figures else None
    sentence: Shown | None = say("{usd}/hour", usd=money("usd_per_h"))
    if supply.how == "buy":
        sentence = say("{usd} with used cards", usd=money("usd")) if supply.used else money("usd")
    elif total is not None:
        sentence = say("{usd} in total", usd=total)
    if not is_known(sentence):
        return say("no price known")
    return say("{usd} ({date})", usd=sentence, date=supply.as_of[:7]) if supply.as_of else sentence or ""


def memory_bar(
    parts: Iterable[tuple[str, float]],
    *,
    limit: float,
    names: Mapping[str, Sentence] = SERVED,
    label: Sentence = VRAM,
    show: Callable[[float], str] | None = None,
) -> Bars:
    """One bar with a short legend: parts of one name together, all others as overhead."""
    sizes = dict.fromkeys([*names.values(), _REST], 0.0)
    for part, size in parts:
        sizes[names.get(part, _REST)] += max(size, 0.0)
    spare = names.get("unused")
    order = sorted(sizes, key=lambda name: name == spare)  # what is free stands at the end
    return Bars(bars=(bar_of(label, [(name, sizes[name]) for name in order], limit=limit, show=show or gib),))


def bar_of(
    label: Shown,
    parts: Iterable[tuple[Shown, float]],
    *,
    limit: float,
    used: float | None = None,
    show: Callable[[float], str] = show_bytes,
) -> Bar:
    """Memory as a bar: what lies in it by name, of how much; `used`: where that is more than its parts."""
    pieces = tuple(Piece(name=name, size=size, shown=show(size)) for name, size in parts)
    used = sum(piece.size for piece in pieces) if used is None else used
    return Bar(label=label, pieces=pieces, limit=limit, shown=f"{gib(used)} / {gib(limit)} GiB")


def gib(size_bytes: float) -> str:
    """A size under a head that bears its unit."""
    return f"{to_gib(size_bytes):.1f}"


def memory_name(chip_id: str) -> Sentence:
    """What the memory of a chip is called."""
    return say("RAM") if is_cpu(chip_id) else VRAM


def is_cpu(chip_id: str) -> bool:
    """Whether a processor does the work, and no card."""
    return chip_id.startswith(CPU_ID)


def runs(lossy: bool, **named: Shown | None) -> Sentence:  # noqa: FBT001 - of the answer
    """What a machine does with a model; `lossy`: only in a format that people would not choose."""
    if lossy:
        return say("{machine} holds {model} only in {format}, with a clear quality loss: {figures}", **named)
    return say("{machine} runs {model} in {format}: {figures}", **named)


def doubted(sentence: Sentence, doubts: Iterable[Shown]) -> Line:
    """An answer with what keeps it from a plain tick."""
    doubts = tuple(doubts)
    return Line(text=with_semicolons([sentence, *doubts]) or sentence, tone="warn" if doubts else "good")


def misses(machine: str, broken: Iterable[Rejection], *, fields: Mapping[str, float]) -> Sentence:
    """The limits that a machine misses, and how many requests keep each."""
    reasons = with_commas([with_share(rejection, fields.get(rejection.limit)) for rejection in broken]) or ""
    return say("{machine} misses the limit: {reasons}", machine=machine, reasons=reasons)


def with_share(rejection: Rejection, share: float | None) -> Sentence:
    """A broken limit, and how many requests keep it."""
    if share is None:
        return rejection.reason
    return say("{reason} (met by {share} of requests)", reason=rejection.reason, share=f"{share:.0%}")


def expected(rate: str, *, users: float, safe: Safe | None) -> Sentence:
    """Tokens a second of so many requests in flight, and of the load that is safe where it is smaller."""
    fields: dict[str, object] = {"rate": rate, "users": f"{users:,.0f}"}
    if safe is None or safe.concurrency >= users:
        return say("{rate} tok/s at concurrency {users}", **fields)
    fields["safe"] = safe_load(safe)
    return say("{rate} tok/s expected at concurrency {users} ({safe} is safe)", **fields)


def safe_load(safe: Safe) -> Sentence:
    """What a safe load gives, and how many requests it is."""
    rate = show_short(safe.output_tok_per_s)
    return say("{rate} at {users}", rate=rate, users=f"{safe.concurrency:,.0f}")


def done_in(days: Estimate) -> Sentence:
    """How long all of it takes."""
    return say("done in {time}", time=show_seconds(days.value * SECONDS_PER_DAY))


def note_lines(notes: Iterable[Shown], *, details: bool, decided: bool = False) -> Iterator[Line]:
    """All that was assumed in one line, then the other notes, each once; on one screen only the first few.

    `decided`: line 1 says what decides.
    """
    parts: list[Shown] = []
    others: dict[Shown, None] = {}
    for note in filter(is_known, notes):
        if isinstance(note, Sentence) and note.kind == ASSUMED:
            parts.append(dict(note.values)["parts"])  # type: ignore[arg-type]
        elif not (decided and isinstance(note, Sentence) and note.kind == DECIDES):
            others[note] = None
    sentence = with_commas(dict.fromkeys(parts))
    if sentence is not None:
        yield Line.dim(assuming(sentence))
    shown = list(others) if details or len(others) <= _MOST_NOTES else list(others)[: _MOST_NOTES - 1]
    for note in shown:
        yield Line.dim(note)
    if len(shown) < len(others):
        yield Line.dim(say("{count} more notes: --details", count=len(others) - len(shown)))


def again(asked: str, flags: str, *, without: str = "") -> str:
    """The command with flags that take the place of those it had, and of those that exclude them."""
    words, new = shlex.split(asked), shlex.split(flags)
    old = {*without.split()} | {
        flag for word in new if word.startswith("--") for flag in (word, *rivals(word))
    }
    for start in sorted((words.index(flag) for flag in old if flag in words), reverse=True):
        has_value = start + 1 < len(words) and not words[start + 1].startswith("--")
        del words[start : start + 1 + has_value]
    return shlex.join([*words, *new])


def overloaded(
    machine: str, *, served: float | None, rate: float, needed: int | None, is_one: bool
) -> Sentence:
    """More requests arrive than are served: how many are, and how many such machines would do."""
    fields: dict[str, object] = {"machine": machine, "rate": show_short(rate)}
    sentence = say("overloaded: {machine} cannot serve {rate} requests/s", **fields)
    if served is not None and math.isfinite(served) and 0 < served < rate:
        fields["served"], needed = show_short(served), needed or math.ceil(rate / served)
        sentence = say("overloaded: {machine} serves {served} of {rate} requests/s", **fields)
    if needed is None:
        return sentence
    if is_one:
        return say("{said}; needs about {count} of these GPUs", said=sentence, count=needed)
    return say("{said}; needs about {count} of these machines", said=sentence, count=needed)


def helped(sentence: Sentence, remedies: Iterable[Remedy]) -> Sentence:
    """That it does not fit, and the first change that makes it."""
    first = next((remedy for remedy in remedies if remedy.fits), None)
    if first is None:
        return sentence
    fields = {"said": sentence, "change": first.change, "size": show_bytes(first.peak_bytes)}
    if first.flag is None:
        return say("{said}; use {change} ({size})", **fields)
    return say("{said}; use {change} ({size}): {flag}", flag=first.flag, **fields)


def next_of(result: Explained | Trained, *, details: bool) -> Iterator[str]:
    """The question again with the first change that makes it fit, then where more is said."""
    if not result.asked:
        return
    if flag := next((remedy.flag for remedy in result.remedies if remedy.fits and remedy.flag), None):
        yield again(result.asked, flag)
    elif quicker := getattr(result, "quicker", None):
        yield again(result.asked, f"--micro-batch {quicker}")
    yield f"{result.asked} --why" if details else f"{result.asked} --details"


def gib_rows(rows: Iterable[tuple[Shown, Iterable[float]]]) -> Iterator[tuple[Shown, ...]]:
    """Sizes of several things, a row a name, under heads that bear their unit."""
    return ((name, *(f"{to_gib(size):.2f}" for size in sizes)) for name, sizes in rows)


def remedies_table(remedies: Iterable[Remedy], *, most: int | None = None) -> Iterator[Table]:
    """What would make it fit, a row a change; on one screen those that do first."""
    remedies = tuple(remedies)
    if not remedies:
        return
    if most is not None:
        remedies = tuple(sorted(remedies, key=lambda remedy: not remedy.fits)[:most])
    yield records(
        remedies,
        (
            (prose(say("change")), lambda remedy: remedy.change),
            (number(say("saves, GiB")), lambda remedy: f"{to_gib(remedy.saves_bytes):.2f}"),
            (say("then"), lambda remedy: say("fits") if remedy.fits else say("too big")),
            (prose(say("cost")), lambda remedy: remedy.price),
        ),
        title=say("what to change"),
        tone=lambda remedy: "good" if remedy.fits else "plain",
    )


def reasons_table(reasons: Iterable[Reason], names: Mapping[str, Shown], *, title: Shown = _WHY) -> Table:
    """Behind `--why`, a row a figure: formula, numbers and sources."""
    return records(
        reasons,
        (
            (say("part"), lambda reason: names.get(reason.part, reason.part)),
            (prose(say("formula")), lambda reason: reason.formula),
            (prose(say("numbers")), lambda reason: reason.numbers),
            (prose(say("source")), lambda reason: reason.source),
        ),
        title=title,
    )


def old_prices(dates: Iterable[object]) -> Line:
    """That prices are old, with their dates; nothing where none is."""
    every = ", ".join(sorted({str(date) for date in dates}))
    return Line.warn(say("prices as of {date}; verify before buying", date=every or None))


def method_label(asked: Training | PlanWish) -> Sentence | str:
    """How a model is trained: "GRPO, LoRA"."""
    objective = asked.objective if isinstance(asked, PlanWish) else asked.post and asked.post.objective
    return with_commas([worded("objective")(objective or ""), worded("method")(asked.method or "")]) or ""
