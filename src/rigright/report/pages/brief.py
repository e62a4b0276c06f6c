"""What pages of one screen share: short names, money, a bar with one line of legend, notes in few lines."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from rigright.base.money import show_money
from rigright.base.page import Bar, Bars, Line, Piece, Shown, Table, number, prose, records, table
from rigright.base.units import KIB, KILO, show_bytes, show_seconds, show_short, to_gib
from rigright.base.words import (
    ASSUMED,
    DECIDES,
    Sentence,
    assuming,
    say,
    with_commas,
    with_semicolons,
    worded,
)
from rigright.choice.work import USUAL_TOK_PER_S, patience_s, works
from rigright.cost.estimate import SECONDS_PER_DAY, Estimate
from rigright.demand import PlanWish, Training
from rigright.facts.hosts import CPU_ID
from rigright.options.rows import rivals
from rigright.predict.kept import SAFE, TIMES
from rigright.search.record import LEAST_SPARE, Rejection, Safe, Supply

if TYPE_CHECKING:
    from rigright.verbs.serving.explained import Reason, Remedy

_MOST_NOTES = 3
FEW_REMEDIES = 3  # of one screen
_LONG_DAYS = 366  # nobody trains for so long
_WHOLE_MONTHS = 3  # from which no fraction of a month is stated
_SERVED = {
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


def images_rate(rate: str, *, compiled: bool) -> Sentence:
    """Images a second, in a verdict."""
    if compiled:
        return say("{rate} images/s with torch.compile", rate=rate)
    return say("{rate} images/s", rate=rate)


def model_name(name: str) -> str:
    """A model without its maker's account or folder; the main part of a pipeline bears the name of all."""
    return name.rstrip("/").rsplit("/", 1)[-1].removesuffix("#transformer").removesuffix("#unet")


def short_format(name: str) -> str:
    """A format of weights as files and flags call it."""
    return name.removeprefix("gguf:")


def limit_time(time_s: float) -> str:
    """A time as somebody set it: "1 s", "50 ms"."""
    return f"{time_s:.3g} s" if time_s >= 1 else f"{time_s * KILO:.3g} ms"


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
    days = days or figures.get("days")
    if supply.how == "own":
        return say("your own")
    if supply.how == "buy":
        known = figures.get("usd")
        sentence: Shown = "" if known is None else show_money(known.value, currency)
        if sentence and supply.used:
            sentence = say("{usd} with used cards", usd=sentence)
    elif days is not None and "usd_total" in figures:
        sentence = say("{usd} in total", usd=show_money(figures["usd_total"].value, currency))
    else:
        known = figures.get("usd_per_h")
        sentence = "" if known is None else say("{usd}/hour", usd=show_money(known.value, currency))
    if not sentence:
        return say("no price known")
    return sentence if supply.as_of is None else say("{usd} ({date})", usd=sentence, date=supply.as_of[:7])


def idle_cards(supply: Supply | None, *, used: int) -> Iterator[Sentence]:
    """Cards that are paid for and have nothing to do."""
    paid = None if supply is None else supply.n_chips
    if paid is not None and paid > used:
        yield say("{idle} of {paid} GPUs stay idle", idle=paid - used, paid=paid)


def little_spare(spare_bytes: float, *, total_bytes: float, fills: bool) -> Iterator[Sentence]:
    """That a card is nearly full; `fills`: by its engine, or what has no room lies elsewhere."""
    if not fills and spare_bytes < LEAST_SPARE * total_bytes:
        yield say("only {spare} to spare", spare=show_bytes(spare_bytes))


def memory_bar(
    parts: Iterable[tuple[str, float]],
    *,
    limit: float,
    names: Mapping[str, Sentence] = _SERVED,
    label: Sentence = VRAM,
) -> Bars:
    """One bar with a short legend: parts of one name together, all others as overhead."""
    sizes = dict.fromkeys([*names.values(), _REST], 0.0)
    for part, size in parts:
        sizes[names.get(part, _REST)] += max(size, 0.0)
    spare = names.get("unused")
    order = sorted(sizes, key=lambda name: name == spare)  # what is free stands at the end
    return Bars(bars=(bar_of(label, [(name, sizes[name]) for name in order], limit=limit, show=gib),))


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


def deciding(notes: Iterable[Shown]) -> Iterator[Sentence]:
    """What notes say that costs an answer its tick."""
    return (note for note in notes if isinstance(note, Sentence) and note.kind == DECIDES)


def doubted(sentence: Sentence, doubts: Iterable[Shown]) -> Line:
    """An answer with what keeps it from a plain tick."""
    doubts = tuple(doubts)
    return Line(text=with_semicolons([sentence, *doubts]) or sentence, tone="warn" if doubts else "good")


def tight(high_bytes: float) -> Sentence:
    """That the high end of the memory does not fit."""
    return say("memory is tight, up to {high}", high=show_bytes(high_bytes))


