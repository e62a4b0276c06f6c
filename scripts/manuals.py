"""Reference pages of `--json`: the schemas as tables, with a short introduction each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rigright.faces.cli.described import NOTES

ALL = """Keys are stable and new ones may be added; `schema_version` increases if a key is removed or changes
its meaning. Units are SI, bytes, tokens and dollars, as the key's ending says. Shares are between 0 and 1,
and unknown is `null`. Sentences are in the language of `--lang`. {schemas} {prints} the
JSON Schema.
"""
FIGURE = """A *figure* has `value`, `low`, `high` (an 80 % band) and `mark`: `measured` (your own runs),
`fitted` (runs of such chips), `physics` (the data sheet alone) or `stated` (a price).
"""
FIGURES = {"Estimate"}
BESIDE = {"schema_version", *NOTES}
AT_HOME = {"Machine": "probe", "PlanWish": "plan", "Plan": "plan", "Result": "bench", "Finding": "doctor"}
Answers = tuple[tuple[str, str, int], ...]  # command, verb, which of its answers
MANUALS: Mapping[str, tuple[str, str, Answers]] = {  # title, words, answers
    "plan": (
        "`plan` and `compare`",
        FIGURE + "\n`--csv` prints one row per plan, with `_low` and `_high` next to each figure.\n",
        (("plan MODEL", "plan", 0), ("compare THING ... --for MODEL", "compare", 0)),
    ),
    "explain": (
        "`explain`, `fit` and `validate`",
        FIGURE,
        (
            ("explain MODEL --on MACHINE", "explain", 0),
            ("explain MODEL --on MACHINE --train", "explain", 1),
            ("fit --on MACHINE", "fit", 0),
            ("validate FILE", "validate", 0),
        ),
    ),
    "build": ("`build`", "", (("build CARDS|MODEL", "build", 0), ("build --check FILE", "build", 1))),
    "cost": (
        "`cost`, `report` and `prices`",
        FIGURE,
        (
            ("cost WHAT", "cost", 0),
            ("report PLAN", "report", 0),
            ("prices show NAME", "prices", 0),
            ("prices check|import FILE", "prices", 1),
        ),
    ),
    "look-up": (
        "`look-up`",
        """With a kind, the answer is a list of records; the version is in the schema's `$id`. With a name
alone it is an object: `text`, `hit` (the record of that name, or `null`) and `found` (`total` and the first
`records` of each kind). Without arguments it lists the kinds.

    rigright look-up chips --where 'memory>=80GB' --json | jq -r '.[] | [.name, .mem_bytes, .tdp_w] | @csv'
""",
        (),
    ),
    "simulate": (
        "`simulate`, `sweep` and `calibrate`",
        FIGURE,
        (
            ("simulate MODEL", "simulate", 0),
            ("sweep GRID.csv", "sweep", 0),
            ("calibrate --from FILE", "calibrate", 0),
        ),
    ),
    "probe": (
        "`probe`",
        """`probe --save FILE` writes the same record; `--from FILE`, `doctor --from FILE`, `fit --on FILE`
and `plan --on FILE` read it. `null` means not observed, never zero; `unseen` says why, and which command
shows it. An empty list means that there is none. No limit is the text `"inf"`. Pairs are lists of two.

    rigright probe --json | jq '.devices[] | {name, free: .mem_free_bytes, link: .pcie}'
    nvidia-smi -q -x | rigright probe --from - --json
    rigright probe --bundle box.tar.gz
""",
        (("probe", "probe", 0),),
    ),
    "doctor": (
        "`doctor` and `baseline`",
        """The exit code is that of the worst finding: 0 for nothing worse than a note, 10 for a warning, 20
for a fault; errors use 2 to 5. A fault is broken, or loses results or data. A warning is slower or riskier
than this machine should be. `manual` is present with `--why`.

    rigright doctor --json | jq -r '.findings[] | select(.severity == "fault") | .title'
""",
        (
            ("doctor", "doctor", 0),
            ("baseline --save FILE", "baseline", 0),
            ("baseline --check FILE", "baseline", 1),
        ),
    ),
    "bench": (
        "`bench`",
        """The exit code is 0 if everything that can be measured is as it should be, 10 if a figure is slow, 20
if copied or computed values are wrong, and 130 after Ctrl-C or SIGTERM: what was measured until then is printed
and recorded. `below_baseline` is present with `--baseline`.
""",
        (("bench", "bench", 0), ("bench --list", "bench", 1)),
    ),
    "diagnose": (
        "`diagnose`",
        "The exit code is that of the worst finding, as of `doctor`.\n",
        (("diagnose", "diagnose", 0),),
    ),
    "upgrade": ("`upgrade`", "", (("upgrade", "upgrade", 0),)),
    "setup": ("`setup`", "Versions are text.\n", (("setup", "setup", 0),)),
    "measure": (
        "`measure`",
        """Only the JSON goes to stdout; the command's output goes to stderr. Without `--json` it is the other
