"""How fast, for people and for scripts: sentences with low and high, and where the time goes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rigright.base.units import KILO, show_seconds, show_short
from rigright.base.words import Sentence, say
from rigright.cost.estimate import Estimate
from rigright.report.page import Column, Table
from rigright.report.timed import TIME_PARTS, Speed, TimeParts

TIME_NAMES = {
    "memory": say("reading memory"),
    "compute": say("computing"),
    "links": say("links between cards"),
    "fixed": say("fixed costs"),
}
FIGURES = ("ttft_s", "tpot_s", "user_tok_per_s", "output_tok_per_s", "prefill_tok_per_s")


def between(found: Estimate) -> str:
    """A figure with its band: "41 (35-47)"."""
    return f"{show_short(found.value)} ({show_short(found.low)}-{show_short(found.high)})"


def time_between(found: Estimate) -> str:
    """A time with its band, all in the unit of the figure: "22 ms (19-25)"."""
    shown = show_seconds(found.value)
    number, _, unit = shown.partition(" ")
    scale = found.value / float(number.replace(",", "")) if found.value > 0 else 1.0
    return f"{shown} ({show_short(found.low / scale)}-{show_short(found.high / scale)})" if unit else shown


def speed_lines(speed: Speed) -> Iterator[Sentence]:
    """What users see, and what limits it."""
    yield say(
        "first token after {ttft} with a prompt of {prompt} tokens; each next one {tpot}",
        ttft=time_between(speed.ttft_s),
        prompt=f"{speed.prompt_tok:,.0f}",
        tpot=time_between(speed.tpot_s),
    )
    if speed.concurrency > 1:
        yield say(
            "{each} tokens a second for each of {users} at once, {all} for all",
            each=between(speed.user_tok_per_s),
            users=f"{speed.running:,.0f}",
            all=between(speed.output_tok_per_s),
        )
    else:
        yield say(
            "{each} tokens a second; a prompt is read at {prefill} a second",
            each=between(speed.user_tok_per_s),
            prefill=between(speed.prefill_tok_per_s),
        )
    yield say(
        "what limits next tokens: {token}; what limits prompts: {prompt}",
        token=TIME_NAMES[speed.token_pass.bound],
        prompt=TIME_NAMES[speed.prompt_pass.bound],
    )


def speed_table(speed: Speed) -> Table:
    """Where the time of a token and of a prompt goes."""
    token, prompt = speed.token_pass, speed.prompt_pass
    return Table(
        title=say("time of a pass, ms"),
        columns=(
            Column(head=say("part"), flexible=True),
            Column(head=say("next tokens"), right=True),
            Column(head=say("a prompt alone"), right=True),
        ),
        rows=(
            *(
                (TIME_NAMES[part], _ms(token.of(part)), _ms(prompt.of(part)))
                for part in TIME_PARTS
                if token.of(part) > 0 or prompt.of(part) > 0
            ),
            (say("together"), _ms(token.total_s), _ms(prompt.total_s)),
        ),
    )


def _ms(time_s: float) -> str:
    return show_short(time_s * KILO)


def plain_speed(speed: Speed | None) -> dict[str, Any] | None:
    """The same for scripts: seconds and tokens a second."""
    if speed is None:
        return None
    return {
        "prompt_tok": round(speed.prompt_tok),
        "output_tok": round(speed.output_tok),
        "concurrency": speed.concurrency,
        "running": speed.running,
        **{name: plain_estimate(getattr(speed, name)) for name in FIGURES},
        "token_pass": _plain_parts(speed.token_pass),
        "prompt_pass": _plain_parts(speed.prompt_pass),
    }


def plain_estimate(found: Estimate | None) -> dict[str, Any] | None:
    """A figure with low, high, and how it is known."""
    if found is None:
        return None
    told: dict[str, Any] = {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "mark": found.mark,
    }
    return told | ({"as_of": found.as_of} if found.as_of else {})


def _plain_parts(parts: TimeParts) -> dict[str, Any]:
    seconds = {f"{part}_s": parts.of(part) for part in TIME_PARTS}
    return {**seconds, "total_s": parts.total_s, "bound": parts.bound}
