"""Trainings of which something was left open: their priors, how people run them, and what to say of one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass, replace
from rigright.base.units import show_bytes
from rigright.base.words import DECIDES, Sentence, say
from rigright.choice.training import is_pure
from rigright.cost.estimate import Estimate
from rigright.cost.training.setup import GATHERED, mixed_of
from rigright.cost.unsaid import Integrated, Prior, trials, weighed
from rigright.demand import Layout, Numbers, Training
from rigright.facts.anchors import unmoved
from rigright.facts.chips import Chip
from rigright.facts.training import find_precision, find_trainer
from rigright.predict.columns import at
from rigright.predict.trained import TrainingCase, edges_of, setup_of, steps_of
from rigright.predict.trained_memory import SHOWN, Fullest, ended, fullest_of, least, least_bytes, stages
from rigright.terms.fitted import priors
from rigright.terms.training import peak_band

HABIT = {"training": 0.7, "pretraining": 0.92}  # share of runs that leave a default of their program as it is
HABITS = frozenset({"recompute", "optimizer", "targets", "flash"})
MICRO_BATCHES = 2 ** np.arange(13)
BATCH_WEIGHTS = (0.25, 0.25, 0.25, 0.15, 0.1)  # from one to what fits, by equal factors
NOT_OF_MEMORY, NOT_OF_SPEED = frozenset({"host"}), frozenset({"optimizer"})  # what bears on the other alone
SPEED = "speed"
SMALLER = ("adamw-8bit", "adamw-8bit-paged")  # optimizers that full fine-tuning falls back on


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A training with the inputs that nobody said, on a card of this size (None: any)."""

    case: TrainingCase
    unsaid: tuple[str, ...] = ()
    room_bytes: float | None = None
    loose: bool = False  # the optimizer is stated by its family alone
    work: str = "training"  # or "pretraining"

    def priors(self, *, but: Collection[str] = ()) -> list[Prior]:
        """What each may be, `but` what does not bear on a figure."""
        return [prior for name in self.unsaid if name not in but and (prior := self._prior(name))]

    def batches(self) -> Prior:
        """Samples of a micro-batch: one, all that fits, or in between; large models are cut with few."""
        prior = priors(self.work)["micro_batch"]
        if self.room_bytes is None or self.case.training.trainer.startswith("megatron"):
            return prior
        most = _most_samples(self.case, self.room_bytes)
        shares = np.linspace(0, 1, len(BATCH_WEIGHTS))
        values = tuple(round(most**share) for share in shares)
        return replace(prior, values=values, weights=BATCH_WEIGHTS)

    def leaner(self, training: Training) -> Iterator[Training]:
        """What people turn to in turn: recompute, a smaller optimizer, no gradients kept, a smaller batch."""
        gives = {*self.unsaid, *(("optimizer",) if self.loose else ())}
        if "recompute" in gives:
            training = replace(training, recompute="full")
            yield training
        if "optimizer" in gives:
            for optimizer in SMALLER:
                training = replace(training, optimizer=optimizer)
                yield training
            training = replace(training, step_in_backward=True)
            yield training
        if "micro_batch" in gives:
            training = replace(training, micro_batch=1)
            yield training
        while "seq_tok" in gives and training.seq_tok > 256:
            training = replace(training, seq_tok=training.seq_tok // 2)
            yield training

    def _prior(self, name: str) -> Prior | None:
        """What an input may be; the program's own habit counts most."""
        if name == "micro_batch":
            return self.batches()
        prior = (dict(priors("training")) | dict(priors(self.work))).get(name)
        arch, training = self.case.arch, self.case.training
        if prior is not None and name == "seq_tok":
            most = arch.max_context_tok or max(prior.values)
            prior = replace(prior, values=tuple(min(value, most) for value in prior.values))
        if prior is None or name not in HABITS:
            return prior
        setup = setup_of(arch, training)
        own = {"recompute": setup.habit.recompute, "optimizer": setup.optimizer.id}
        habit = own.get(name, getattr(training, name))
        share = HABIT[self.work]
        rest = dict(zip(prior.values, prior.weights, strict=True))
        rest.pop(habit, None)
        total = sum(rest.values()) or 1.0
        weights = {value: weight / total * (1 - share) for value, weight in rest.items()}
        return replace(prior, values=(habit, *weights), weights=(share, *weights.values()))


@unmoved
def _most_samples(case: TrainingCase, room_bytes: float) -> float:
    """The largest micro-batch that fits; 1 where none does."""
    asked = replace(case.training, micro_batch=MICRO_BATCHES)
    fits = least_bytes(case.arch, asked, layout=case.layout) <= room_bytes
    return float(MICRO_BATCHES[fits][-1]) if fits.any() else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What an open training may be: its trials, the middle of all first."""

    priors: tuple[Prior, ...]
    cases: tuple[TrainingCase, ...]
    places: slice  # of them among all


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFigure:
    """A figure of an open training."""

    open: Open
    figure: str  # a kind of peak, or SPEED
    limit_bytes: float | None = None  # of a peak, of the card: no program is shown more
    assumed: bool = False

    @property
    def is_speed(self) -> bool:
        """Whether its tokens a second and chip are asked, not a peak."""
        return self.figure == SPEED

    @property
    def priors(self) -> tuple[Prior, ...]:
        """Those that bear on it."""
        return tuple(self.open.priors(but=NOT_OF_SPEED if self.is_speed else NOT_OF_MEMORY))

    @property
    def room_bytes(self) -> float:
        """What it has to fit in."""
        return np.inf if self.open.room_bytes is None else self.open.room_bytes


def tried(asked: Sequence[OpenFigure]) -> tuple[list[Tried], Fullest]:
    """All trials, with room made where they do not fit, one after another; and their memory."""
    known = [open_figure.priors for open_figure in asked]
    values = [trials(prior) for prior in known]
    of = [open_figure for open_figure, some in zip(asked, values, strict=True) for _ in some]
    cases = [
        replace(open_figure.open.case, training=replace(open_figure.open.case.training, **value))
        if value
        else open_figure.open.case
        for open_figure, some in zip(asked, values, strict=True)
        for value in some
    ]
    rooms = np.array([open_figure.room_bytes for open_figure in of])
    result = {field.name: np.full(len(cases), np.nan) for field in fields(Fullest)}
    # a speed weighs only what has to fit
    weighing = {
        place: case for place, case in enumerate(cases) if not of[place].is_speed or np.isfinite(rooms[place])
    }
    leaner: dict[int, Iterator[Training]] = {}
    while weighing:  # what each that has no room yet may turn to
        sizes = fullest_of(list(weighing.values()))
        fits = sizes.least_bytes <= rooms[list(weighing)]
        following: dict[int, TrainingCase] = {}
        for here, (place, case) in enumerate(weighing.items()):
            if fits[here] or place not in leaner:  # as it was said, where nothing fits
                cases[place] = case
                for name, column in result.items():
                    column[place] = getattr(sizes, name)[here]
            if fits[here]:
                continue
            way = next(leaner.setdefault(place, of[place].open.leaner(case.training)), None)
            if way is not None:
                following[place] = replace(case, training=way)
        weighing = following
    ends = np.cumsum([len(some) for some in values])
    made = [
        Tried(priors=prior, cases=tuple(cases[end - len(some) : end]), places=slice(end - len(some), end))
        for prior, some, end in zip(known, values, ends, strict=True)
    ]
    return made, Fullest(**result)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedFigure:
    """A figure over all that nobody said."""

    integral: Integrated
    case: TrainingCase  # the middle of all
    passing_bytes: float = 1.0  # of a peak


def figures_of(asked: Sequence[OpenFigure]) -> list[WeighedFigure]:
    """The peak or the speed of each: cases alike share a call of the law, whichever is asked of them."""
    made, sizes = tried(asked)
    timed = [trial for open_figure, trial in zip(asked, made, strict=True) if open_figure.is_speed]
    rates = steps_of([case for trial in timed for case in trial.cases]).tok_per_s_per_chip
    ends = iter(np.cumsum([len(trial.cases) for trial in timed]))
    return [
        _speed(open_figure, trial, rates=rates[(end := next(ends)) - len(trial.cases) : end])
        if open_figure.is_speed
        else _peak(open_figure, trial, sizes=at(sizes, trial.places))
        for open_figure, trial in zip(asked, made, strict=True)
    ]


def _peak(asked: OpenFigure, trial: Tried, *, sizes: Fullest) -> WeighedFigure:
    edges = peak_band(asked.figure, assumed=asked.assumed, narrow=float(sizes.narrow[0]))
    figures = sizes.of_kind(asked.figure, limit_bytes=asked.limit_bytes)
    integral = weighed(figures, trial.priors, band=edges)
    whole = ended(
        Estimate(value=integral.value, low=integral.low, high=integral.high), room_bytes=asked.open.room_bytes
    )
    return WeighedFigure(
        integral=replace(integral, value=whole.value, low=whole.low, high=whole.high),
        case=trial.cases[0],
        passing_bytes=max(float(sizes.passing_bytes[0]), 1.0),
    )


def _speed(asked: OpenFigure, trial: Tried, *, rates: Numbers) -> WeighedFigure:
    """Where own runs put it."""
    low, high, moved, _ = edges_of(asked.open.case)
    integral = weighed(rates, trial.priors, band=(low, high))
    own = replace(
        integral, value=integral.value * moved, low=integral.low * moved, high=integral.high * moved
    )
    return WeighedFigure(integral=own, case=asked.open.case)


def too_long(arch: Arch, seq_tok: int | None) -> Iterator[Sentence]:
    """A length that was said and that the model was not made for."""
    if seq_tok and arch.max_context_tok and seq_tok > arch.max_context_tok:
        yield say(
            "{asked} tokens exceed the model's context of {most}",
            asked=f"{seq_tok:,}", most=f"{arch.max_context_tok:,}",
        ).of(DECIDES)  # fmt: skip


def length_decides(
    arch: Arch, training: Training, *, layout: Layout, room_bytes: float
) -> Iterator[Sentence]:
    """What hangs on the length of a sequence that nobody said: the peak, or even whether it fits."""
    if not arch.vocab:
        return
    cut = bool(layout.tp > 1 or layout.pp > 1)
    work = "pretraining" if training.method == "full" and cut else "training"
    case = TrainingCase(arch=arch, training=training, layout=layout)
    (trial,), sizes = tried([OpenFigure(open=Open(case=case, unsaid=("seq_tok",), work=work), figure=SHOWN)])
    decides = weighed(sizes.least_bytes, trial.priors, band=(1.0, 1.0)).decides
    if decides is None:
        return
    fields = {
        "option": decides.prior.option,
        "least": show_bytes(decides.least),
        "most": show_bytes(decides.most),
    }
    if decides.least <= room_bytes < decides.most:
        yield say("whether it fits depends on {option}: {least} to {most} per GPU", **fields).of(DECIDES)
    else:
        yield say("depends on {option}: {least} to {most} per GPU", **fields)


def training_notes(
    arch: Arch, training: Training, *, layout: Layout, chip: Chip, room_bytes: float
) -> Iterator[Sentence]:
    """What the precision costs, and whether memory is tight."""
    rank = least(arch, training, layout=layout)
    if rank.value <= room_bytes < rank.high:
        yield say(
            "memory is tight: a GPU may need up to {high} of its {room}; use a smaller "
            "micro-batch or more checkpointing",
            high=show_bytes(rank.high),
            room=show_bytes(room_bytes),
        )
    if training.post is not None:
        from rigright.predict.rollout import post_notes

        yield from post_notes(training, chip=chip)
    if training.offload != "none":
        memory = stages(arch, training, layout=layout)
        away = float(np.max(memory.host_bytes + memory.nvme_bytes)) * layout.tp * layout.dp * layout.cp
        yield say(
            "{size} of optimizer states are off the GPU ({offload}): each step crosses PCIe twice",
            size=show_bytes(away),
            offload=training.offload,
        )
    precision = training.precision or mixed_of(find_trainer(training.trainer), training.sharding)
    form = find_precision(precision).id
    if is_pure(training):
        master = f"{form}-sharded" if training.sharding in GATHERED else f"{form}-mixed"
        need = least(arch, replace(training, precision=master), layout=layout)
        yield say(
            "pure {form} keeps no fp32 master weights: small updates are lost and the final loss "
            "can be higher; --precision {master} keeps them and needs {need} per GPU",
            form=form,
            master=master,
            need=show_bytes(need.value),
        )
    elif form.startswith("fp16") and chip.bf16_flops_per_s is None:
        yield say("{chip} has no bf16: training runs in fp16 with loss scaling", chip=chip.name)


def batch_notes(training: Training, *, layout: Layout, batch: int | None, cards: int) -> Iterator[Sentence]:
    """Cards that stand idle, and a step that gathers more than was asked."""
    used = int(layout.tp * layout.pp * layout.dp * layout.cp)
    if used < cards and batch is not None and layout.dp * 2 > batch:
        yield say(
            "{used} of {cards} GPUs in use: a batch of {batch} sequences cannot fill more replicas",
            used=f"{used:,}", cards=f"{cards:,}", batch=f"{batch:,}",
        ).of(DECIDES)  # fmt: skip
    elif used < cards:
        yield say("{used} of {cards} GPUs in use: no layout that fits uses all of them",
                  used=f"{used:,}", cards=f"{cards:,}").of(DECIDES)  # fmt: skip
    gathered = int(training.micro_batch * (training.accumulate or 1) * layout.dp)
    if batch is not None and gathered != batch:
        yield say(
            "each step accumulates {gathered} sequences, not {batch}: not divisible by "
"{replicas} replicas",
            gathered=f"{gathered:,}", batch=f"{batch:,}", replicas=f"{int(layout.dp):,}",
        )  # fmt: skip