way round: stdout is the command's. The exit code is the command's own: 128 plus the signal number after a
signal, 127 if there is no such command, 126 if it cannot be started.
""",
        (("measure -- COMMAND", "measure", 0),),
    ),
    "watch": (
        "`watch` and `history`",
        """`watch` prints one object per line and reading, with `--once` a single one. `at_s` is seconds since
1970, `clock_s` a monotonic clock. Counters run since the driver was loaded. `history` has `span` and
`moments`, or what `--of bench|machines|events` selects.
""",
        (("watch", "watch", 0), ("history", "history", 0)),
    ),
    "fleet": (
        "`fleet` and `export`",
        "A node's `machine` is what `probe --json` prints.\n",
        (
            ("fleet probe|doctor|bench", "fleet", 0),
            ("fleet accept", "fleet", 1),
            ("fleet health", "fleet", 2),
            ("export TARGET", "export", 0),
            ("export ENGINE --check", "export", 1),
        ),
    ),
}


def manuals(schemas: Mapping[str, Any], *, made: str) -> Iterator[tuple[str, str]]:
    """Each manual's name and text."""
    for name, (title, words, answers) in MANUALS.items():
        verbs = dict.fromkeys(verb for _, verb, _ in answers) or {name: None}
        asked = ", ".join(f"`rigright {verb} --schema`" for verb in verbs)
        parts = [
            made,
            f"# What {title} print{'s' if len(verbs) == 1 else ''} with `--json`\n",
            ALL.format(schemas=asked, prints="prints" if len(verbs) == 1 else "print"),
        ]
        parts += [words] if words else []
        told: set[str] = set()
        for command, verb, which in answers:
            parts += _answer(command, schemas[verb], which, told=told)
        if not answers:
            parts += _records(schemas[name])
        yield f"{name}-json.md", "\n".join(parts)


def _answer(command: str, schema: Mapping[str, Any], which: int, *, told: set[str]) -> Iterator[str]:
    top = schema["anyOf"][which] if "anyOf" in schema else schema
    yield f"## `rigright {command} --json`\n"
    order: dict[str, None] = {}
    yield _table(top, order)
    waiting = list(order)
    while waiting:
        name = waiting.pop(0)
        if name in told:
            continue
        told.add(name)
        record = schema["$defs"][name]
        inner: dict[str, None] = {}
        yield f"### `{name}`: {record['description']}\n"
        yield _table(record, inner)
        waiting += inner


def _records(schema: Mapping[str, Any]) -> Iterator[str]:
    """Every record that has keys of its own, the kinds of `look-up` first."""
    kinds = [one["$ref"].rpartition("/")[2] for one in schema["$defs"]["record"]["anyOf"]]
    for name in (*kinds, *(name for name in schema["$defs"] if name not in {*kinds, "record"})):
        record = schema["$defs"][name]
        head = f"## `rigright look-up {name} --json`" if name in kinds else f"### `{name}`"
        yield f"{head}: {record['description']}\n"
        yield _table(record, {})


def _table(record: Mapping[str, Any], named: dict[str, None]) -> str:
    rows = list(_rows(record, "", named))
    return "\n".join(["| key | meaning |", "| --- | --- |", *rows, ""])


def _rows(record: Mapping[str, Any], before: str, named: dict[str, None]) -> Iterator[str]:
    for key, value in record["properties"].items():
        if not before and key in BESIDE:
            continue
        kind, tail, inside = _kind(value, named)
        said = value.get("description", "")
        yield f"| `{before}{key}{tail}` | {_cell(': '.join(part for part in (kind, said) if part))} |"
        if inside is not None:
            yield from _rows(inside, f"{before}{key}{tail}.", named)


def _kind(value: Mapping[str, Any], named: dict[str, None]) -> tuple[str, str, Mapping[str, Any] | None]:
    """What stands under a key in a word; what its name ends with; and what is inside of it."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        named[name] = None
        home = AT_HOME.get(name)
        return (
            "figure" if name in FIGURES else f"`{name}`" if home is None else f"[`{name}`]({home}-json.md)",
            "",
            None,
        )
    if "anyOf" in value:
        found = [_kind(one, named) for one in value["anyOf"] if one != {"type": "null"}]
        words = " or ".join(dict.fromkeys(word for word, _, _ in found if word))
        return words, found[0][1], found[0][2]
    if value.get("type") == "array" and "items" in value:
        word, tail, inside = _kind(value["items"], named)
        return word, f"[]{tail}", inside
    if "properties" in value:
        return "", "", value
    if isinstance(value.get("additionalProperties"), dict):
        word, _, inside = _kind(value["additionalProperties"], named)
        return f"by name: {word}".rstrip(": "), "", inside
    types = value.get("type", [])
    word = {"integer": "count", "boolean": "flag", "string": "text", "number": "number", "array": "list"}
    first = next((one for one in ([types] if isinstance(types, str) else types) if one != "null"), "")
    return value.get("unit", word.get(first, "")), "", None


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
