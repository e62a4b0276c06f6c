"""training.csv: throughput and peak memory of training runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from rigright.arch.record import Arch
from rigright.base.errors import RigError, maybe
from rigright.base.record import dataclass, replace
from rigright.base.tables import Row
from rigright.base.units import GIB, show_bytes, to_gib
from rigright.base.words import Sentence, say, with_semicolons
from rigright.choice import training_runs as runs
from rigright.choice.training_runs import Reported, RunTaken
from rigright.cost.bands import figure_of
from rigright.cost.own_runs import PEAK as PEAK_PART
from rigright.cost.own_runs import TRAINING as MEMORY
from rigright.cost.own_runs import trained_case
from rigright.cost.training.learners import GROUPS, NAMES
from rigright.cost.unsaid import Integrated
from rigright.demand import Layout, Training, TrainingWish
from rigright.facts.nodes import Card
from rigright.facts.training import (
    Trainer,
    find_optimizer,
    find_trainer,
    labelled,
    optimizers,
    precisions,
    trainers,
)
from rigright.predict import trained_unsaid
from rigright.predict.trained import SUBJECT as TIME
from rigright.predict.trained import TrainingCase, own_case
from rigright.predict.trained_unsaid import Open, OpenFigure, WeighedFigure, figures_of
from rigright.search.training_settled import Uncut, fastest_of
from rigright.terms.training import program_of
from rigright.verbs.validate.ask import card_of, model_of
from rigright.verbs.validate.foreign import word
from rigright.verbs.validate.record import Answer, Basis, Prediction, TableKind, caught, each, together

KERNELS = frozenset({"unsloth"})  # run beneath other programs
_RECIPE = re.compile(r"nemo|bridge|mlperf", re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9]+")
_ANY_ADAM = frozenset({"", "adam", "adamw"})
_ALL_LINEAR = frozenset({"linear", "all-linear", "all", "all_linear"})


@cache
def trainer_of(framework: str, *, month: str | None = None) -> Trainer | None:
    """The training program whose longest known name stands in the text, as it was in that month."""
    named = labelled(framework, trainers())
    if named is not None:
        return named.at(month)
    text = _plain(framework)
    if text.startswith("mlperf"):
        return trainers()["megatron"]
    known = {word: row for row in trainers().values() for word in (row.id, *row.aliases)}
    texts = [word for word in known if re.search(rf"(?:^|-){re.escape(_plain(word))}(?:-|$)", text)]
    if not texts:
        return None
    return known[max(texts, key=lambda word: (known[word].id in KERNELS, len(word)))].at(month)


def month_of(source: str) -> str | None:
    """The month that a source names, 2023-10; of a year alone its last, of several the first."""
    match = re.search(r"(?<!\d)(20[12]\d)(?:[-_]?(0[1-9]|1[0-2]))?(?!\d)", source)
    return f"{match.group(1)}-{match.group(2) or '12'}" if match else None


def _plain(text: str) -> str:
    return "-".join(_WORD.findall(text.lower()))


def meant(column: str, cell: str, *, beside: str = "") -> str | None:
    """What a cell is read as beside another (data/foreign.toml); None: it is not understood."""
    row = word(column, cell, beside=beside)
    return None if row is None else row["is"]


def method_of(method: str, precision: str) -> str:
    """full, lora, qlora or dora; what is not understood counts as lora."""
    beside = precision.lower()
    return meant("method", method, beside=beside) or meant("method", "lora", beside=beside) or "lora"


def precision_of(precision: str, trainer: Trainer, *, sharding: str) -> str | None:
    """The id of a precision; None where it is the trainer's own mixed precision."""
    named = labelled(precision, precisions())
    if named is not None:
        return named.id
    return meant("precision", precision, beside=f"{trainer.id} {trainer.mixed} {sharding}") or None


@cache
def _optimizer_of(optimizer: str) -> str | None:
    """The id of an optimizer; None where the row leaves it to the trainer, or names none we know."""
    named = labelled(optimizer, optimizers())
    if named is not None:
        return named.id
    text = _plain(optimizer)
    if text in _ANY_ADAM:
        return None
    return maybe(lambda: find_optimizer(text).id)


def _is_loose(optimizer: str) -> bool:
    """Whether a cell names no more than Adam: its states may be of any width."""
    return _plain(optimizer) in _ANY_ADAM


def is_known(column: str, cell: str) -> bool:
    """Whether a cell of words is understood."""
    if column == "optimizer":
        return _is_loose(cell) or _optimizer_of(cell) is not None
    named = column == "precision" and labelled(cell, precisions()) is not None
    return named or meant(column, cell) is not None


def targets_of(cell: str | None) -> str | None:
    """Which matrices carry adapters, where a cell tells it."""
    words = (cell or "").split()
    if len(words) == 1 and words[0] in GROUPS:
        return words[0]
    if any(word in _ALL_LINEAR for word in words):
        return "linear"
    names = [word.removesuffix("_proj") for word in words]
    if names and all(name in NAMES for name in names):
        return " ".join(names)
    return "linear" if "mlp" in "".join(words) else "ffn" if words == ["ffn"] else None


