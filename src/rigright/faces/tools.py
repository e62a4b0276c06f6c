"""The verbs as tools of an agent: schemas from the rows of the command line, and answers, short first.

An agent repeats what it read somewhere, so no tool writes, runs code, or reads a file, but those that are
about a file; and these read below one folder that was named at start.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import AskError, unknown
from rigright.base.record import dataclass
from rigright.base.tables import DATA
from rigright.base.words import LANGUAGES, clean, pick_language, say, tell
from rigright.faces import question
from rigright.faces.cli.main import answering
from rigright.faces.cli.trouble import trouble
from rigright.options import readers
from rigright.options.read import unknown_option
from rigright.options.rows import options_of

TOOLS = ("plan", "explain", "fit", "compare", "build", "cost", "look_up", "probe", "doctor", "validate")
_FILES = {"from": {"probe", "doctor"}, "before": {"doctor"}, "baseline": {"doctor"}, "files": {"validate"}}
_KEPT_BACK = {"anchors", "prices", "plan", "check", "run_code", "input", "shape"} | {  # read files, run code
    *("save", "bundle", "fix_script", "predictions", "details"),  # write files, or are for eyes
}
_OF_FILES = {  # where help for a terminal speaks of files, what is told to those who may name none
    "a name, a config.json, a folder, a GGUF file, a hub id": say("a name or a hub id: qwen3-32b"),
    'the machine: "8x h100", "rtx 4090 + 64gb", "p5.48xlarge", or a file of `probe --save`': say(
        'the machine: "8x h100", "rtx 4090 + 64gb", "p5.48xlarge"'
    ),
    'a machine ("2x rtx 4090"), a model, an instance (aws:p5.48xlarge) or a plan.json': say(
        'a machine ("2x rtx 4090"), a model, or an instance (aws:p5.48xlarge)'
    ),
}
MOST_LETTERS, MOST_ITEMS, MOST_BITS = 2000, 64, 64  # of a text, of a list, of a whole number
_PATH = re.compile(r"[/~]|-$|\.\.?(?:/|$)|[A-Za-z]:|.*(?:\\|/\.\.(?:/|$)|://)", re.DOTALL)
_ENDING = "json|ya?ml|toml|gguf|safetensors|csv|txt|log|xml|py|gz|tgz|tar|zip|bin|pt"
_FILE = re.compile(rf".*\.(?:{_ENDING})(?::.*)?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a tool answers: a line, then the data of `--json`."""

    line: str
    data: Any
    failed: bool = False


def offered(root: Path | None) -> tuple[str, ...]:
    """The tools: without a folder to read in, `validate` has nothing to do."""
    return TOOLS if root is not None else tuple(name for name in TOOLS if name != "validate")


def arguments(tool: str, root: Path | None) -> dict[str, argparse.Action]:
    """What an agent may say to a tool."""
    aliases = {name.replace("-", "_") for option in options_of(tool) for name in option.aliases}
    return {
        name: action
        for name, action in question.arguments_of(question.parser_of(tool)).items()
        if name not in aliases | _KEPT_BACK
        and (name not in _FILES or (root is not None and tool in _FILES[name]))
    }


def schema(tool: str, root: Path | None) -> dict[str, Any]:
    """What a tool takes, as JSON Schema."""
    rows = {option.name.replace("-", "_"): option for option in options_of(tool)}
    properties, required = {}, []
    for name, action in arguments(tool, root).items():
        row = rows.get(name)
        about = _OF_FILES.get(action.help or "", action.help or "")
        properties[name] = _type(action, row.read if row else None) | {"description": str(about)}
        choices = action.choices if row is None or row.choices is None else row.choices()
        properties[name] |= {"enum": [*choices]} if choices else {}
        required += [name] if action.required and action.nargs != "*" else []
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def answer(tool: str) -> dict[str, Any]:
    """What a tool answers, as JSON Schema: as records tell it; rows of `look-up` are whatever a kind has."""
    file = DATA / "schemas" / f"{tool}.json"
    if not file.exists():
        return {"type": ["object", "array"]}
    schema: dict[str, Any] = bounded_json(file.read_bytes())
    return schema


def in_short(tool: str) -> dict[str, Any]:
    """The same without what lies inside: an agent reads every word of it."""
    whole = answer(tool)
    tops = whole.get("anyOf", [whole])
    firsts = {name: value for top in reversed(tops) for name, value in top.get("properties", {}).items()}
    return {"type": "object", "properties": {name: _first(value) for name, value in firsts.items()}}


