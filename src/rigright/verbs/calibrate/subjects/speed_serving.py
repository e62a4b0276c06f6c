"""Time of served inference: terms of classes of chips and of engines, from rows served under load.

What a chip reaches is a term of its class, below everybody's; what an engine adds is a term of the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rigright.base.tables import Row
from rigright.cost.known import kind_of
from rigright.facts.classes import class_of
from rigright.verbs.calibrate.record import Dial, Subject, Tables
from rigright.verbs.validate.served_asks import ServedAsk, read_served
from rigright.verbs.validate.served_cases import Group, best_of_rows, group_cases

MODES = frozenset({"serve", "max"})
REACHED = (  # of a class of chips, as a share of what its facts state
    *("compute", "fp8", "fp4", "block", "upcast", "attention", "memory", "kv_memory"),
    *("expert_compute", "expert_memory", "layer_s", "moe_layer_s", "latent_layer_s", "narrowing_s"),
)
SHARED = (
    "half_tok",
    "expert_half_tok",
    "imbalance",
    "touched",
    "fill_seqs",
    "narrow_width",
    "expert_fp8",
    "expert_block",
    "expert_fp4",
    "expert_upcast",
    "fp4_memory",
)  # of everybody
ENGINE = {  # of an engine, and how far it may stand from everybody's
    **dict.fromkeys(("engine_compute", "engine_memory", "engine_kv", "engine_expert", "engine_touch"), 0.15),
    **dict.fromkeys(("engine_layer", "engine_moe"), 0.3),
    **dict.fromkeys(("sync_s", "eager_layer_s", "step_s", "seq_s", "request_s", "wave"), 0.7),
    **dict.fromkeys(("grown", "mixed"), 0.2),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Rows read, and sorted into arrays."""

    asks: tuple[ServedAsk, ...]
    groups: tuple[Group, ...]


def prepare(rows: Sequence[Row]) -> Prepared:
    """Read every row once."""
    asks = tuple(read_served(row) for row in rows)
    return Prepared(asks=asks, groups=group_cases(asks))


def predict(ready: Prepared, tables: Tables) -> np.ndarray:
    """The figure of each row, in its unit."""
    return best_of_rows(ready.groups, ready.asks, tables=tables)


def dials(rows: Sequence[Row], tables: Tables) -> tuple[Dial, ...]:
    """Everybody's terms, then those of each class that was run, then those of each engine."""
    asks = [read_served(row) for row in rows]
    classes = dict.fromkeys(class_of(ask.chip).id for ask in asks)
    engines = dict.fromkeys(ask.engine.id for ask in asks)
    everybody = tables["chips"]["all"]
    found = [
        Dial(path=("chips", "all", name), prior=float(everybody[name]), spread=0.6)
        for name in (*REACHED, *SHARED, *ENGINE)
        if name in everybody and not name.startswith("engine_")
    ]
    for kind in classes:
        touched = tuple(index for index, ask in enumerate(asks) if class_of(ask.chip).id == kind)
        found += [
            Dial(path=("chips", kind, name), parent=("chips", "all", name), spread=0.15, touches=touched)
            for name in REACHED
        ]
    for engine in engines:
        touched = tuple(index for index, ask in enumerate(asks) if ask.engine.id == engine)
        found += [
            Dial(
                path=("engines", engine, name),
                parent=("chips", "all", name),
                spread=spread,
                touches=touched,
            )
            for name, spread in ENGINE.items()
            if name in everybody
        ]
    return tuple(found)


def keys(row: Row) -> Mapping[str, str]:
    """What is left out whole, and what bands are told by."""
    ask = read_served(row)
    return {
        "source": row.get("source") or "",
        "chip": ask.chip.id,
        "model": ask.arch.name,
        "engine": ask.engine.id,
        "metric": ask.metric,
        "class": class_of(ask.chip).id,
        "kind": kind_of(ask.arch),
    }


SUBJECT = Subject(
    name="speed_serving",
    kind="inference",
    teaches=lambda row: row.get("mode") in MODES and bool(row.get("value")),
    measured=lambda row: float(row["value"]),
    prepare=prepare,
    predict=predict,
    dials=dials,
    keys=keys,
    noise=0.15,
)