def matmul_of(precision: str, framework: str) -> str:
    """The format of multiplications: of a round of submissions, where a cell tells of two."""
    return meant("matmul", f"{precision} @ {framework}") or "16bit"


def reported(row: Row, arch: Arch, *, trainer: Trainer) -> Reported:
    """What a row tells of a run, in our words."""

    def cell(column: str) -> str:
        return row.get(column) or ""

    sharding = (meant("sharding", cell("sharding")) or "none") if cell("sharding") else None
    return Reported(
        arch=arch,
        trainer=trainer,
        wish=TrainingWish(
            method=method_of(cell("method"), cell("precision")),
            optimizer=_optimizer_of(cell("optimizer")),
            precision=precision_of(cell("precision"), trainer, sharding=sharding or "none"),
            sharding=sharding,
            recompute=meant("recompute", cell("recompute")) or None,
            rank=row.get("lora_rank"),
            targets=targets_of(row.get("lora_targets")),
            global_batch=row.get("global_batch"),
            chunked_loss=bool(row.get("chunked_loss")),
            compiled=bool(row.get("compiled")),
            **{name: row.get(name) for name in _SAID},
        ),
        beside={
            "matmul": matmul_of(cell("precision"), cell("framework")),
            "dropout": row.get("dropout"),
            **{name: bool(row.get(name)) for name in ("offload_inputs", "step_in_backward")},
        },
        n_chips=row.get("n_chips"),
        learns_from=cell("rlhf"),
        pretrains="pretrain" in cell("method"),
        loose=_is_loose(cell("optimizer")),
        recipe=bool(_RECIPE.search(cell("framework"))),
        names_optimizer=bool(cell("optimizer")),
        names_attention=bool(row.get("attention_named")),
        layers_per_chunk=row.get("layers_per_chunk"),
        mean_tok=row.get("mean_tok"),
        **{name: bool(row.get(name)) for name in _OF_SAMPLES},
    )


_SAID = (
    "seq_tok", "micro_batch", "accumulate", "virtual_stages", "offload", "schedule", "base",
    "flash", "sequence_parallel", "tp", "pp", "cp", "ep", "dp",
)  # fmt: skip
_OF_SAMPLES = ("paired", "padding_free", "padding_counted", "short_samples")


SPEED, PEAK = "tok_per_s_per_chip", "peak_gib"
WORDED = ("method", "optimizer", "precision", "sharding", "recompute")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingAsk:
    """What a row asks: what it tells of a run, and what `choice` makes of the rest."""

    row: Row
    report: Reported
    taken: RunTaken
    card: Card | RigError  # why there is none: such a row still has a peak
    box: int | None

    @property
    def kind(self) -> str:
        """Of the peak that was measured."""
        return self.row.get("peak_kind") or "allocated"

    @property
    def limit_bytes(self) -> float | None:
        """What its card holds."""
        return self.card.room_bytes if isinstance(self.card, Card) else None

    @property
    def peaking(self) -> Open:
        """Its fullest batch, on a card that held it unless it ran out of memory."""
        return self._open(self.taken.training, room=not self.row.get("oom"))

    @property
    def timed(self) -> Open:
        """A usual batch; programs that cut models are told how by who knows what fits."""
        if isinstance(self.card, RigError):
            raise self.card
        return self._open(self.taken.usual, room=self.report.work == "training" and not self.row.get("oom"))

    def _open(self, training: Training, *, room: bool) -> Open:
        case = TrainingCase(
            arch=self.taken.arch,
            training=training,
            layout=self.taken.layout,
            chip=self.card.chip if isinstance(self.card, Card) else None,
            box=self.box,
        )
        return Open(
            case=case,
            unsaid=self.taken.unsaid,
            room_bytes=self.limit_bytes if room else None,
            loose=self.report.loose and training.method == "full",
            work=self.report.work,
        )

    @property
    def uncut(self) -> Uncut | None:
        """What is asked of its layout, where that is open."""
        if isinstance(self.card, RigError) or not runs.is_open(self.report):
            return None
        wish, chips = self.report.wish, int(self.report.n_chips or 1)
        return Uncut(
            arch=self.taken.arch, training=self.taken.usual, card=self.card, cards=chips,
            batch=wish.global_batch or chips, cp=wish.cp,
        )  # fmt: skip

    def settled(self, layout: Layout | None) -> TrainingAsk:
        """The same with nothing left open, and a word on each cell that was not understood."""
        taken = self.taken if layout is None else runs.with_layout(self.taken, layout)
        taken = runs.gathered(self.report, taken)
        unknown = [
            say(
                'unknown {column} "{cell}": using {value}',
                column=column,
                cell=cell[:40],
                value=getattr(taken.training, column) or say("the trainer's own"),
            )
            for column in WORDED
            if not is_known(column, cell := self.row.get(column) or "")
        ]
        return replace(self, taken=replace(taken, assumed=(*taken.assumed, *unknown)))