def _first(value: Mapping[str, Any]) -> dict[str, Any]:
    kinds = [one.get("type", "object" if "$ref" in one else []) for one in value.get("anyOf", [value])]
    flat = dict.fromkeys(name for one in kinds for name in ([one] if isinstance(one, str) else one))
    said = {name: value[name] for name in ("description", "unit") if name in value}
    return said | ({"type": [*flat]} if flat else {})


def _type(action: argparse.Action, read: Any) -> dict[str, Any]:
    """The type of one argument; numbers may have a unit: "8k", "50ms", "8000usd"."""
    if action.nargs == 0:
        return {"type": "boolean"}
    if action.nargs in {"*", "+"} or isinstance(action, argparse._AppendAction):  # noqa: SLF001 - as above
        return {"type": "array", "items": {"type": "string"}}
    if read is readers.names:
        return {"type": ["string", "array"], "items": {"type": "string"}}
    if read in {None, str} or action.nargs == "?":
        return {"type": "string"}
    return {"type": ["number", "string"]}


def call(tool: str, said: Mapping[str, Any], *, root: Path | None) -> Told:
    """A tool's answer, or the sentences of an error."""
    language = pick_language(said["lang"] if said.get("lang") in LANGUAGES else None)
    try:
        read = question.read(tool, named=allowed(tool, said, root=root))
        with answering(tool.replace("_", "-"), read) as answer:
            from rigright.base.plain import settle

            title, data = answer.page().title, answer.data(read.language)
            return Told(line=clean(tell(title, read.language)), data=settle(data, read.language))
    except Exception as error:  # noqa: BLE001 - an agent gets a sentence, as a person does
        found = trouble(error, [tool.replace("_", "-")])
        lines = [say("error: {what}", what=found.sentence)]
        lines += [] if found.hint is None else [say("hint: {what}", what=found.hint)]
        told, record = "\n".join(clean(tell(one, language)) for one in lines), found.record(language)
        if root is not None:  # where it lies is nobody's business
            inside = f"{root.resolve()}{os.sep}"
            told = told.replace(inside, "")
            for name, text in record["error"].items():
                record["error"][name] = text.replace(inside, "") if isinstance(text, str) else text
        return Told(line=told, data=record, failed=True)


def allowed(tool: str, said: Mapping[str, Any], *, root: Path | None) -> dict[str, Any]:
    """What was said, with each file below the root and nothing else a file; unknown names are refused."""
    if tool not in offered(root):
        raise unknown(say("tool"), tool[:80], known=offered(root))
    known = arguments(tool, root)
    found: dict[str, Any] = {}
    for name, value in said.items():
        if name not in known:
            raise unknown_option(name[:80], tuple(known))
        _check_size(name, value)
        if name in _FILES and root is not None:
            texts = value if isinstance(value, list) else [value]
            paths = [_below(root, str(text)) for text in texts]
            found[name] = paths if isinstance(value, list) else paths[0]
            continue
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and (_PATH.match(text.strip()) or _FILE.fullmatch(text.strip())):
                raise AskError(
                    say('{name}: "{text}" looks like a file; a tool reads none', name=name, text=text[:80]),
                    hint=say("write a name: qwen3-32b, 8x h100"),
                )
        found[name] = value
    return found


def _check_size(name: str, value: Any) -> None:
    """Refuse what no person would type: objects, lists in lists, pages of text."""
    items = value if isinstance(value, list) else [value]
    if len(items) > MOST_ITEMS or not all(map(_is_short, items)):
        raise AskError(
            say("{name}: neither a text, nor a number, yes or no, nor a list of these", name=name),
            hint=say(
                "at most {letters} letters, and {items} in a list", letters=MOST_LETTERS, items=MOST_ITEMS
            ),
        )


def _is_short(one: Any) -> bool:
    if isinstance(one, str):
        return len(one) <= MOST_LETTERS and not any("\ud800" <= letter <= "\udfff" for letter in one)
    if isinstance(one, int):
        return one.bit_length() <= MOST_BITS
    return one is None or isinstance(one, float)


def _below(root: Path, text: str) -> str:
    """A file below the root, links followed."""
    try:
        path = (root / PurePath(text)).resolve()
        is_below = path.is_relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):
        is_below = False
    if not is_below:
        raise AskError(
            say('"{text}" is not below the folder that was given at start', text=text[:80]),
            hint=say("write a path inside it"),
        )
    return str(path)
