"""The page of the machine's record: every field of every record, with the remark that stands beside it."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOMS = ("record.py", "device.py", "host.py", "system.py")
LEFT_OUT = {"Read"}  # what readers hand on, and nobody is shown
FIRST = ("Machine", "Unseen", "Device")
KINDS = {"str": "text", "int": "count", "float": "number", "bool": "flag", "Sentence": "text"}
HEAD = """# What `probe --json` prints

The machine as one record; `probe --save FILE` writes the same, and `--from FILE`, `doctor --from FILE`,
`fit --on FILE`, `plan --on FILE` read it. Keys stay; new ones may come.

- SI units, bytes, watts, degrees Celsius, hertz; shares between 0 and 1. The unit is the end of the name.
- `null` is not observed, never zero; `unseen` says why, and what would show it. An empty list was looked at.
- A limit that is none is the text `"inf"`. Pairs are lists of two: `["vm.swappiness", "60"]`.
- `origin` is `live`, or the file it was read from. `schema` is raised when a key changes its meaning.

    rigright probe --json | jq '.devices[] | {name, free: .mem_free_bytes, link: .pcie}'
    nvidia-smi -q -x | rigright probe --from - --json
    rigright probe --bundle box.tar.gz

## `rigright probe --json`
"""


def record_page(machine: Path) -> str:
    """The page, from the records of the room."""
    found = {name: lines for room in ROOMS for name, lines in _records(machine / room)}
    order = [*FIRST, *(name for name in found if name not in FIRST)]
    return "\n".join([HEAD, *("\n".join([*found[name], ""]) for name in order)])


def _records(path: Path) -> Iterator[tuple[str, list[str]]]:
    source = path.read_text(encoding="utf-8")
    remarks = _remarks(source)
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name not in LEFT_OUT:
            said = (ast.get_docstring(node) or "").partition("\n")[0].rstrip(".")
            head = [f"### `{node.name}`: {said[0].lower()}{said[1:]}", "", "| key | is |", "|---|---|"]
            fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
            yield node.name, [*head, *(_row(one, remarks) for one in fields)]


def _remarks(source: str) -> dict[int, str]:
    """The remark on each line."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {one.start[0]: one.string.lstrip("# ") for one in tokens if one.type == tokenize.COMMENT}


def _row(field: ast.AnnAssign, remarks: dict[int, str]) -> str:
    kind = ast.unparse(field.annotation).replace(" | None", "")
    many = kind.startswith("tuple[")
    inner = kind[len("tuple[") : -1].replace(", ...", "") if many else kind
    told = KINDS.get(inner, f"`{inner}`" if inner.isidentifier() else "pairs")
    lines = range(field.lineno, (field.end_lineno or field.lineno) + 1)
    remark = " ".join(remarks[line] for line in lines if line in remarks).replace("|", "\\|")
    return (
        f"| `{ast.unparse(field.target)}{'[]' if many else ''}` | {told}{f': {remark}' if remark else ''} |"
    )
