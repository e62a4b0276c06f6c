"""Terms of training time, learnt from tokens a second of published runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from lab.record import Dial, Path, Subject, Tables
from rigright.base.tables import Row
from rigright.cost.known import kind_of
from rigright.facts.chips import by_id
from rigright.facts.training import find_trainer
from rigright.predict.trained import PLAIN, TrainingCase, matmul_of, steps_of
from rigright.verbs.validate.kinds.training import read_row
from rigright.verbs.validate.record import source_name

SPEED = "tok_per_s_per_chip"
CLASS_TERMS = {
    "compute": 0.1,
    "mixing": 0.2,
}  # how far a class of chips may be from all, a chip from its class
CHIP_SPREAD = 0.08
NARROW = 0.2  # how far 16 bit may be from what narrower formats reach, by class
LEAST_SOURCES = 2  # that tell of a class before it has terms of its own
SHARED_TERMS = {  # of all chips: what physics and kernel tables say, and how far runs may move it
    "compute": (0.95, 0.1),
    "mixing": (0.8, 0.3),
    "scan": (0.1, 0.5),
    "half_tok": (60, 0.2),
    "half_width": (90, 0.2),
    "half_group": (200, 0.4),
    "half_seq": (300, 0.3),
    "cast_fp8": (5, 0.3),
    "cast_mxfp8": (8, 0.3),
    "cast_nvfp4": (9, 0.3),
    "reach_fp8": (0.95, 0.07),
    "reach_mxfp8": (0.95, 0.07),
    "reach_nvfp4": (0.75, 0.1),
}
TRAINER_TERMS = {
    "moved": (1.3, 0.3),
    "layer_s": (400e-6, 0.5),
    "adapter_bytes": (6, 0.4),
    "dequantise_bytes": (4, 0.4),
    "gather_s": (0.5e-3, 0.6),
    "expert_s": (2e-3, 0.6),
    "step_s": (10e-3, 0.6),
    "spread": (0.01, 0.5),
    "unbalanced": (0.6, 0.4),
    "tp_bare": (0.5, 0.4),
    "dp_bare": (0.15, 0.5),
    "pp_bare": (0.5, 0.4),
    "ep_bare": (0.6, 0.3),
    "cp_bare": (0.3, 0.4),
}
KIND_TERMS = {
    "moved": 0.3,
    "layer_s": 0.7,
    "gather_s": 0.7,
    "adapter_bytes": 0.4,
}  # how far a kind of trainer may be from all
MOST_SHARE = 1.0


def prepare(rows: Sequence[Row]) -> tuple[TrainingCase, ...]:
    """Rows as the law of time takes them."""
    return tuple(read_row(row).timed.case for row in rows)


def predict(timed: tuple[TrainingCase, ...], tables: Tables) -> np.ndarray:
    """Tokens a second and chip."""
    return np.asarray(steps_of(timed, tables=tables).tok_per_s_per_chip)


def dials(rows: Sequence[Row], tables: Tables) -> tuple[Dial, ...]:
    """Terms of chips by class, of trainers by kind, and of both for all."""
    timed = prepare(rows)
    sources = [source_name(row.get("source") or "") for row in rows]
    # A class that a lone source tells of stays where all chips are
    chip_dials: list[Dial] = []
    for name, (prior, spread) in SHARED_TERMS.items():
        chip_dials.append(Dial(path=("chips", "all", name), prior=prior, spread=spread))
    kinds = sorted({case.wired[0].kind.id for case in timed})
    for kind in kinds:
        here = _places(timed, [case.wired[0].kind.id == kind for case in timed])
        if len({sources[place] for place in here}) < LEAST_SOURCES:
            continue
        own = CLASS_TERMS | ({"reach_16bit": NARROW} if _is_mixed(timed, here) else {})
        for name, spread in own.items():
            chip_dials.append(_below(("chips", kind, name), parent="all", spread=spread, touches=here))
        chips = sorted({timed[place].wired[0].id for place in here})
        for chip in chips if len(chips) > 1 else ():
            runs = _places(timed, [case.wired[0].id == chip for case in timed])
            chip_dials.append(
                _below(("chips", chip, "compute"), parent=kind, spread=CHIP_SPREAD, touches=runs)
            )
    return (*chip_dials, *_trainer_dials(timed, tables))


def _is_mixed(timed: Sequence[TrainingCase], here: Sequence[int]) -> bool:
    """Whether runs tell of 16 bit and of narrower formats: else one cannot be told from the other."""
    return len({matmul_of(timed[place].training) == PLAIN for place in here}) > 1


def is_complete(row: Row) -> bool:
    """Whether a row tells what decides its speed, and is not doubted by who wrote it down."""
    text = "; ".join(filter(None, (row.get("flags"), row.get("note")))).lower()
    batch = row.get("micro_batch") or row.get("global_batch")
    length = row.get("seq_tok") or row.get("mean_tok")
    return bool(length and batch) and "suspect" not in text and "unpacked" not in text


def _trainer_dials(timed: Sequence[TrainingCase], tables: Tables) -> Iterator[Dial]:
    for name, (prior, spread) in TRAINER_TERMS.items():
        most = MOST_SHARE if name.endswith("_bare") or name == "unbalanced" else float("inf")
        yield Dial(path=("trainers", "all", name), prior=prior, spread=spread, high=most)
    kind_of: Mapping[str, str] = tables["kinds"]
    of_rows = [kind_of.get(program(case.training.trainer), "") for case in timed]
    for kind in sorted(set(of_rows) - {""}):
        here = _places(timed, [of_row == kind for of_row in of_rows])
        for name, spread in KIND_TERMS.items():
            yield _below(("trainers", kind, name), parent="all", spread=spread, touches=here)


def program(trainer: str) -> str:
    """The program of a row of trainers, whatever its time."""
    row = find_trainer(trainer)
    return row.program or row.id


def _below(path: Path, *, parent: str, spread: float, touches: tuple[int, ...]) -> Dial:
    above = (path[0], parent, path[-1])
    return Dial(path=path, parent=above, prior=1.0, spread=spread, touches=touches)


def _places(timed: Sequence[TrainingCase], complete: Sequence[bool]) -> tuple[int, ...]:
    return tuple(place for place, is_complete in zip(range(len(timed)), complete, strict=True) if is_complete)


def keys(row: Row) -> Mapping[str, str]:
    """What is left out whole. Releases of one page are one source."""
    source, asked = source_name(row.get("source") or ""), read_row(row)
    chip = by_id().get(row.get("chip") or "")
    return {
        "source": source,
        "chip": row.get("chip") or "",
        "class": chip.kind.id if chip else "",
        "model": row.get("arch") or row.get("model") or "",
        "metric": SPEED,
        "engine": program(asked.taken.training.trainer),
        "kind": kind_of(asked.taken.arch),
        "band": "train",
    }


SUBJECT = Subject(
    name="speed_training",
    kind="training",
    teaches=lambda row: bool(row.get(SPEED)) and is_complete(row),
    measured=lambda row: float(row[SPEED]),
    prepare=prepare,
    predict=predict,
    dials=dials,
    keys=keys,
)