def endless(days: Estimate | None, *, by_days: float | None) -> Iterator[Sentence]:
    """That nobody would wait so long, where no date was set."""
    if days is not None and days.value > _LONG_DAYS and by_days is None:
        yield say("slow: over a year")


def unsure(
    certainty: Mapping[str, float], *, safe: Safe | None, limits: Mapping[str, Shown]
) -> Iterator[Sentence]:
    """Limits that somebody named and that may well not hold: no load of those is safe."""
    for name, sure in certainty.items():
        if sure < SAFE and (safe is None or name not in TIMES) and name in limits:
            yield say("{limit} in only {count} of 10 cases", limit=limits[name], count=int(10 * sure))


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
    fields = {"rate": rate, "users": f"{users:,.0f}"}
    if safe is None or safe.concurrency >= users:
        return say("{rate} tok/s at concurrency {users}", **fields)
    return say(
        "{rate} tok/s expected at concurrency {users} ({safe} is safe)", safe=safe_load(safe), **fields
    )


def safe_load(safe: Safe) -> Sentence:
    """What a safe load gives, and how many requests it is."""
    rate = show_short(safe.output_tok_per_s)
    return say("{rate} at {users}", rate=rate, users=f"{safe.concurrency:,.0f}")


def time_limits(wish: PlanWish) -> dict[str, Shown]:
    """Limits of time and speed as they were set: "TTFT <= 1 s"."""
    limits: dict[str, Shown] = {}
    for name, shown, most_s in (("ttft_s", "TTFT", wish.ttft_s), ("tpot_s", "TPOT", wish.tpot_s)):
        if most_s is not None:
            limits[name] = f"{shown} <= {limit_time(most_s)}"
    if wish.latency_s is not None:
        limits["latency_s"] = say("batch time <= {time}", time=limit_time(wish.latency_s))
    if wish.days is not None:
        limits["days"] = say("within {time}", time=show_seconds(wish.days * SECONDS_PER_DAY))
    if wish.tok_per_s is not None:
        limits["output_tok_per_s"] = f">= {show_short(wish.tok_per_s * wish.growth)} tok/s"
    return limits


def done_in(days: Estimate) -> Sentence:
    """How long all of it takes."""
    return say("done in {time}", time=show_seconds(days.value * SECONDS_PER_DAY))


def strained(
    work: str, *, ttft_s: float, tpot_s: float, users: float, prompt_tok: float | None
) -> Iterator[Sentence]:
    """What feels broken to whoever waits, though nobody named a limit."""
    usual = works()[work].ttft_s if work in works() else None
    if usual is None:
        return
    time = show_seconds(ttft_s)
    if ttft_s > patience_s(usual, prompt_tok or 0):
        yield say("overloaded: TTFT {time}", time=time) if users > 1 else say("slow: TTFT {time}", time=time)
    if tpot_s > 1 / USUAL_TOK_PER_S:
        rate = show_short(1 / tpot_s)
        yield say("only {rate} tok/s per user", rate=rate) if users > 1 else say("slower than reading speed")


def note_lines(notes: Iterable[Shown], *, details: bool, decided: bool = False) -> Iterator[Line]:
    """All that was assumed in one line, then the other notes, each once; on one screen only the first few.

    `decided`: line 1 says what decides.
    """
    parts: list[Shown] = []
    others: dict[Shown, None] = {}
    for note in notes:
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
    known = served is not None and math.isfinite(served) and 0 < served < rate
    sentence = say(
        "overloaded: {machine} cannot serve {rate} requests/s", machine=machine, rate=show_short(rate)
    )
    if known and served is not None:
        fields = {"served": show_short(served), "rate": show_short(rate)}
        sentence = say(
            "overloaded: {machine} serves {served} of {rate} requests/s", machine=machine, **fields
        )
        needed = needed or math.ceil(rate / served)
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


def suited(remedies: Iterable[Remedy]) -> str | None:
    """The flags of the first change that makes it fit and that a command can ask."""
    return next((remedy.flag for remedy in remedies if remedy.fits and remedy.flag), None)


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
    return table(
        (say("part"), prose(say("formula")), prose(say("numbers")), prose(say("source"))),
        (
            (names.get(reason.part, reason.part), reason.formula, reason.numbers, reason.source)
            for reason in reasons
        ),
        title=title,
    )


def old_prices(dates: Iterable[object]) -> Line | None:
    """That prices are old, with their dates; nothing where none is."""
    dates = sorted({str(date) for date in dates})
    if not dates:
        return None
    return Line.warn(say("prices as of {date}; verify before buying", date=", ".join(dates)))


def method_label(asked: Training | PlanWish) -> Sentence | str:
    """How a model is trained: "GRPO, LoRA"."""
    objective = asked.objective if isinstance(asked, PlanWish) else asked.post and asked.post.objective
    return with_commas([worded("objective")(objective or ""), worded("method")(asked.method or "")]) or ""
