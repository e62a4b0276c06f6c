"""JSON Schemas of what `--json` prints: of a command's records, made when somebody asks."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from rigright.base import shelf
from rigright.base.telling import SCHEMA_VERSION, RecordPrinter
from rigright.base.words import ENGLISH, tell
from rigright.faces.cli.described import Made, answer_of
from rigright.faces.cli.front import ASKS, TAGLINE

DRAFT = "https://json-schema.org/draft/2020-12/schema"
PAGES = "rigright.report.pages"
VERBS: Mapping[str, tuple[str, ...]] = {  # verb -> what its pages tell, or another module
    "plan": ("plan_data.plain",),
    "explain": ("explain.plain", "training.plain"),
    "fit": ("fit.plain",),
    "compare": ("compare.plain", "compare_sheets.plain"),
    "build": ("build.plain", "build_check.plain"),
    "cost": ("cost.plain",),
    "report": ("report.plain",),
    "prices": ("prices.plain", "prices.plain_list", "prices.plain_forgotten"),
    "simulate": ("simulate.plain",),
    "sweep": ("sweep.plain",),
    "calibrate": ("calibrate.plain",),
    "validate": ("validate.plain",),
    "read": ("read.plain",),
    "probe": ("probe.plain",),
    "doctor": ("doctor.plain_why",),
    "baseline": ("baseline.plain", "baseline.check_plain"),
    "bench": ("bench.plain", "bench.list_plain"),
    "diagnose": ("diagnose.plain",),
    "upgrade": ("upgrade.plain",),
    "setup": ("setup.plain",),
    "measure": ("measure.plain",),
    "watch": ("watch.plain", "files.plain"),
    "history": ("history.plain",),
    "fleet": ("fleet.plain", "accept.plain", "health.plain", "files.plain"),
    "export": ("export.plain", "export.held_plain"),
    "completion": ("rigright.verbs.completion.tells",),
    "rigright": ("rigright.faces.cli.front.tells",),  # without a command
}


def names() -> tuple[str, ...]:
    """Whose answers have a schema; of the program itself and of its errors, too."""
    return (*VERBS, "look-up", "mcp", "error")


@cache
def schema(verb: str) -> dict[str, Any]:
    """The schema of what a command prints."""
    own = {"look-up": _look_up, "mcp": _tools, "error": _error}.get(verb)
    return own() if own is not None else _schema(verb)


def printer_of(place: str) -> RecordPrinter:
    """What a page tells."""
    module, _, name = place.rpartition(".")
    module = module if "." in module else f"{PAGES}.{module}"
    fields: RecordPrinter = getattr(importlib.import_module(module), name)
    return fields


def _schema(verb: str) -> dict[str, Any]:
    made = Made()
    tops = [made.top(printer_of(place)) for place in VERBS[verb]]
    answer = tops[0] if len(tops) == 1 else {"type": "object", "anyOf": tops}
    return _head(verb) | answer | _about(verb) | made.defined()


def _head(name: str) -> dict[str, Any]:
    """What a schema is called; its `$id` changes with `schema_version`."""
    titles = {"error": "any command --json, without an answer", "rigright": "rigright --json"}
    return {
        "$schema": DRAFT,
        "$id": f"urn:rigright:{name}:{SCHEMA_VERSION}",
        "title": titles.get(name, f"rigright {name} --json"),
    }


def _about(verb: str) -> dict[str, str]:
    """What a command is for."""
    if verb == "rigright":
        return {"description": tell(TAGLINE, ENGLISH)}
    return {"description": tell(shelf.take(ASKS, verb.replace("-", "_"), bears="SUMMARY"), ENGLISH)}


def _look_up() -> dict[str, Any]:
    """A list of records of a kind; what a word is found to be; or, without a word, the kinds."""
    from rigright.verbs.look_up.verb import find_kind, kind_names, kind_summaries

    made = Made()
    for name, summary in kind_summaries().items():
        kind = find_kind(name)
        made.given = kind.tells.given
        keys = kind.tells.keys or ()
        record = made.object(kind.record, keys, own=kind.tells.given[kind.record])
        made.defs[name] = record | {"description": tell(summary, ENGLISH)}
    made.defs["record"] = {
        "description": "a record of any kind",
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in kind_names()],
    }
    record = {"$ref": "#/$defs/record"}
    count = {"type": "integer", "description": "how many of the kind there are"}
    few = {
        "type": "object",
        "properties": {
            "total": count,
            "records": {"type": "array", "items": record, "description": "the first few of them"},
        },
        "required": ["total", "records"],
    }
    word = {
        "text": {"type": "string", "description": "the word, as it was typed"},
        "hit": {"anyOf": [record, {"type": "null"}], "description": "the one thing that it names"},
        "found": {
            "type": "object",
            "additionalProperties": few,
            "description": "by kind: what speaks of it",
        },
    }
    tops = (
        {"type": "array", "items": record, "description": "of a kind: its records"},
        answer_of(word) | {"description": "of a word without a kind: what it is found to be"},
        answer_of({})
        | {
            "additionalProperties": {"type": "string"},
            "description": "of nothing: each kind, and what it tells",
        },
    )
    return _head("look-up") | {"anyOf": [*tops]} | _about("look-up") | made.defined()


def _error() -> dict[str, Any]:
    """What any command prints instead of an answer."""
    from rigright.faces.cli.trouble import Trouble

    body = Made().record(Trouble)
    return _head("error") | answer_of({"error": body}, notes={}) | {"description": body["description"]}


def _tools() -> dict[str, Any]:
    """What `mcp --list` prints: what each tool takes, itself a JSON Schema."""
    takes = {"type": "object", "description": "by tool: what it takes, as a JSON Schema"}
    return _head("mcp") | answer_of({}) | {"additionalProperties": takes} | _about("mcp")
