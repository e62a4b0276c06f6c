"""Columns of tables of runs, how their cells are read, and what a file leaves open and the user says."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from rigright.arch.sources.open import open_model
from rigright.base.errors import RigError
from rigright.base.tables import DATA, CellReader, Row, number, read_rows, text, yes
from rigright.base.units import GIB, MEGA, NO, YES
from rigright.facts.engines import find_engine
from rigright.facts.nodes import find_node
from rigright.options.read import values_of
from rigright.verbs.runs.planned import PlannedRun, read_plan

ALL_LAYERS = 90  # of llama.cpp's -ngl, from which all layers are meant
MOST_RANKS, MOST_TOK = 999_999, 999_999_999
MOST_GIB, MOST_RATE = 999_999, 999_999_999_999  # beyond any machine there is
SAME = {"serving_energy": "inference"}  # tables that have all columns of another
NO_LOAD = re.compile(r"max-throughput|/s|[rq]ps")  # loads that are no number at once: all that fits, a rate


def count(most: int) -> Callable[[str], int]:
    """A reader of whole numbers from one to `most`, "8" or "8.0"."""

    def read(cell: str) -> int:
        value = number(cell)
        if not 1 <= value <= most or value != int(value):
            raise ValueError(cell)
        return int(value)

    return read


def figure(most: float) -> CellReader:
    """A reader of measured figures: above zero, at most `most`."""

    def read(cell: str) -> float:
        value = number(cell)
        if not 0 < value <= most:
            raise ValueError(cell)
        return value

    return read


def ranks(cell: str) -> float:
    """How many ranks; 0 or a word that denies them: one; a word that it is so: endless, all there are."""
    text = cell.strip().lower()
    if text in NO:
        return 1
    return math.inf if text in YES and text != "1" else count(MOST_RANKS)(cell)


def side(cell: str) -> int:
    """Pixels of a side, "224"; of "936x624", the side of a square as large."""
    sides = [count(MOST_TOK)(part) for part in cell.lower().replace("\u00d7", "x").split("x")[:3]]
    return round(math.prod(map(float, map(str, sides))) ** (1 / len(sides)))


def _or(value: object, reader: CellReader) -> CellReader:
    """A reader of what may be nothing, written as 0."""
    return lambda cell: value if number(cell) == 0 else reader(cell)


def _peak(cell: str) -> str:
    """A kind of peak of memory."""
    from rigright.predict.trained_memory import KINDS

    return KINDS[KINDS.index(cell.lower())]


READERS: Mapping[str, CellReader] = {
    "text": text,
    "lower": str.lower,
    "yes": yes,
    "number": number,
    "count": count(MOST_TOK),
    "count or none": _or(None, count(MOST_TOK)),
    "ranks": count(MOST_RANKS),
    "ranks or none": _or(None, count(MOST_RANKS)),
    "attention ranks": ranks,
    "tokens": _or(0.0, figure(MOST_TOK)),
    "figure": figure(MOST_TOK),
    "rate": figure(MOST_RATE),
    "gib": figure(MOST_GIB),
    "share": figure(1),
    "load": lambda cell: None if NO_LOAD.search(cell) else figure(MOST_TOK)(cell),
    "peak": _peak,
    "side": side,
}


def _rows(table: str) -> list[Row]:
    names = ("column", "reader", "tables", "option")
    rows = read_rows(DATA / "run_columns.csv", dict.fromkeys(names, text))
    own = {table, SAME.get(table, table)}
    return [row for row in rows if own & {*row["tables"].split()}]


@cache
def columns_of(table: str) -> Mapping[str, CellReader]:
    """Every column that a kind of table knows, and how it is read."""
    return {row["column"]: READERS[row["reader"]] for row in _rows(table)}


@cache
def options_of(table: str) -> Mapping[str, str]:
    """Options of ours that say what a column holds -> that column."""
    return {option: row["column"] for row in _rows(table) for option in (row["option"] or "").split()}


_IN_NAME = re.compile(r"(?<![a-z])(nvfp4|mxfp4|fp8|awq|gptq|w4a16|w8a8|int8|int4)(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSetup:
    """What the user says of runs; it goes before what their files say."""

    values: Mapping[str, object] = field(default_factory=dict)  # by option, read

    def cells(self, kind: str) -> dict[str, str]:
        """Cells of a table."""
        fields: dict[str, str] = {}
        for option, column in options_of(kind).items():
            value = self.values.get(option)
            if value is not None:
                fields[column] = "true" if option == "no-graphs" else _text(value)  # eager, then
        if self.values.get("on"):
            node = find_node(str(self.values["on"]))
            if node.has_no_cards and node.host is not None and kind == "inference":
                fields |= {
                    "cpu": f"{node.host.sockets}x {node.host.cpu.name}"
                    if node.host.sockets > 1
                    else node.host.cpu.name,
                    "ram_gb": f"{node.host.ram_bytes / GIB:.10g}",
                    "ram_type": node.host.ram_kind,
                    "ram_mts": f"{node.host.transfers_per_s / MEGA:.10g}",
                    "ram_channels": str(node.host.channels),
                }
            else:
                fields["chip"] = node.cards[0].chip.id
                fields["n_chips"] = str(node.n_cards)
            if kind == "training":
                fields["nodes"] = str(node.n_nodes)
        if self.values.get("engine") and kind != "training":
            engine = find_engine(_text(self.values["engine"]))
            fields["engine"], fields["engine_version"] = engine.id, engine.version
        if self.values.get("batch") and kind == "inference":
            fields["mode"] = "batch"
        return fields

    def number(self, option: str) -> float | None:
        """A number that was said."""
        value = self.values.get(option)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def chips(self) -> int:
        """How many GPUs were said; one where none were."""
        return find_node(str(self.values["on"])).n_cards if self.values.get("on") else 1


NOTHING_SAID = RunSetup()


def completed(kind: str, fields: Mapping[str, str], *, setup: RunSetup) -> dict[str, str]:
    """A run's cells with what was said of it; weights that nobody named are those the model's files hold."""
    cells = {**fields, **setup.cells(kind)}
    column = {"inference": "weights", "memory": "format"}.get(kind)
    if column is None or cells.get(column) or not cells.get("arch") or cells.get("engine") == "llama.cpp":
        return cells
    named = _IN_NAME.search(cells.get("model") or cells["arch"])
    if named is not None:
        return {**cells, column: named[1].lower()}
    try:
        arch = open_model(cells["arch"])
    except RigError:
        return cells
    return {**cells, column: arch.stored or arch.dtype}


def planned_setup(planned: PlannedRun) -> RunSetup:
    """What a plan says was to be run."""
    work, layout = planned.work, planned.layout
    fields: dict[str, object] = {
        "model": planned.model,
        "on": planned.machine,
        "engine": work.get("engine"),
        "weights": work.get("weights"),
        "kv": work.get("kv"),
        "trainer": work.get("trainer"),
        "seq": work.get("seq_tok"),
        "micro-batch": work.get("micro_batch"),
        **{name: work.get(name) for name in ("method", "optimizer", "precision", "sharding", "recompute")},
        **{name: layout.get(name) for name in ("tp", "pp", "dp", "ep", "cp")},
        "attention-dp": layout.get("attention_dp"),
    }
    return RunSetup(values={name: value for name, value in fields.items() if value not in (None, "")})


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return str(value[0])
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def setup_of(verb: str, fields: Mapping[str, str]) -> RunSetup:
    """What options say; a plan says the rest."""
    values = values_of(verb, fields)
    planned = planned_setup(read_plan(str(values["plan"]))) if "plan" in values else NOTHING_SAID
    return RunSetup(values={**planned.values, **values})