def read_row(row: Row) -> TrainingAsk:
    """Read one row; raises its error."""
    (training_ask,) = read_rows([row])
    if isinstance(training_ask, RigError):
        raise training_ask
    return training_ask


def read_rows(rows: Sequence[Row]) -> list[TrainingAsk | RigError]:
    """Read rows; what they leave open is assumed and said, the layouts of all together."""
    begun = each(_begin, rows)
    uncut = {
        place: asked
        for place, training_ask in enumerate(begun)
        if isinstance(training_ask, TrainingAsk) and (asked := training_ask.uncut)
    }
    layouts: dict[int, Any] = dict(zip(uncut, together(fastest_of, list(uncut.values())), strict=True))
    return each(TrainingAsk.settled, begun, [layouts.get(place) for place in range(len(begun))])


def _begin(row: Row) -> TrainingAsk:
    """A row as it was read, before anybody says how it was cut over its cards."""
    arch, notes = model_of(row)
    named = row.get("framework")
    trainer = trainer_of(named or "", month=month_of(row.get("source") or ""))
    if trainer is None and named:
        trainer = find_trainer(named)  # says that there is none
    if trainer is None:
        trainer = trainers()["pytorch"]
        notes = (*notes, say("no trainer stated: assuming a plain PyTorch loop"))
    report = reported(row, arch, trainer=trainer)
    card, box = caught(card_of, row.get("chip")), None
    chips, boxes = row.get("n_chips"), row.get("nodes")
    if isinstance(card, Card) and chips and boxes:
        box = runs.box_of(card.chip, cards=max(1, chips // boxes), ranks=chips)
    taken = runs.run_taken(report)
    taken = replace(taken, assumed=(*notes, *taken.assumed))
    ask = TrainingAsk(row=row, report=report, taken=taken, card=card, box=box)
    if report.wish.micro_batch is not None:
        return ask
    whole = replace(ask.peaking, room_bytes=ask.limit_bytes)
    return replace(ask, taken=runs.with_samples(taken, whole.batches().middle))


def answers(rows: Sequence[Row]) -> list[Answer]:
    """Speed and peak of each row; those alike share their laws, and none takes another with it."""
    asks = read_rows(rows)
    peaks = each(
        lambda ask: OpenFigure(
            open=ask.peaking, figure=ask.kind, limit_bytes=ask.limit_bytes, assumed=bool(ask.taken.assumed)
        ),
        asks,
    )
    speeds = each(lambda ask: OpenFigure(open=ask.timed, figure=trained_unsaid.SPEED), asks)
    figures = together(figures_of, [*peaks, *speeds])
    predictions = [  # what cannot be timed, such as a row that names no chip, still has a peak
        Prediction(metric=SPEED, group=SPEED, why=prediction.whole)
        if isinstance(prediction, RigError)
        else prediction
        for prediction in each(_speed, asks, figures[len(asks) :])
    ]
    return each(lambda ask, peak, speed: (speed, _peak(ask, peak)), asks, figures[: len(asks)], predictions)


def _peak(asked: TrainingAsk, peak: WeighedFigure) -> Prediction:
    case = peak.case
    return Prediction.of(
        PEAK, peak.integral, times=1 / GIB, group=asked.kind,
        why=with_semicolons((*asked.taken.assumed, *decided(peak.integral, show=show_bytes))),
        basis=Basis(
            subject=MEMORY, figure=PEAK_PART, chip="", engine=program_of(case.training),
            model=case.arch.name, case=trained_case(case.training), of=to_gib(peak.passing_bytes),
        ),
    )  # fmt: skip


def _speed(asked: TrainingAsk, speed: WeighedFigure) -> Prediction:
    case, taken = speed.case, asked.taken
    return Prediction.of(
        SPEED, speed.integral,
        why=with_semicolons(
            (*taken.assumed, *taken.timed, *decided(speed.integral, show="{:.3g} tok/s".format))
        ),
        basis=Basis(
            subject=TIME, figure=figure_of(SPEED), chip="" if case.chip is None else case.chip.id,
            engine=program_of(case.training), model=case.arch.name, case=own_case(case.training),
        ),
    )  # fmt: skip


def decided(integral: Integrated, *, show: Callable[[float], object]) -> Iterator[Sentence]:
    """The unsaid input that a figure hangs on most."""
    if integral.decides is not None and integral.decides.prior.option:
        yield say(
            "add {column}: the result ranges from {least} to {most}",
            column=integral.decides.prior.name,
            least=show(integral.decides.least), most=show(integral.decides.most),
        )  # fmt: skip


KIND = TableKind(
    name="training",
    marks=("micro_batch", "seq_tok", "method"),
    metrics=lambda _raw: (SPEED, PEAK),  # both figures of a run
    answers=answers,
    measured=(SPEED, "samples_per_s", "tflops_per_chip", "mfu", PEAK),
)
