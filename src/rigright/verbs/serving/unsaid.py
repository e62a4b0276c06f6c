"""Which length that nobody said decides the speed of an answer, and between what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rigright.base.units import show_short
from rigright.base.words import DECIDES, Sentence, say
from rigright.choice.case import Case
from rigright.cost.unsaid import integrated
from rigright.demand import Traffic
from rigright.predict.speed import speed, traffic_of
from rigright.terms.fitted import priors

LENGTHS = ("prompt_tok", "output_tok")
WORTH = 1.5  # most over least, from which a length is worth a word


def deciding(case: Case, *, unsaid: tuple[str, ...], traffic: Traffic | None = None) -> Iterator[Sentence]:
    """The one length of those unsaid (`prompt_tok`, `output_tok`) that moves tokens a second most."""
    most = case.arch.max_context_tok or case.serving.context_tok
    load = traffic or traffic_of(case)
    if load.rate_per_s is not None:  # what comes in at a rate goes out at it
        return

    def rate(value: object) -> float:
        asked = replace(load, **dict(value))  # type: ignore[call-overload]
        if asked.prompt_tok + asked.output_tok > most:
            return float("nan")
        return float(speed(case, traffic=asked).output_tok_per_s.value)

    open_ones = [prior for name, prior in priors("serving").items() if name in unsaid]
    decides = integrated(rate, open_ones).decides
    if decides is not None and decides.most >= WORTH * decides.least:
        yield say(
            "depends on {option}: {least} to {most} tok/s",
            option=decides.prior.option, least=show_short(decides.least), most=show_short(decides.most),
        )  # fmt: skip


def crowded(case: Case, *, users: float | None) -> Iterator[Sentence]:
    """Where a context was asked for that only some of the requests in flight can fill together."""
    batch = int(case.serving.batch)
    if users is not None and batch < users:
        yield say(
            "memory holds {batch} of {users} requests at the full context of {context}",
            batch=batch, users=f"{users:g}", context=f"{int(case.serving.context_tok):,}",
        ).of(DECIDES)  # fmt: skip
