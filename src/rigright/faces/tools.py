"""The commands as tools of an agent: schemas from the options of the command line, short answers first.

An agent repeats what it read somewhere, so no tool writes, runs code, or reads a file, but those that are
about a file; and these read below one folder that was named at start.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from rigright.base import telling
from rigright.base.bounded import bounded_json
from rigright.base.errors import AskError, unknown
from rigright.base.page import Bars, Plot, Strips
from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_toml
from rigright.base.units import parse_seconds, parse_watts
from rigright.base.words import LANGUAGES, clean, pick_language, say, tell
from rigright.faces import question, short
from rigright.faces.cli import schemas
from rigright.faces.cli.main import answering
from rigright.faces.cli.options import meaning
from rigright.faces.cli.trouble import trouble
from rigright.options import readers
from rigright.options.read import unknown_option
from rigright.options.row import Option

if TYPE_CHECKING:
    from rigright.base.page import Page

TOOLS = ("plan", "explain", "fit", "compare", "build", "cost", "look_up", "probe", "doctor", "validate")
_FILES = {"from": {"probe", "doctor"}, "before": {"doctor"}, "baseline": {"doctor"}, "files": {"validate"}}
_KEPT_BACK = {"anchors", "prices", "plan", "check", "run_code", "input", "shape"} | {  # read files, run code
    *("save", "bundle", "fix_script", "predictions", "details"),  # write files, or are for eyes
}
_OF_FILES = {  # where help for a terminal speaks of files, what is told to those who may name none
    "a name, a config.json, a folder, a GGUF file, a hub id": say("a name or a hub id: qwen3-32b"),
    "a name, a config.json, a folder, a GGUF file; without it: the best models for --budget": say(
        "a name or a hub id; without it: the best models for --budget"
    ),
    'the machine: "8x h100", "rtx 4090 + 64gb", "p5.48xlarge", or a file from `probe --save`': say(
        'the machine: "8x h100", "rtx 4090 + 64gb", "p5.48xlarge"'
    ),
    'a machine ("2x rtx 4090"), a model, an instance (aws:p5.48xlarge) or a plan.json': say(
        'a machine ("2x rtx 4090"), a model, or an instance (aws:p5.48xlarge)'
    ),
}
DETAIL = {"short": short.SHORT, "full": short.FULL}  # letters of an answer's data
_NUMBERS: dict[Callable[[str], Any], str] = {
    parse_seconds: "seconds",
    readers.days: "days",
    parse_watts: "watts",
}  # what a bare number is
_WORDS = {"CODE", "IN/OUT"}  # values that are never a bare number, though something reads them
ROWS = "rows"  # where an answer is a list
MOST_LETTERS, MOST_ITEMS, MOST_BITS = 2000, 64, 64  # of a text, of a list, of a whole number
_PATH = re.compile(r"[/~]|-$|\.\.?(?:/|$)|[A-Za-z]:|.*(?:\\|/\.\.(?:/|$)|://)", re.DOTALL)
_ENDING = "json|ya?ml|toml|gguf|safetensors|csv|txt|log|xml|py|gz|tgz|tar|zip|bin|pt"
_FILE = re.compile(rf".*\.(?:{_ENDING})(?::.*)?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """What a tool answers: a page that begins with the verdict, and data."""

    text: str
    data: Any
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What an agent reads of a tool before it asks."""

    title: str
    about: str
    examples: tuple[dict[str, Any], ...]
    takes: tuple[str, ...]  # what it is shown; (): all but what it leaves out
    leaves: tuple[str, ...]

    @property
    def text(self) -> str:
        """The description, with questions that work."""
        shown = [json.dumps(example, ensure_ascii=False) for example in self.examples if example]
        return "\n".join([self.about, *(f"Example: {item}" for item in shown)])


def about(tool: str) -> About:
    """The tool's row of data/tools.toml."""
    row = _table()[tool]
    return About(
        title=row["title"],
        about=row["about"].strip(),
        examples=tuple(bounded_json(value) for value in row["examples"]),
        takes=tuple(row.get("takes", ())),
        leaves=tuple(row.get("leaves", ())),
    )


def instructions() -> str:
    """What an agent reads of the server."""
    return str(_table()["server"]["about"]).strip()


@cache
def _table() -> dict[str, Any]:
    return read_toml(DATA / "tools.toml")


def offered(root: Path | None) -> tuple[str, ...]:
    """The tools: without a folder to read in, `validate` has nothing to do."""
    return TOOLS if root is not None else tuple(name for name in TOOLS if name != "validate")


@cache
def arguments(tool: str, root: Path | None) -> Mapping[str, Option]:
    """What an agent may say to a tool."""
    return {
        name: option
        for name, option in question.arguments_of(tool).items()
        if name == option.name.replace("-", "_")
        and name not in _KEPT_BACK
        and (name not in _FILES or (root is not None and tool in _FILES[name]))
    }


