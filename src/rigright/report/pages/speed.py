"""How fast, for people and for scripts: sentences with low and high, and where the time goes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rigright.base.page import Line, Shown, Table, number, prose, table
from rigright.base.units import KILO, show_bytes, show_short
from rigright.base.words import Sentence, say
from rigright.report.pages.brief import images_rate
from rigright.report.pages.figures import (
    FIGURES,
    at_share,
    between,
    estimates_table,
    figure_row,
    time_between,
)

if TYPE_CHECKING:
    from rigright.predict.timed import SampleSpeed, Speed

TIME_NAMES = {
    "memory": say("memory bandwidth"),
    "compute": say("compute"),
    "links": say("interconnect"),
    "fixed": say("fixed overhead"),
}
_HOSTED = {"memory": say("RAM bandwidth"), "links": say("PCIe")}


def figures_table(speed: Speed, *, more: tuple[tuple[Shown, ...], ...] = ()) -> Table:
    """What users see, with its band; then how far it goes."""
    crowd, audio, at = speed.concurrency > 1, speed.audio_h_per_h, speed.percentile
    ttft, tpot = (FIGURES[name].titled(percentile=at) for name in ("ttft_s", "tpot_s"))
    rows: list[tuple[Shown, ...]] = [
        *([] if audio is None else [figure_row(FIGURES["audio_h_per_h"].head, audio)]),
        figure_row(ttft, speed.ttft_s),
        figure_row(tpot, speed.tpot_s, scale=KILO),
        figure_row(say("tok/s per user"), speed.user_tok_per_s),
        *([figure_row(say("output tok/s"), speed.output_tok_per_s)] if crowd else []),
        *([figure_row(say("prefill tok/s"), speed.prefill_tok_per_s)] if audio is None else []),
        *more,
    ]
    return estimates_table(rows)


def limited_by(speed: Speed, *, hosted: bool = False) -> Line:
    """What limits tokens and prompts; `hosted`: a part of the model lies in main memory."""
    names = TIME_NAMES | _HOSTED if hosted else TIME_NAMES
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


def sample_rate(speed: SampleSpeed) -> Sentence:
    """How many a second, in a verdict."""
    rate = show_short(speed.rate.value)
    if speed.length_tok is not None:
        return say("{rate} texts/s", rate=rate)
    return images_rate(rate, compiled=speed.is_compiled)


def samples_table(speed: SampleSpeed, *, more: tuple[tuple[Shown, ...], ...] = ()) -> Table:
    """What a person wants of it, with its band; then what is paid for it."""
    return estimates_table((*sample_speeds(speed), *more, *sample_settings(speed)))


def sample_speeds(speed: SampleSpeed) -> tuple[tuple[Shown, ...], ...]:
    """How fast it is, with its band, a row each."""
    head = say("texts/s") if speed.length_tok is not None else say("images/s")
    known = [(head, speed.rate), (say("batch, s"), speed.batch_s)]
    if speed.compiled is not None and not speed.is_compiled:
        known.append((say("images/s with torch.compile"), speed.compiled))
    return tuple(figure_row(name, estimate) for name, estimate in known)


def sample_settings(speed: SampleSpeed) -> tuple[tuple[Shown, ...], ...]:
    """How many at once, and what limits them."""
    return (
        (say("batch size"), f"{speed.batch_per_card:,}", ""),
        (say("limited by"), _part_name(speed.bound), ""),
    )


def sample_lines(speed: SampleSpeed) -> Iterator[Sentence]:
    """Samples a second, what limits them, and what a compiler would change."""
    fields = {"rate": between(speed.rate), "each": speed.batch_per_card, "time": time_between(speed.batch_s)}
    if speed.length_tok is not None:
        yield say(
            "{rate} texts/s of {tok} tokens, batch size {each} per GPU; a batch takes {time}",
            tok=speed.length_tok, **fields,
        )  # fmt: skip
    elif speed.made:
        yield say(
            "{rate} images/s at {px} x {px}, {steps} steps, batch size {each} per GPU; a batch takes {time}",
            px=speed.image_px, steps=speed.steps, **fields,
        )  # fmt: skip
    else:
        yield say("{rate} images/s, batch size {each} per GPU; a batch takes {time}", **fields)
    if speed.compiled is not None and not speed.is_compiled:
        yield say("with torch.compile: {rate} images/s", rate=between(speed.compiled))
    if speed.beside_bytes:
        yield say(
            "text encoder and VAE take {size} of that per GPU",
            size=show_bytes(speed.beside_bytes),
        )
    yield say("limited by {part}", part=_part_name(speed.bound))


def learning_lines(speed: SampleSpeed) -> Iterator[Sentence]:
    """The same of a network that learns."""
    yield say(
        "trains on {rate} images/s, batch size {each} on each of {cards} GPUs; a step takes {time}",
        rate=between(speed.rate), each=speed.batch_per_card, cards=speed.cards,
        time=time_between(speed.batch_s),
    )  # fmt: skip
    yield say("limited by {part}", part=_part_name(speed.bound))


def sample_table(speed: SampleSpeed) -> Table:
    """What each part of a batch would take if it were alone: they overlap."""
    return table(
        (prose(say("part")), number(say("time"))),
        ((_part_name(part), show_short(seconds * KILO)) for part, seconds in speed.parts_s),
        title=say("time per batch on one GPU, ms, by part"),
    )


def _part_name(part: str) -> Sentence:
    return say("kernel launches") if part == "fixed" else TIME_NAMES[part]
