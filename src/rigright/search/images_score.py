"""Scores of machines that work on whole samples: every kind of card, number of them, and samples at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.choice.networks import ENGINE, LOOK, READ, Network, network_memory, precisions
from rigright.choice.training import LOOP, kept_or_not, looped
from rigright.cost.images import ImageRun
from rigright.demand import Layout, Numbers, PlanWish, Training
from rigright.facts.chips import features_of
from rigright.facts.engines import Engine, find_engine, how_runs
from rigright.facts.formats import find_format
from rigright.predict.columns import at, joined, stacked
from rigright.predict.painted import Learning
from rigright.predict.samples import batch_time, learns_of, network_rates, train_time
from rigright.predict.trained_memory import least_bytes
from rigright.search.question import Kind, Question
from rigright.search.score import Misfits
from rigright.terms.fitted import wire_of
from rigright.terms.memory import device_of

USUAL_BATCH = 128  # images on a card that learns to classify: recipes of torchvision and timm take 32 to 256
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
GAIN = 1.04  # more samples a second that twice as many at once have to bring
PARTS = ("compute_s", "memory_s", "fixed_s", "links_s")
COMPILES = frozenset({"NVIDIA", "AMD"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleWay:
    """How samples are worked on: numbers of a format, compiled or not, on which kinds (by their place)."""

    form: str
    precision: str  # of the law of time
    compiled: bool
    trains: bool
    kinds: tuple[int, ...]
    waits: bool = False  # parts of a generator lie in main memory until their turn
    method: str = "full"  # of a training
    trainer: str = LOOP
    recompute: str | None = None

    @property
    def engine(self) -> Engine:
        """PyTorch without a server around it, as its memory is known."""
        return find_engine(ENGINE)

    @property
    def label(self) -> str:
        """The way in a few words."""
        return find_format(self.form).label

    @property
    def run(self) -> ImageRun:
        """The same, as the law of time asks for it."""
        return ImageRun(precision=self.precision, compiled=self.compiled)


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePoints:
    """What is scored: arrays, one entry for a way, a kind, a number of cards and samples at once on each."""

    way: Numbers
    kind: Numbers
    n_chips: Numbers
    batch: Numbers  # of each card
    need_bytes: Numbers
    able_bytes: Numbers
    batch_s: Numbers
    compute_s: Numbers
    memory_s: Numbers
    fixed_s: Numbers
    links_s: Numbers

    @property
    def rate(self) -> Numbers:
        """Samples a second of all cards."""
        return self.n_chips * self.batch / self.batch_s

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleScored:
    """What fits, with what it gives; and what does not fit."""

    points: SamplePoints
    misfits: Misfits


def ways_of(
    network: Network, wish: PlanWish, *, kinds: Sequence[Kind], trains: bool
) -> tuple[SampleWay, ...]:
    """Plain and, where the chip and the law know of it, compiled; in the formats asked for.

    No measured training was compiled, and no encoder: there the law says nothing of it.
    """
    sample_ways = []
    for form in wish.weights:
        known, own = precisions(network.arch), find_format(form).id
        if own not in known:
            raise AskError(
                say("images and embeddings run in {known}, not in {form}", known=", ".join(known), form=form)
            )
        able = [
            place
            for place, kind in enumerate(kinds)
            if _runs(kind, own) and not (network.waits and kind.chip.unified_memory)
        ]
        compiled = [place for place in able if compiles(kinds[place]) and network.does != READ]
        way = SampleWay(
            form=own, precision=known[own], compiled=False, trains=trains, kinds=tuple(able),
            waits=network.waits,
        )  # fmt: skip
        sample_ways += _taught(network, way, wish=wish) if able and trains else [way] if able else []
        sample_ways += [replace(way, compiled=True, kinds=tuple(compiled))] if compiled and not trains else []
    return tuple(sample_ways)


def _taught(network: Network, way: SampleWay, *, wish: PlanWish) -> list[SampleWay]:
    """The ways to train: with what adapters save, where they were asked for."""
    method = wish.method or "full"
    loop = looped(network.arch, method)
    return [
        replace(way, method=method, trainer=loop, recompute=recompute) for recompute in kept_or_not(method)
    ]


def _runs(kind: Kind, form: str) -> bool:
    """Whether such numbers are computed there, and how fast is stated."""
    chip = kind.chip
    value = chip.fp16_flops_per_s or chip.training_flops_per_s or chip.fp32_flops_per_s
    usual = kind.named or kind.owned or chip.vendor in COMPILES  # what few run on is not taken unasked
    return bool(usual) and not kind.mix and bool(value) and how_runs(ENGINE, form, chip=chip) is not None


def compiles(kind: Kind) -> bool:
    """Whether torch.compile makes kernels for it: chips with matrix units of two vendors."""
    features = features_of(kind.chip.isa)
    return kind.chip.vendor in COMPILES and features is not None and bool(features.matrix_unit)


def score_samples(question: Question, network: Network) -> SampleScored:
    """Score the whole space of a question."""
    parts = [_score_way(question, network, place=place) for place in range(len(question.ways))]
    return SampleScored(
        points=joined([part.points for part in parts]), misfits=joined([part.misfits for part in parts])
    )


def _score_way(question: Question, network: Network, *, place: int) -> SampleScored:
    way = question.ways[place]
    network = replace(network, waits=way.waits)
    kinds = [question.kinds[kind] for kind in way.kinds]
    whole = question.wish.global_batch
    # each card takes its share of a batch, no other
    shares = (
        None
        if whole is None or way.trains
        else sorted({-(-whole // count) for kind in kinds for count in kind.counts})
    )
    batches = np.array(shares or BATCHES)
    need, able = memory_of(network, way, kinds=kinds, batches=batches)
    chips = [kind.chip for kind in kinds]
    rates = network_rates(network, chips, run=way.run, form=way.form)
    alone = batch_time(network, at(rates, (slice(None), None)), batch=batches[None, :]).total_s
    fits = need <= able
    # [kind, batch]: as many at once as still bring more samples a second
    rate = np.broadcast_to(batches / alone, fits.shape)
    gains = rate[:, 1:] >= GAIN * rate[:, :-1]
    worth = np.concatenate(
        [np.ones((len(rate), 1), dtype=bool), np.logical_and.accumulate(gains, axis=1)], axis=1
    )
    if way.trains and way.method == "full" and network.does == LOOK:
        worth = np.broadcast_to(batches <= USUAL_BATCH, fits.shape)
    row, column, n_chips = _grown(kinds, fits & (worth | (shares is not None)))
    batch = batches[column]
    if whole is not None:
        exact = whole % (n_chips * batch) == 0 if way.trains else batch == -(-whole // n_chips)
        kept = (n_chips <= whole) & (exact | (way.trains & (batch == 1)))
        row, column, n_chips, batch = row[kept], column[kept], n_chips[kept], batch[kept]
    if way.trains:
        taught = network_rates(network, chips, run=way.run, trains=True)
        learns = learns_of(network.arch, training_of(way, micro_batch=1))
        learning = Learning(ranks=n_chips, wire=at(wire_of(chips), row), learns=learns)
        time = train_time(network, at(taught, row), batch=batch, learning=learning)
    else:
        time = batch_time(network, at(rates, row), batch=batch)
    points = SamplePoints(
        way=np.full(len(row), place), kind=np.asarray(way.kinds)[row], n_chips=n_chips, batch=batch,
        need_bytes=need[row, column], able_bytes=able[row, column], batch_s=time.total_s,
        **{part: np.broadcast_to(getattr(time, part), row.shape) for part in PARTS},
    )  # fmt: skip
    # cards without room for a single sample
    short = np.flatnonzero(need[:, 0] > able[:, 0])
    misfits = Misfits(
        way=np.full(len(short), place),
        kind=np.asarray(way.kinds, dtype=int)[short],
        chips=np.ones(len(short), dtype=int),
        need_bytes=need[short, 0],
        able_bytes=np.maximum(able[short, 0], 1.0),
    )
    return SampleScored(points=points, misfits=misfits)


def usual_batch(question: Question, network: Network, *, form: str) -> int | None:
    """Samples at once on each card as a plan takes them: the fastest that fits; None where not one does."""
    ways = ways_of(network, replace(question.wish, weights=(form,)), kinds=question.kinds, trains=True)
    points = score_samples(replace(question, ways=ways), network).points if ways else None
    if points is None or not len(points):
        return None
    return int(points.batch[np.argmax(points.batch * points.n_chips / points.batch_s)])


def memory_of(
    network: Network, way: SampleWay, *, kinds: Sequence[Kind], batches: Numbers
) -> tuple[Numbers, Numbers]:
    """[kind, batch]: bytes of a card that are needed, and that are there."""
    shape = (len(kinds), len(batches))
    if way.trains:
        training = training_of(way, micro_batch=batches)
        copies = np.array([min(max(kind.counts), 2) for kind in kinds])[:, None]
        need = least_bytes(network.arch, training, layout=Layout(dp=copies))
        able = np.array([kind.card.room_bytes for kind in kinds])[:, None]
        return np.broadcast_to(need, shape), np.broadcast_to(able, shape)
    device = at(stacked([device_of(kind.card, way.engine) for kind in kinds]), (slice(None), None))
    memory = network_memory(network, way.form, batch=batches[None, :], device=device)
    need = np.broadcast_to(memory.need_bytes + memory.slack_bytes, shape)
    return need, np.broadcast_to(need + memory.spare_bytes, shape)


def training_of(way: SampleWay, *, micro_batch: Numbers, accumulate: int = 1) -> Training:
    """A training of samples: a plain loop, gradients summed over all cards."""
    precision = "fp32" if way.form == "fp32" else None
    return Training(
        trainer=way.trainer, method=way.method, recompute=way.recompute, micro_batch=micro_batch,
        accumulate=accumulate, compiled=way.compiled, precision=precision, seq_tok=1,
    )  # fmt: skip


def _grown(kinds: Sequence[Kind], taken: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Every number of cards of what is taken: kind, batch, cards."""
    row, column = np.nonzero(taken)
    counts = [np.array(kind.counts) for kind in kinds]
    times = np.array([len(counts[place]) for place in row], dtype=int)
    none = np.zeros(0, dtype=int)
    n_chips = np.concatenate([none, *(counts[place] for place in row)])
    return np.repeat(row, times), np.repeat(column, times), n_chips