def schema(tool: str, root: Path | None) -> dict[str, Any]:
    """What a tool takes, as JSON Schema."""
    properties, required = {}, []
    for name, option in arguments(tool, root).items():
        helps = _OF_FILES.get(meaning(option), meaning(option))
        properties[name] = _type(option) | {"description": str(helps)}
        properties[name] |= {"enum": [*option.choices()]} if option.choices else {}
        required += [name] if option.required or (option.placed and option.count in {"", "+"}) else []
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def shown(tool: str, root: Path | None) -> dict[str, Any]:
    """The schema that an agent reads: the arguments that matter most, each by the name it is sent under."""
    whole, row = schema(tool, root), about(tool)
    rows = arguments(tool, root)
    properties = whole["properties"]
    wanted = (name for name in row.takes or properties if name not in row.leaves)
    properties = {name: properties[name] for name in wanted if name in properties}
    for name, value in properties.items():
        number = "USD" if rows[name].metavar == "MONEY" else _NUMBERS.get(rows[name].read)
        named = _as_arguments(value["description"], tool)
        properties[name] = value | {"description": f"{named}; a number is {number}" if number else named}
    properties["detail"] = {
        "type": "string",
        "enum": [*DETAIL],
        "default": next(iter(DETAIL)),
        "description": "full: every field and row of the data",
    }
    return {"type": "object", "properties": properties, "required": whole["required"]}


def _as_arguments(text: str, tool: str) -> str:
    """`--max-chips` of the command line as the argument max_chips."""
    known = _known(tool, Path())

    def named(match: re.Match[str]) -> str:
        name = match[1].replace("-", "_")
        return name if name in known else match[0]

    return re.sub(r"--([a-z][a-z-]*[a-z])\b", named, text)


@cache
def _known(tool: str, root: Path | None) -> Mapping[str, Option]:
    """What is taken: an option's other names, too."""
    every = question.arguments_of(tool)
    other = {name: option for name, option in every.items() if name != option.name.replace("-", "_")}
    return {**arguments(tool, root), **other}


def answer(tool: str) -> dict[str, Any]:
    """What a tool answers, as JSON Schema: as records tell it."""
    return schemas.schema(tool.replace("_", "-"))


def in_short(tool: str) -> dict[str, Any]:
    """The same without what lies inside: an agent reads every word of it."""
    whole = answer(tool)
    tops = whole.get("anyOf", [whole])
    firsts = {name: value for top in reversed(tops) for name, value in top.get("properties", {}).items()}
    if tops[0].get("type") == "array":
        firsts[ROWS] = tops[0]
    fields = {name: _first(value) for name, value in firsts.items()}
    left = {"description": "items that were cut, by key; detail=full gives them", "type": ["object"]}
    return {"type": "object", "properties": fields | {short.LEFT_OUT: left}}


def as_object(data: Any) -> dict[str, Any]:
    """An answer as agents take it, who take no lists."""
    return data if isinstance(data, dict) else {"schema_version": telling.SCHEMA_VERSION, ROWS: data}


def _first(value: Mapping[str, Any]) -> dict[str, Any]:
    kinds = [item.get("type", "object" if "$ref" in item else []) for item in value.get("anyOf", [value])]
    flat = dict.fromkeys(name for kind in kinds for name in ([kind] if isinstance(kind, str) else kind))
    fields = {name: value[name] for name in ("description", "unit") if name in value}
    return fields | ({"type": [*flat]} if flat else {})


def _type(option: Option) -> dict[str, Any]:
    """The type of one argument; numbers may have a unit: "8k", "50ms", "8000usd"."""
    if option.is_flag:
        return {"type": "boolean"}
    if option.count in {"*", "+"} or option.repeated:
        return {"type": "array", "items": {"type": "string"}}
    if option.read is readers.names:
        return {"type": ["string", "array"], "items": {"type": "string"}}
    if option.metavar != "N" and (option.read is str or option.metavar in _WORDS):
        return {"type": "string"}
    if option.bare is not None or option.count == "?":
        return {"type": "string"}
    return {"type": ["number", "string"]}


def call(tool: str, fields: Mapping[str, Any], *, root: Path | None) -> ToolAnswer:
    """A tool's answer, or the sentences of an error."""
    fields = _in_form(tool, fields)
    language = pick_language(fields["lang"] if fields.get("lang") in LANGUAGES else None)
    try:
        most = _letters(fields.pop("detail", None))
        named = allowed(tool, fields, root=root)
        _check_required(tool, named)
        read = question.read(tool, named=named)
        with answering(tool.replace("_", "-"), read) as answer:
            from rigright.base.plain import settle

            data = settle(answer.data(read.language), read.language)
            kept = short.shortened(as_object(data), most=most)
            return ToolAnswer(text=_text(answer.page(), read.language), data=kept)
    except Exception as error:  # noqa: BLE001 - an agent gets a sentence, as a person does
        result = trouble(error, [tool.replace("_", "-")])
        lines = [say("error: {what}", what=result.message)]
        lines += [] if result.hint is None else [say("hint: {what}", what=result.hint)]
        given, record = (
            "\n".join(clean(tell(sentence, language)) for sentence in lines),
            result.record(language),
        )
        hidden = "" if root is None else f"{root.resolve()}{os.sep}"  # where it lies is nobody's business

        def public(text: str) -> str:
            text = text.replace(hidden, "") if hidden else text
            return _as_arguments(text, tool) if tool in TOOLS else text

        for name, text in record["error"].items():
            record["error"][name] = public(text) if isinstance(text, str) else text
        return ToolAnswer(text=public(given), data=record, failed=True)


