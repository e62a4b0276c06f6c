"""How fast, for people and for scripts: sentences with low and high, and where the time goes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rigright.base.page import Line, Shown, Table, number, prose, table
from rigright.base.units import KILO, show_seconds, show_short
from rigright.base.words import Sentence, say
from rigright.cost.estimate import Estimate

if TYPE_CHECKING:
    from rigright.predict.timed import Speed

TIME_NAMES = {
    "memory": say("memory bandwidth"),
    "compute": say("compute"),
    "links": say("interconnect"),
    "fixed": say("fixed overhead"),
}
HOSTED = {"memory": say("RAM bandwidth"), "links": say("PCIe")}
FIGURES = ("ttft_s", "tpot_s", "user_tok_per_s", "output_tok_per_s", "prefill_tok_per_s")


def between(estimate: Estimate) -> str:
    """A figure with its band: "41 (35-47)"."""
    return f"{show_short(estimate.value)} ({show_short(estimate.low)}-{show_short(estimate.high)})"


def time_between(estimate: Estimate) -> str:
    """A time with its band, all in the unit of the figure: "22 ms (19-25)"."""
    shown = show_seconds(estimate.value)
    number, _, unit = shown.partition(" ")
    scale = estimate.value / float(number.replace(",", "")) if estimate.value > 0 else 1.0
    return (
        f"{shown} ({show_short(estimate.low / scale)}-{show_short(estimate.high / scale)})" if unit else shown
    )


def at_share(percentile: float | None) -> str:
    """After the name of a time: the percentile it is stated for."""
    return "" if percentile is None else f" p{100 * percentile:g}"


def figures_table(speed: Speed, *, more: tuple[tuple[Shown, ...], ...] = ()) -> Table:
    """What users see, with its band; then how far it goes."""
    crowd, audio, at = speed.concurrency > 1, speed.audio_h_per_h, at_share(speed.percentile)
    rows: list[tuple[Shown, ...]] = [
        *([] if audio is None else [figure_row(say("audio h/h"), audio)]),
        figure_row(say("TTFT{at}, s", at=at), speed.ttft_s),
        figure_row(say("TPOT{at}, ms", at=at), speed.tpot_s, scale=KILO),
        figure_row(say("tok/s per user"), speed.user_tok_per_s),
        *([figure_row(say("output tok/s"), speed.output_tok_per_s)] if crowd else []),
        *([figure_row(say("prefill tok/s"), speed.prefill_tok_per_s)] if audio is None else []),
        *more,
    ]
    return estimates_table(rows)


def estimates_table(rows: Iterable[tuple[Shown, ...]]) -> Table:
    """A figure a row, with its band."""
    return table((prose(""), number(say("estimate")), number(say("80 % band"))), rows)


def figure_row(name: Sentence, estimate: Estimate, *, scale: float = 1.0) -> tuple[Shown, ...]:
    """One row of it."""
    low, high = show_short(estimate.low * scale), show_short(estimate.high * scale)
    return name, show_short(estimate.value * scale), f"{low}-{high}"


def limited_by(speed: Speed, *, hosted: bool = False) -> Line:
    """What limits tokens and prompts; `hosted`: a part of the model lies in main memory."""
    names = TIME_NAMES | HOSTED if hosted else TIME_NAMES
    token, prompt = names[speed.token_pass.bound], names[speed.prompt_pass.bound]
    if speed.audio_h_per_h is not None:
        heard = say("limited by {decoder} (decoder), {encoder} (encoder)", decoder=token, encoder=prompt)
        return Line.dim(heard)
    return Line.dim(say("limited by {token} (decode), {prompt} (prefill)", token=token, prompt=prompt))


def speed_lines(speed: Speed) -> Iterator[Shown]:
    """What users see, and what limits it."""
    yield say(
        "TTFT{at} {ttft} with a prompt of {prompt} tokens; TPOT{at} {tpot}",
        at=at_share(speed.percentile),
        ttft=time_between(speed.ttft_s),
        prompt=f"{speed.prompt_tok:,.0f}",
        tpot=time_between(speed.tpot_s),
    )
    if speed.concurrency > 1:
        yield say(
            "{each} tok/s per user at concurrency {users}, {all} tok/s in total",
            each=between(speed.user_tok_per_s),
            users=f"{speed.running:,.0f}",
            all=between(speed.output_tok_per_s),
        )
    else:
        yield say(
            "{each} tok/s; prefill {prefill} tok/s",
            each=between(speed.user_tok_per_s),
            prefill=between(speed.prefill_tok_per_s),
        )
    yield limited_by(speed).text


def speed_table(speed: Speed) -> Table:
    """Where the time of a token and of a prompt goes."""
    token, prompt = speed.token_pass, speed.prompt_pass
    hears = speed.audio_h_per_h is not None
    return table(
        (
            prose(say("part")),
            number(say("decode step")),
            number(say("a single window") if hears else say("prefill of one prompt")),
        ),
        (
            *(
                (TIME_NAMES[part], _ms(token.of(part)), _ms(prompt.of(part)))
                for part in TIME_NAMES
                if token.of(part) > 0 or prompt.of(part) > 0
            ),
            (say("total"), _ms(token.total_s), _ms(prompt.total_s)),
        ),
        title=say("time of a forward pass, ms"),
    )


def _ms(time_s: float) -> str:
    return show_short(time_s * KILO)
