"""Time of models that lie partly, or wholly, in main memory: terms of processors and of the bus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lab.record import Dial, Subject, Tables
from rigright.base.errors import AskError
from rigright.base.tables import Row
from rigright.base.words import say
from rigright.cost.bands import figure_of
from rigright.cost.known import kind_of
from rigright.verbs.validate.ask import RunSet, runs_of
from rigright.verbs.validate.hybrid_asks import read_hybrid

CPU, IK, KT = ("llama.cpp cpu", "ik_llama.cpp cpu", "ktransformers cpu")
DIALS = (  # table, section, term
    (CPU, "all", "memory"), (CPU, "cpu-server", "memory"), (CPU, "cpu-numa", "memory"), (CPU, "all", "core"),
    (CPU, "all", "kv_memory"), (CPU, "all", "expert_memory"), (CPU, "all", "moe_layer_s"),
    (CPU, "all", "hop_s"),
    (CPU, "all", "token_attention_core"), (IK, "all", "token_attention_core"), (CPU, "all", "format_compute"),
    (IK, "all", "format_compute"), (CPU, "all", "expert_compute"), (CPU, "all", "expert_half_tok"),
    (CPU, "all", "attention"), (IK, "all", "attention"), (CPU, "all", "bus"), (IK, "all", "bus"),
    (KT, "cpu-numa", "memory"), (KT, "all", "format_compute"),
)  # fmt: skip
TAUGHT = frozenset({"decode_tok_s_per_user", "prefill_tok_s"})
UNSAID = "flags in thread"  # an offload that nobody can read


def prepare(rows: Sequence[Row]) -> RunSet:
    """Read every row once; one without a format says too little to learn from."""
    if any(row.get("weights") in {None, "gguf"} for row in rows):
        raise AskError(say("weights not stated"))
    return runs_of([read_hybrid(row) for row in rows])


def predict(ready: RunSet, tables: Tables) -> np.ndarray:
    """The figure of each row, in its unit."""
    return ready.figures(tables)


def dials(rows: Sequence[Row], tables: Tables) -> tuple[Dial, ...]:
    """Each about where it stands: rows are few and odd."""
    del rows
    return tuple(
        Dial(
            path=("engines", table, section, term),
            prior=float(tables["engines"][table][section][term]),
            spread=0.2,
        )
        for table, section, term in DIALS
    )


def keys(row: Row) -> Mapping[str, str]:
    """What is left out whole, and what bands are stated by: no term is of one processor, only of classes."""
    ask = read_hybrid(row)
    chip = ask.timed
    return {
        "source": row.get("source") or "",
        "chip": "",
        "model": ask.case.arch.name,
        "engine": ask.case.engine.id,
        "metric": row["metric"],
        "band": figure_of(row["metric"]),
        "class": chip.kind.id,
        "kind": kind_of(ask.case.arch),
    }


SUBJECT = Subject(
    name="speed_hybrid",
    table="speed_streams",
    kind="hybrid",
    teaches=lambda row: (
        row.get("metric") in TAUGHT and bool(row.get("value")) and UNSAID not in (row.get("offload") or "")
    ),
    measured=lambda row: float(row["value"]),
    prepare=prepare,
    predict=predict,
    dials=dials,
    keys=keys,
    noise=0.25,
)
