"""Time of served inference: terms of classes of chips and of engines, from rows served under load.

What a chip reaches is a term of its class, below everybody's; what an engine adds is a term of the engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from lab.record import Dial, Subject, Tables
from rigright.base.tables import Row
from rigright.cost.bands import figure_of
from rigright.cost.known import kind_of
from rigright.cost.speed.eras import table_of
from rigright.facts.chips import ChipClass
from rigright.verbs.validate.ask import RunAsk, RunSet, runs_of
from rigright.verbs.validate.door import enter
from rigright.verbs.validate.record import source_name
from rigright.verbs.validate.served_asks import read_served

MODES = frozenset({"serve", "max"})
NONE = float("inf")
OFTEN = 30  # rows by which a class may speak for its kin
# Before any served run is seen: value, spread, most. Shares and tiles are what single kernels of seven chips
# of NVIDIA reach (GEMM, attention, experts; aiconfigurator-core 0.12.0, Apache-2.0).
KERNELS = {
    "compute": (0.78, 0.1, 0.95),
    "fp8": (0.70, 0.15, 1.0),
    "block": (1.0, 0.15, 1.2),
    "fp4": (0.55, 0.15, 1.0),
    "upcast": (0.9, 0.15, 1.0),
    "attention": (0.6, 0.2, 0.9),
    "memory": (0.82, 0.1, 0.95),
    "kv_memory": (0.75, 0.15, 0.95),
    "half_tok": (16.0, 0.4, NONE),
    "expert_half_tok": (30.0, 0.3, NONE),
    "expert_compute": (0.75, 0.2, 1.1),
    "expert_fp8": (1.3, 0.2, 2.0),
    "expert_mxfp4": (1.05, 0.15, 1.5),
    "expert_block": (0.6, 0.2, 1.0),
    "expert_fp4": (0.85, 0.2, 1.2),
    "expert_upcast": (0.6, 0.3, 1.0),
    "expert_memory": (1.1, 0.1, 1.25),
    "fp4_memory": (0.8, 0.15, 1.0),
    "narrow_width": (256.0, 0.4, NONE),
    "touched": (0.8, 0.1, 1.0),
    "imbalance": (0.2, 0.6, NONE),
    "layer_s": (12e-6, 0.4, NONE),
    "narrowing_s": (1.5e-6, 0.3, NONE),
    "moe_layer_s": (30e-6, 0.4, NONE),
    "latent_layer_s": (20e-6, 0.4, NONE),
    "eager_layer_s": (60e-6, 0.6, NONE),
    "step_s": (800e-6, 0.5, NONE),
    "seq_s": (6e-6, 0.6, NONE),
    "sync_s": (2e-6, 0.4, NONE),
    "request_s": (30e-3, 0.7, NONE),
    "ahead": (2.0, 0.7, NONE),
    "gathered": (0.5, 0.5, 1.0),
    "fill_seqs": (3000.0, 0.5, NONE),
    "wave": (0.1, 0.5, 0.5),
    "grown": (0.7, 0.3, 1.0),
}
CLASS = {  # what differs from class to class of chips, and how far
    "compute": 0.05,  # of 16 bit; narrow formats differ more
    **dict.fromkeys(("memory", "kv_memory"), 0.1),
    **dict.fromkeys(("fp8", "fp4", "upcast", "expert_compute"), 0.15),
    "moe_layer_s": 0.4,
}
ENGINE = {  # of an engine, and how far it may stand from everybody's
    **dict.fromkeys(("engine_compute", "engine_memory", "engine_expert", "engine_touch"), 0.07),
    "engine_layer": 0.15,
    **dict.fromkeys(("eager_layer_s", "step_s", "seq_s", "request_s", "ahead"), 0.7),
}
AGE = {  # of an engine in its older days, and how far it may stand from what it is now
    **dict.fromkeys(("engine_compute", "engine_memory"), 0.1),
    **dict.fromkeys(("engine_expert", "engine_touch"), 0.15),
    "engine_layer": 0.25,
    **dict.fromkeys(("eager_layer_s", "step_s", "seq_s", "request_s", "ahead"), 0.5),
}
# Of a class that else only tuned runs used: what two replays of plain vLLM say (RTX PRO 6000, the measured
# traces; first tokens 3 % late and 4 % early, next ones 2 and 4 %). Found by replaying: no row tells it.
REPLAYED = {
    ("nvidia-blackwell-gddr", name): value
    for name, value in (("compute", 0.72), ("kv_memory", 0.735), ("memory", 0.8))
}
SURE = 0.02
# Of runs tuned for one load, times what others reach: value, spread.
MANNER = {
    "compute": (1.3, 0.05),
    "experts": (1.1, 0.3),
    "memory": (1.1, 0.05),
    "fixed": (0.8, 0.4),
    "ahead": (1.0, 1.0),
    "request": (1.0, 1.0),
    "fill": (10.0, 1.0),
}  # fmt: skip


def _ask(row: Row) -> RunAsk:
    """A row as `validate` reads it."""
    return read_served(enter("inference", row, raw={}).row)


def prepare(rows: Sequence[Row]) -> RunSet:
    """Read every row once."""
    return runs_of([_ask(row) for row in rows])


def predict(ready: RunSet, tables: Tables) -> np.ndarray:
    """The figure of each row, in its unit."""
    return ready.figures(tables)


def dials(rows: Sequence[Row], tables: Tables) -> tuple[Dial, ...]:
    """Everybody's terms, then those of each class that was run, then those of each engine."""
    asks = [_ask(row) for row in rows]
    run = Counter(ask.chip.kind for ask in asks)
    classes = [_shared(ask.chip.kind, run) for ask in asks]
    engines = dict.fromkeys(ask.case.engine.id for ask in asks)
    result = [
        Dial(path=("chips", "all", name), prior=prior, spread=spread, high=most)
        for name, (prior, spread, most) in KERNELS.items()
    ]
    for kind in dict.fromkeys(classes):
        touched = tuple(index for index, own in enumerate(classes) if own == kind)
        result += [
            Dial(
                path=("chips", kind, name),
                parent=None if (kind, name) in REPLAYED else ("chips", "all", name),
                prior=REPLAYED.get((kind, name)),
                spread=SURE if (kind, name) in REPLAYED else spread,
                high=KERNELS[name][2],
                touches=touched,
            )
            for name, spread in CLASS.items()
        ]
    for engine in engines:
        touched = tuple(index for index, ask in enumerate(asks) if ask.case.engine.id == engine)
        result += [
            Dial(
                path=("engines", engine, name),
                parent=("chips", "all", name),
                spread=spread,
                high=KERNELS[name][2] if name in KERNELS else NONE,
                touches=touched,
            )
            for name, spread in ENGINE.items()
        ]
    for era, value in tables.get("eras", {}).items():
        touched = tuple(
            n for n, ask in enumerate(asks) if table_of(tables, ask.case.engine, chip=ask.chip) == era
        )
        result += [
            Dial(
                path=("engines", era, name),
                parent=("engines", value["engine"], name),
                spread=spread,
                high=KERNELS[name][2] if name in KERNELS else NONE,
                touches=touched,
            )
            for name, spread in AGE.items()
        ]
    for manner in dict.fromkeys(ask.case.manner for ask in asks if ask.case.manner):
        touched = tuple(index for index, ask in enumerate(asks) if ask.case.manner == manner)
        result += [
            Dial(path=("manners", manner, name), prior=prior, spread=spread, touches=touched)
            for name, (prior, spread) in MANNER.items()
        ]
    return tuple(result)


