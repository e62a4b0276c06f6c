"""Figures as people read them: heads with units, labels and cells, a row each; how fast, where time goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rigright.base.money import USD, currency_of, show_money
from rigright.base.page import Line, Shown, Table, number, prose, table
from rigright.base.record import dataclass
from rigright.base.units import KILO, show_bytes, show_seconds, show_short, show_times, show_watts
from rigright.base.words import Sentence, say
from rigright.cost.estimate import SECONDS_PER_DAY, Estimate, scaled
from rigright.demand import SAMPLES
from rigright.report.pages.brief import samples_rate

if TYPE_CHECKING:
    from rigright.demand import PlanWish
    from rigright.predict.timed import SampleSpeed, Speed


def symbol(currency: str) -> str:
    """The sign of a currency."""
    return currency_of(currency).sign


def amount(usd: float, currency: str = USD) -> str:
    """An amount under a head that bears its sign."""
    return show_money(usd, currency).replace(symbol(currency), "").strip()


def amount_band(estimate: Estimate | None, currency: str = USD) -> str:
    """Low and high of money under a head that bears its sign; nothing where they are one."""
    if estimate is None or estimate.low == estimate.high:
        return ""
    return f"{amount(estimate.low, currency)}-{amount(estimate.high, currency)}"


def money_between(estimate: Estimate, currency: str) -> str:
    """Money with its band: "$1.06 (0.54-1.83)"."""
    band = amount_band(estimate, currency)
    return show_money(estimate.value, currency) + (f" ({band})" if band else "")


def between(estimate: Estimate) -> str:
    """A figure with its band: "41 (35-47)"."""
    return f"{show_short(estimate.value)} ({show_short(estimate.low)}-{show_short(estimate.high)})"


def _time_between(estimate: Estimate) -> str:
    """A time with its band, all in the unit of the figure: "22 ms (19-25)"."""
    shown, low, high = show_times(estimate.value, estimate.low, estimate.high)
    return f"{shown} ({low}-{high})"


def at_share(percentile: float | None) -> str:
    """After the name of a time: the percentile it is stated for."""
    return "" if percentile is None else f" p{100 * percentile:g}"


def _share(estimate: Estimate) -> str:
    return f"{estimate.value:.0%}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """How one figure is read: alone under its head, or with unit and band in a row of its label."""

    head: Sentence  # of a column, with its unit
    label: Sentence  # of a row
    scale: float = 1.0  # from the record to the head, and of money to the label
    is_money: bool = False
    is_long: bool = False  # stated for a share of the requests, where one was asked
    how: str = ""  # only of plans that are bought, or only of those that are rented
    shown: Callable[[Estimate], str] = between  # a cell beside the label

    def titled(self, *, currency: str = USD, percentile: float | None = None) -> Sentence:
        """The head, with the sign of the currency and the percentile."""
        known = {"sign": symbol(currency), "at": at_share(percentile)}
        return replace(self.head, values=tuple((name, known[name]) for name, _ in self.head.values))

    def labelled(self, percentile: float | None) -> Sentence:
        """The label, with the share of requests it holds for."""
        if percentile is None or not self.is_long:
            return self.label
        return say("{figure}, p{share}", figure=self.label, share=f"{100 * percentile:g}")

    def digits(self, value: float, currency: str = USD) -> str:
        """One value under the head."""
        return amount(value * self.scale, currency) if self.is_money else show_short(value * self.scale)

    def cell(self, estimate: Estimate | None, currency: str = USD, *, how: str = "") -> str:
        """A cell under the head; none of a price that this way of getting a machine does not ask."""
        if estimate is None or (self.how and how != self.how):
            return ""
        return self.digits(estimate.value, currency)

    def whole(self, estimate: Estimate | None, currency: str = USD) -> str:
        """A cell beside the label: with its unit and its band."""
        if estimate is None:
            return ""
        if self.is_money:
            return money_between(scaled(estimate, self.scale), currency)
        return self.shown(estimate)


def _money(head: Sentence, label: Sentence, *, scale: float = 1.0, how: str = "") -> Figure:
    return Figure(head=head, label=label, scale=scale, is_money=True, how=how)


FIGURES: Mapping[str, Figure] = {
    "audio_h_per_h": Figure(head=say("audio h/h"), label=say("audio h/h")),
    "ttft_s": Figure(head=say("TTFT{at}, s", at=""), label=say("TTFT"), is_long=True, shown=_time_between),
    "tpot_s": Figure(
        head=say("TPOT{at}, ms", at=""), label=say("TPOT"), scale=KILO, is_long=True, shown=_time_between
    ),
    "output_tok_per_s": Figure(head=say("tok/s"), label=say("output tok/s")),
    "train_tok_per_s": Figure(head=say("tok/s"), label=say("tok/s")),
    "images_per_s": Figure(head=say("images/s"), label=say("images/s")),
    "videos_per_s": Figure(head=say("videos/h"), label=say("videos per hour"), scale=3600),
    "texts_per_s": Figure(head=say("texts/s"), label=say("texts/s")),
    "latency_s": Figure(head=say("batch, s"), label=say("batch time"), shown=_time_between),
    "mfu": Figure(head=say("MFU"), label=say("MFU"), shown=_share),
    "days": Figure(
        head=say("hours"),
        label=say("done in"),
        scale=24,
        shown=lambda estimate: _time_between(scaled(estimate, SECONDS_PER_DAY)),
    ),
    "usd": _money(say("buy, {sign}", sign="$"), say("to buy"), how="buy"),
    "usd_per_h": _money(say("rent, {sign}/hour", sign="$"), say("per hour"), how="rent"),
    "usd_per_mtok": _money(say("{sign}/1M tok", sign="$"), say("per 1M tokens")),
    "usd_per_audio_h": _money(say("{sign}/audio hour", sign="$"), say("per hour of audio")),
    "usd_per_image": _money(say("{sign}/1K images", sign="$"), say("per 1K images"), scale=KILO),
    "usd_per_video": _money(say("{sign}/video", sign="$"), say("per video")),
    "usd_per_text": _money(say("{sign}/1K texts", sign="$"), say("per 1K texts"), scale=KILO),
    "usd_total": _money(say("in total"), say("in total")),
    "power_w": Figure(head=say("W"), label=say("power"), shown=lambda estimate: show_watts(estimate.value)),
    "tok_per_joule": Figure(head=say("tokens per joule"), label=say("tokens per joule")),
    "headroom": Figure(head=say("memory free"), label=say("memory free"), shown=_share),
}
COLUMNS = (  # of a table with a row a plan
    "audio_h_per_h", "output_tok_per_s", "train_tok_per_s", *SAMPLES, "ttft_s", "tpot_s",
    "latency_s", "days", "usd", "usd_per_h", "usd_per_mtok", "usd_per_audio_h", "usd_per_image",
    "usd_per_video", "usd_per_text", "power_w",
)  # fmt: skip
RATES = ("audio_h_per_h", "output_tok_per_s", "train_tok_per_s", *SAMPLES)  # what is made: the first


def rate_of(figures: Mapping[str, Estimate]) -> str:
    """The name of what is made; nothing where no speed is known."""
    return next((name for name in RATES if name in figures), "")


def figure_rows(
    every: Sequence[Mapping[str, Estimate]], wish: PlanWish, *, best: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[str, tuple[Shown, ...]]]:
    """Each figure that one of them has, as a row by its name: its label, a cell each, the `best` marked."""
    for name, figure in FIGURES.items():
        cells = [figure.whole(figures.get(name), wish.currency) for figures in every]
        marked = (f"* {cell}" if place in best.get(name, ()) else cell for place, cell in enumerate(cells))
        if any(cells):
            yield name, (figure.labelled(wish.percentile), *marked)


def money_rows(figures: Mapping[str, Estimate], *, wish: PlanWish) -> Iterator[tuple[Shown, ...]]:
    """Price and power with their bands, headed as the columns of a plan."""
    for name, figure in FIGURES.items():
        estimate = figures.get(name)
        if estimate is not None and name in COLUMNS and (figure.is_money or name == "power_w"):
            low, high = (figure.digits(value, wish.currency) for value in (estimate.low, estimate.high))
            head = figure.titled(currency=wish.currency)
            if name == "usd_per_h":  # of any machine, rented or not
                head = say("{sign}/hour", sign=symbol(wish.currency))
            yield head, figure.digits(estimate.value, wish.currency), f"{low}-{high}"


def figure_row(name: Sentence, estimate: Estimate, *, scale: float = 1.0) -> tuple[Shown, ...]:
    """A figure with its band, as a row of a table of estimates."""
    low, high = show_short(estimate.low * scale), show_short(estimate.high * scale)
    return name, show_short(estimate.value * scale), f"{low}-{high}"


def estimates_table(rows: Iterable[tuple[Shown | None, ...]]) -> Table:
    """A figure a row, with its band where it has one."""
    whole = ((*row, "")[:3] for row in rows)
    return table((prose(""), number(say("estimate")), number(say("80 % band"))), whole)


TIME_NAMES = {
    "memory": say("memory bandwidth"),
    "compute": say("compute"),
    "links": say("interconnect"),
    "fixed": say("fixed overhead"),
}
_HOSTED = {"memory": say("RAM bandwidth"), "links": say("PCIe")}


def figures_table(speed: Speed, *, more: Iterable[tuple[Shown | None, ...]] = ()) -> Table:
    """What users see, with its band; then how far it goes."""
    crowd, audio, at = speed.concurrency > 1, speed.audio_h_per_h, speed.percentile
    ttft, tpot = (FIGURES[name].titled(percentile=at) for name in ("ttft_s", "tpot_s"))
    rows: list[tuple[Shown | None, ...]] = [
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


def time_tables(speed: Speed | None, samples: SampleSpeed | None) -> Iterator[Table]:
    """Where the time of a token and of a prompt goes, or that of a batch: its parts overlap."""
    if speed is not None:
        token, prompt = speed.token_pass, speed.prompt_pass
        parts = [(name, token.of(part), prompt.of(part)) for part, name in TIME_NAMES.items()]
        parts = [row for row in parts if row[1] > 0 or row[2] > 0]
        parts += [(say("total"), token.total_s, prompt.total_s)]
        one = say("prefill of one prompt") if speed.audio_h_per_h is None else say("a single window")
        heads = (prose(say("part")), number(say("decode step")), number(one))
        yield table(heads, _ms(parts), title=say("time of a forward pass, ms"))
    if samples is not None:
        times = _ms((_part_name(part), time_s) for part, time_s in samples.parts_s)
        title = say("time per batch on one GPU, ms, by part")
        yield table((prose(say("part")), number(say("time"))), times, title=title)


def _ms(rows: Iterable[tuple[Shown, *tuple[float, ...]]]) -> Iterator[tuple[Shown, ...]]:
    return ((name, *(show_short(time_s * KILO) for time_s in times)) for name, *times in rows)


def sample_rate(speed: SampleSpeed) -> Sentence:
    """How many a second, in a verdict."""
    return samples_rate(speed.unit, speed.rate.value, compiled=speed.is_compiled)


def samples_table(
    speed: SampleSpeed, *, more: Iterable[tuple[Shown | None, ...]] = (), details: bool = False
) -> Table:
    """What a person wants of it, with its band; then what is paid for it."""
    rows = (*sample_speeds(speed), *more, *sample_settings(speed))
    return estimates_table((*rows, *_sample_sizes(speed)) if details else rows)


def sample_speeds(speed: SampleSpeed) -> tuple[tuple[Shown, ...], ...]:
    """How fast it is, with its band, a row each."""
    figure = FIGURES[f"{speed.unit}_per_s"]
    known = [(figure.head, scaled(speed.rate, figure.scale)), (say("batch, s"), speed.batch_s)]
    if speed.compiled is not None and not speed.is_compiled:
        head = say("{rate} with torch.compile", rate=figure.head)
        known.append((head, scaled(speed.compiled, figure.scale)))
    return tuple(figure_row(name, estimate) for name, estimate in known)


def sample_settings(speed: SampleSpeed) -> tuple[tuple[Shown, ...], ...]:
    """How many at once, and what limits them."""
    limit = say("limited by"), _part_name(speed.bound)
    return (say("batch size"), f"{speed.batch_per_card:,}"), limit


def _sample_sizes(speed: SampleSpeed) -> Iterator[tuple[Shown, Shown]]:
    """What a sample is, and what else lies on the card."""
    if speed.length_tok is not None:
        yield say("tokens each"), f"{speed.length_tok:,}"
    elif speed.made:
        yield say("made"), made_of(speed)
        yield say("denoising steps"), f"{speed.steps}"
    if speed.waits:
        yield say("text encoder and VAE, in main memory until their turn"), show_bytes(speed.beside_bytes)
    elif speed.beside_bytes:
        yield say("text encoder and VAE, per GPU"), show_bytes(speed.beside_bytes)


def made_of(speed: SampleSpeed) -> Sentence:
    """What a generator makes: its size, its length, what it is made from."""
    size = say("{wide} x {high} pixels", wide=speed.image_px, high=speed.height_px)
    if speed.seconds is not None:
        return say("a video of {time}: {size}, {frames} frames", time=show_seconds(speed.seconds), size=size,
                   frames=speed.frames)  # fmt: skip
    if speed.given:
        return say("an image of {size}, edited from another", size=size)
    return say("an image of {size}", size=size)


def _part_name(part: str) -> Sentence:
    return say("kernel launches") if part == "fixed" else TIME_NAMES[part]
