"""What notes of the measured files say, as columns: written beside the raw files, which stay as they are."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from lab.runs import MEASURED, ROOT
from rigright.base.tables import open_rows, read_cells
from rigright.verbs.runs.files import read_text
from rigright.verbs.validate.foreign import noted, noted_cells
from rigright.verbs.validate.verb import recognise

TYPED = ROOT / "lab" / "typed"
NAMED = ("engine", "engine_version", "format", "chip")  # of memory rows: what their words name
FILES = (
    *("inference", "vision", "new/llamabench", "new/released_inference", "new/mlperf60"),
    *("new/serving_energy", "new/neuron_inference", "new/llmfit_runs"),
    *("memory", "training", "new/hybrid", "new/diffusion", "new/released_memory", "new/released_training"),
    *("new/china_training", "new/flagperf_nvidia_training"),
)


def typed(path: Path) -> str:
    """The table of one file: its rows whose notes fill a column, by id; no measured figure."""
    text = read_text(str(path))
    kind = recognise(text)
    named = NAMED if kind.name == "memory" else ()
    columns = tuple(dict.fromkeys([*(words.column for words in noted(kind.name)), *named]))
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(("id", *columns))
    for _, raw in open_rows(text.lines, text.name, required=kind.marks):
        row, _ = read_cells(raw, kind.columns)
        fields, _ = noted_cells(kind.name, raw)
        cells = ["" if fields.get(name) == row.get(name) else _cell(fields[name]) for name in columns]
        if any(cell != "" for cell in cells):
            table.writerow((raw["id"], *cells))
    return out.getvalue()


def _cell(value: object) -> str:
    """A value as a table has it."""
    if isinstance(value, bool):
        return str(int(value))
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def write() -> int:
    """Write every table again."""
    TYPED.mkdir(exist_ok=True)
    for name in FILES:
        (TYPED / f"{Path(name).name}.csv").write_text(typed(MEASURED / f"{name}.csv"), encoding="utf-8")
    return 0