def _text(page: Page, language: str) -> str:
    """The page without its pictures, as Markdown; whole lines, up to a length."""
    from rigright.report.formats.markdown import render
    from rigright.report.screen import Screen

    parts = tuple(part for part in page.parts if not isinstance(part, Bars | Plot | Strips))
    lines = render(replace(page, parts=parts), Screen(language=language, unicode=True)).splitlines()
    kept, letters = 0, 0
    while kept < len(lines) and letters + len(lines[kept]) < short.TEXT:
        letters += len(lines[kept]) + 1
        kept += 1
    more = say("{count} more lines; ask for less", count=len(lines) - kept)
    return "\n".join([*lines[:kept], *([tell(more, language)] if kept < len(lines) else [])])


def _in_form(tool: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """What is plainly meant, as it is asked for: "4090, 5090" as a list, zh-CN as zh."""
    listed = {
        name
        for name, item in (schema(tool, Path())["properties"] if tool in TOOLS else {}).items()
        if item["type"] == "array"
    }
    meant = dict(fields)
    for name, value in fields.items():
        if isinstance(value, str) and name in listed:
            meant[name] = [part.strip() for part in value.split(",") if part.strip()]
        if isinstance(value, str) and name == "lang":
            meant[name] = value.replace("_", "-").partition("-")[0].lower()
    return meant


def _letters(detail: Any) -> int:
    """How many letters of data are wanted."""
    if detail is None:
        return short.SHORT
    if not isinstance(detail, str) or detail not in DETAIL:
        raise unknown(say("{text}", text="detail"), str(detail), known=tuple(DETAIL))
    return DETAIL[detail]


def _check_required(tool: str, fields: Mapping[str, Any]) -> None:
    """Refuse a question without what it is about, with one that has it."""
    missing = [name for name in schema(tool, None)["required"] if fields.get(name) is None]
    if missing:
        example = json.dumps(about(tool).examples[0], ensure_ascii=False)
        raise AskError(
            say("missing: {names}", names=", ".join(missing)),
            hint=say("for example {example}", example=example),
        )


def allowed(tool: str, fields: Mapping[str, Any], *, root: Path | None) -> dict[str, Any]:
    """What was said, with each file below the root and nothing else a file; unknown names are refused."""
    if tool not in offered(root):
        raise unknown(say("tool"), tool[:80], known=offered(root))
    known = _known(tool, root)
    result: dict[str, Any] = {}
    for name, value in fields.items():
        if name not in known:
            raise unknown_option(name[:80], about(tool).takes or tuple(known))
        _check_size(name, value)
        if name in _FILES and root is not None:
            texts = value if isinstance(value, list) else [value]
            paths = [_below(root, str(text)) for text in texts]
            result[name] = paths if isinstance(value, list) else paths[0]
            continue
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and (_PATH.match(text.strip()) or _FILE.fullmatch(text.strip())):
                raise AskError(
                    say(
                        '{name}: "{text}" looks like a file; tools do not read files',
                        name=name,
                        text=text[:80],
                    ),
                    hint=say("use a name: qwen3-32b, 8x h100"),
                )
        result[name] = value
    return result


def _check_size(name: str, value: Any) -> None:
    """Refuse what no person would type: objects, lists in lists, pages of text."""
    items = value if isinstance(value, list) else [value]
    if len(items) > MOST_ITEMS or not all(map(_is_short, items)):
        raise AskError(
            say("{name}: must be text, a number, a boolean or a list of these", name=name),
            hint=say(
                "at most {letters} characters, and {items} items in a list",
                letters=MOST_LETTERS,
                items=MOST_ITEMS,
            ),
        )


def _is_short(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= MOST_LETTERS and not any("\ud800" <= letter <= "\udfff" for letter in value)
    if isinstance(value, int):
        return value.bit_length() <= MOST_BITS
    return value is None or isinstance(value, float)


def _below(root: Path, text: str) -> str:
    """A file below the root, links followed."""
    try:
        path = (root / PurePath(text)).resolve()
        is_below = path.is_relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):
        is_below = False
    if not is_below:
        raise AskError(
            say('"{text}" is outside the folder given at start', text=text[:80]),
            hint=say("use a path inside it"),
        )
    return str(path)
