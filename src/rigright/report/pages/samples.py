"""How fast whole images or texts are worked on, for people and for scripts."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.page import Shown, Table, number, prose, table
from rigright.base.units import KILO, show_bytes, show_short
from rigright.base.words import Sentence, say
from rigright.predict.timed import SampleSpeed
from rigright.report.pages.brief import images_rate
from rigright.report.pages.speed import TIME_NAMES, between, estimates_table, figure_row, time_between

_STARTING = say("kernel launches")


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
        (say("limited by"), _name(speed.bound), ""),
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
    yield say("limited by {part}", part=_name(speed.bound))


def learning_lines(speed: SampleSpeed) -> Iterator[Sentence]:
    """The same of a network that learns."""
    yield say(
        "trains on {rate} images/s, batch size {each} on each of {cards} GPUs; a step takes {time}",
        rate=between(speed.rate), each=speed.batch_per_card, cards=speed.cards,
        time=time_between(speed.batch_s),
    )  # fmt: skip
    yield say("limited by {part}", part=_name(speed.bound))


def sample_table(speed: SampleSpeed) -> Table:
    """What each part of a batch would take if it were alone: they overlap."""
    return table(
        (prose(say("part")), number(say("time"))),
        ((_name(part), show_short(seconds * KILO)) for part, seconds in speed.parts_s),
        title=say("time per batch on one GPU, ms, by part"),
    )


def _name(part: str) -> Sentence:
    return _STARTING if part == "fixed" else TIME_NAMES[part]
