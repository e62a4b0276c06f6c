"""training.csv: throughput and peak memory of training runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from rigright.base.errors import RigError
from rigright.base.tables import CellReader, Row, number, text
from rigright.base.units import show_bytes, to_gib
from rigright.base.words import Sentence, say, with_semicolons
from rigright.cost.bands import banded, figure_of
from rigright.cost.known import known_of_one, ran
from rigright.cost.memory_anchors import PEAK as PEAK_PART
from rigright.cost.memory_anchors import TRAINING, trained_case
from rigright.cost.training_bands import KINDS, band
from rigright.cost.training_memory import TrainingMemory, training_memory
from rigright.cost.training_time import own_case
from rigright.cost.training_time_rates import SUBJECT
from rigright.cost.unsaid import Integrated
from rigright.demand import Training
from rigright.facts.training import find_trainer
from rigright.verbs.validate.cells import MOST_GIB, MOST_RANKS, MOST_RATE, MOST_TOK, count, figure, told
from rigright.verbs.validate.record import Basis, Prediction, TableKind
from rigright.verbs.validate.training_rows import TrainingQuestion, card_bytes, read_row
from rigright.verbs.validate.training_speed import read_timed, tok_per_s

SPEED, PEAK = "tok_per_s_per_chip", "peak_gib"
_TEXTS = """id source model arch shape chip interconnect framework precision method optimizer
    sharding recompute flags note lora_targets rlhf offload"""
_TOLD = """chunked_loss flash attention_named sequence_parallel paired short_samples compiled padding_counted
    padding_free offload_inputs step_in_backward oom"""
COLUMNS: dict[str, CellReader] = {
    **dict.fromkeys(_TEXTS.split(), text),
    **dict.fromkeys(("tp", "pp", "cp", "ep", "dp", "n_chips", "nodes"), count(MOST_RANKS)),
    **dict.fromkeys(("micro_batch", "global_batch", "seq_tok", "mean_tok", "accumulate"), count(MOST_TOK)),
    **dict.fromkeys(("lora_rank", "virtual_stages", "layers_per_chunk"), count(MOST_TOK)),
    **dict.fromkeys(_TOLD.split(), told),
    "dropout": number,
    **dict.fromkeys((SPEED, "samples_per_s", "tflops_per_chip", "mfu"), figure(MOST_RATE)),
    PEAK: figure(MOST_GIB),
    "peak_kind": lambda cell: KINDS[KINDS.index(cell.lower())],
}


def predict(row: Row) -> tuple[Prediction, ...]:
    """Tokens a second and chip, and the peak of the worst rank as the row measures it."""
    asked = read_row(row)
    kind, limit = row.get("peak_kind") or "allocated", card_bytes(row)
    room = None if row.get("oom") else limit

    def peak(training: Training) -> float:
        memory = training_memory(asked.arch, training, layout=asked.layout, stage=np.arange(asked.layout.pp))
        return float(np.max(of_kind(memory, kind, limit_bytes=limit)))

    case = asked.open_on(room)
    memory = training_memory(asked.arch, case.training, layout=asked.layout, stage=np.arange(asked.layout.pp))
    edges = band(kind, assumed=bool(asked.assumed), narrow=memory.narrow)
    found = case.within(case.integrated(peak, band=edges, but=("host",)))
    trainer = find_trainer(case.training.trainer)
    return _speed(row, asked, room_bytes=room), Prediction(
        metric=PEAK,
        group=kind,
        measured=row.get(PEAK),
        predicted=to_gib(found.value),
        low=to_gib(found.low),
        high=to_gib(found.high),
        why=with_semicolons((*asked.assumed, *decided(found, show=show_bytes))),
        basis=Basis(
            subject=TRAINING, figure=PEAK_PART, chip="", engine=trainer.program or trainer.id,
            model=asked.arch.name, case=trained_case(case.training), of=to_gib(_passing_bytes(memory)),
        ),
    )  # fmt: skip


def _passing_bytes(memory: TrainingMemory) -> float:
    """What comes and goes on the stage with the highest peak."""
    peaks = np.atleast_1d(memory.allocated_bytes)
    passing = np.broadcast_to(memory.passing_bytes, peaks.shape)
    return max(float(passing[int(np.argmax(peaks))]), 1.0)


def decided(found: Integrated, *, show: Callable[[float], object]) -> Iterator[Sentence]:
    """The unsaid input that a figure hangs on most."""
    if found.decides is not None and found.decides.prior.option:
        yield say(
            "add {column}: the result ranges from {least} to {most}",
            column=found.decides.prior.name,
            least=show(found.decides.least), most=show(found.decides.most),
        )  # fmt: skip


def _speed(row: Row, asked: TrainingQuestion, *, room_bytes: float | None) -> Prediction:
    """What cannot be timed, such as a row that names no chip, still has a peak."""
    try:
        timed = read_timed(row, asked)
    except RigError as error:
        return Prediction(metric=SPEED, group=SPEED, measured=row.get(SPEED), why=error.whole)

    def rate(training: Training) -> float:
        return float(tok_per_s([replace(timed, training=training)])[0])

    trainer = find_trainer(timed.training.trainer)
    program, case = trainer.program or trainer.id, own_case(timed.training)
    what = ran(timed.arch, engine=program, source=row.get("source"), case=case)
    known = known_of_one(SUBJECT, timed.chip, what=what)
    plain = banded(SUBJECT, SPEED, value=1.0, known=known)
    room = room_bytes if asked.work == "training" else None
    found = replace(asked.open_on(room), training=timed.training, layout=timed.layout).integrated(
        rate, band=(float(plain.low / plain.value), float(plain.high / plain.value)), but=("optimizer",)
    )
    moved = float(plain.value)
    return Prediction(
        metric=SPEED,
        group=SPEED,
        measured=row.get(SPEED),
        predicted=found.value * moved,
        low=found.low * moved,
        high=found.high * moved,
        why=with_semicolons((*timed.assumed, *decided(found, show="{:.3g} tok/s".format))),
        basis=Basis(
            subject=SUBJECT, figure=figure_of(SPEED), chip=timed.chip.id,
            engine=program, model=timed.arch.name, case=case,
        ),
    )  # fmt: skip


def of_kind(memory: TrainingMemory, kind: str, *, limit_bytes: float | None = None) -> np.ndarray:
    """Bytes of each stage as the row measures them; never beyond a card that holds what is needed."""
    if kind == "allocated":
        return np.asarray(memory.allocated_bytes)
    shown = np.asarray(memory.reserved_bytes if kind == "reserved" else memory.device_bytes)
    return shown if limit_bytes is None else np.minimum(shown, np.maximum(memory.least_bytes, limit_bytes))


def metrics(raw: Mapping[str, str]) -> tuple[str, ...]:
    """Both figures of a run."""
    del raw
    return SPEED, PEAK


KIND = TableKind(
    name="training",
    columns=COLUMNS,
    marks=("micro_batch", "seq_tok", "method"),
    metrics=metrics,
    predict=predict,
    measured=(SPEED, "samples_per_s", "tflops_per_chip", "mfu", PEAK),
)