def _shared(kind: ChipClass, run: Mapping[ChipClass, int]) -> str:
    """Where the terms of a class stand: with its kin, where it was run often and no other of the kin was."""
    mine = [other for other in run if other.kin == kind.kin]
    alone = {other.id for other in mine} == {kind.id} and kind.kin.startswith((kind.vendor or "-").lower())
    return kind.kin if alone and sum(run[other] for other in mine) >= OFTEN else kind.id


def keys(row: Row) -> Mapping[str, str]:
    """What is left out whole, and what bands are stated by."""
    ask, source = _ask(row), row.get("source") or ""
    return {
        "source": source_name(source) if ask.case.manner else source,  # one submission a file
        "chip": ask.chip.id,
        "model": ask.case.arch.name,
        "engine": ask.case.engine.id,
        "metric": ask.metric,
        "part": f"{ask.metric} {ask.case.engine.id}",
        "band": figure_of(ask.metric, split=bool(row.get("disagg"))),
        "class": ask.chip.kind.id,
        "kind": kind_of(ask.case.arch),
    }


def _teaches(row: Row) -> bool:
    """Rows under load; of a run that kept its rate, output says what came in and nothing of the machine."""
    if row.get("mode") not in MODES or not row.get("value") or not row.get("chip"):
        return False
    return not (row.get("scheduled_samples_per_s") and row.get("metric") == "output_tok_s_total")


SUBJECT = Subject(
    name="speed_serving",
    kind="inference",
    also=("serving_energy",),
    teaches=_teaches,
    measured=lambda row: float(row["value"]),
    prepare=prepare,
    predict=predict,
    dials=dials,
    keys=keys,
    noise=0.15,
)
