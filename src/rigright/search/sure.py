"""What keeps an answer from a plain tick, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rigright.base.units import KILO, show_bytes, show_seconds, show_short
from rigright.base.words import DECIDES, Sentence, say
from rigright.choice.work import USUAL_TOK_PER_S, patience_s, works
from rigright.cost.estimate import SECONDS_PER_DAY, Estimate
from rigright.demand import PlanWish
from rigright.predict.kept import SAFE, TIMES
from rigright.search.record import LEAST_SPARE, Safe, Supply

LONG_DAYS = 366  # nobody trains for so long
MORE_BITS = say("4 bits do not fit: take more memory or a smaller model")


def limit_time(time_s: float) -> str:
    """A time as somebody set it: "1 s", "50 ms"."""
    return f"{time_s:.3g} s" if time_s >= 1 else f"{time_s * KILO:.3g} ms"


def idle_cards(supply: Supply | None, *, used: int) -> Iterator[Sentence]:
    """Cards that are paid for and have nothing to do."""
    paid = None if supply is None else supply.n_chips
    if paid is not None and paid > used:
        yield say("{idle} of {paid} GPUs stay idle", idle=paid - used, paid=paid)


def little_spare(spare_bytes: float, *, total_bytes: float, fills: bool) -> Iterator[Sentence]:
    """That a card is nearly full; `fills`: by its engine, or what has no room lies elsewhere."""
    if not fills and spare_bytes < LEAST_SPARE * total_bytes:
        yield say("only {spare} to spare", spare=show_bytes(spare_bytes))


def deciding(notes: Iterable[Sentence | str]) -> Iterator[Sentence]:
    """What notes say that costs an answer its tick."""
    return (note for note in notes if isinstance(note, Sentence) and note.kind == DECIDES)


def tight(high_bytes: float) -> Sentence:
    """That the high end of the memory does not fit."""
    return say("memory is tight, up to {high}", high=show_bytes(high_bytes))


def endless(days: Estimate | None, *, by_days: float | None) -> Iterator[Sentence]:
    """That nobody would wait so long, where no date was set."""
    if days is not None and days.value > LONG_DAYS and by_days is None:
        yield say("slow: over a year")


def unsure(
    certainty: Mapping[str, float], *, safe: Safe | None, limits: Mapping[str, Sentence | str]
) -> Iterator[Sentence]:
    """Limits that somebody named and that may well not hold: no load of those is safe."""
    for name, sure in certainty.items():
        if sure < SAFE and (safe is None or name not in TIMES) and name in limits:
            yield say("{limit} in only {count} of 10 cases", limit=limits[name], count=int(10 * sure))


def time_limits(wish: PlanWish) -> dict[str, Sentence | str]:
    """Limits of time and speed as they were set: "TTFT <= 1 s"."""
    limits: dict[str, Sentence | str] = {}
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
