"""hybrid.csv: models of which a part, or all, lies in main memory, with the machine around the cards."""

from __future__ import annotations

import numpy as np

from rigright.base.errors import AskError
from rigright.base.tables import CellReader, Row, number, text
from rigright.base.words import say, with_semicolons
from rigright.cost.bands import banded, figure_of
from rigright.cost.known import known_of_one, ran
from rigright.facts.anchors import RunCase
from rigright.facts.hosts import host_chip
from rigright.predict.told import HYBRID, unsaid
from rigright.verbs.validate.cells import MOST_RANKS, MOST_RATE, MOST_TOK, count, figure
from rigright.verbs.validate.hybrid_asks import read_hybrid
from rigright.verbs.validate.hybrid_cases import hybrid_figure
from rigright.verbs.validate.record import Basis, Prediction, TableKind

_TEXTS = """id source measured engine engine_version model arch weights kv gpu vram_note cpu ram_type pcie
    offload layers_on_gpu experts_on_cpu metric note"""
COLUMNS: dict[str, CellReader] = {
    **dict.fromkeys(_TEXTS.split(), text),
    "n_gpus": lambda cell: int(number(cell)),
    **dict.fromkeys(("cpu_cores", "numa_nodes", "ram_channels", "batch"), count(MOST_RANKS)),
    **dict.fromkeys(("threads", "active_experts"), count(MOST_RANKS)),
    **dict.fromkeys(("model_gib", "cpu_weights_mib"), figure(MOST_RATE)),
    **dict.fromkeys(("ram_gb", "ram_mts", "value"), figure(MOST_RATE)),
    **dict.fromkeys(
        ("context_depth", "prompt_tok", "output_tok"),
        lambda cell: 0.0 if number(cell) == 0 else figure(MOST_TOK)(cell),
    ),
}


def predict(row: Row) -> tuple[Prediction, ...]:
    """The figure a row measures."""
    ask = read_hybrid(row)
    value = hybrid_figure(ask)
    if not np.isfinite(value) or value <= 0:
        raise AskError(say('"{metric}" is not a single-stream metric', metric=ask.metric))
    chip = host_chip(ask.host)
    case = RunCase(weights=ask.weights, load=ask.seqs, prompt_tok=ask.prompt_tok, output_tok=ask.output_tok)
    what = ran(ask.arch, engine=ask.engine.id, source=row.get("source"), case=case)
    known = known_of_one(HYBRID, chip, what=what)
    known = unsaid(known, host=ask.host)
    found = banded(HYBRID, ask.metric, value=value, known=known)
    return (
        Prediction(
            metric=ask.metric,
            group=ask.metric,
            measured=row.get("value"),
            predicted=float(found.value),
            low=float(found.low),
            high=float(found.high),
            why=with_semicolons(ask.assumed),
            basis=Basis(
                subject=HYBRID,
                figure=figure_of(ask.metric),
                chip=chip.id,
                engine=ask.engine.id,
                model=ask.arch.name,
                case=case,
            ),
        ),
    )


KIND = TableKind(
    name="hybrid",
    columns=COLUMNS,
    marks=("offload", "metric", "cpu", "n_gpus"),
    metrics=lambda raw: (raw.get("metric") or "value",),
    predict=predict,
    needed=("metric",),
    measured=("value",),
)
