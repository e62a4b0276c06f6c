"""Records as JSON Schema: their types, docstrings, and the remarks beside their fields."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache, reduce
from itertools import takewhile
from operator import or_
from types import GenericAlias, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from rigright.base.tables import DATA, read_toml
from rigright.base.telling import SCHEMA_VERSION, Key, RecordPrinter, is_record, keys_of
from rigright.base.words import Sentence

UNITS = {
    "bytes": "bytes",
    "s": "s",
    "h": "h",
    "tok": "tokens",
    "usd": "USD",
    "kusd": "1000 USD",
    "w": "W",
    "j": "J",
    "joule": "J",
    "hz": "Hz",
    "c": "degrees Celsius",
    "px": "pixels",
    "flops": "FLOP",
    "kwh": "kWh",
    "mtok": "million tokens",
    "chip": "chip",
    "byte": "byte",
    "kg": "kg",
    "month": "month",
    "images": "images",
    "videos": "videos",
    "texts": "texts",
    "requests": "requests",
    "days": "days",
    "months": "months",
}
_JSON = {"None": "null", "True": "true", "False": "false"}
ALONE = {"usd", "days", "months"}  # names that are a unit and nothing before it


NOTES = {  # beside any answer, where there is something to say
    "own_runs": "runs of your own that moved its figures",
    "plugins": "plugins whose facts are in it",
    "written_by": "of `export`: the plugin that wrote the files",
}
used: set[tuple[str, str]] = set()  # of the meanings


@cache
def meanings() -> Mapping[str, Mapping[str, str]]:
    """What a key means where no remark beside a field says it: by record, or by any."""
    return read_toml(DATA / "meanings.toml")


def meaning(hint: Any, name: str) -> str:
    """What a key means by the table: to this record, or to any."""
    kinds = [value.__name__ for value in (_bare(hint), *get_args(hint)) if hasattr(value, "__name__")]
    place = next((value for value in (*kinds, "any") if name in meanings().get(value, {})), None)
    if place is None:
        return ""
    used.add((place, name))
    return meanings()[place][name]


def answer_of(properties: Mapping[str, Any], *, notes: Mapping[str, str] = NOTES) -> dict[str, Any]:
    """An answer with these keys, all there, and what any answer bears."""
    version = {
        "type": "integer",
        "const": SCHEMA_VERSION,
        "description": "raised when a key goes or changes its meaning",
    }
    more = {name: {"type": "string", "description": text} for name, text in notes.items()}
    return {
        "type": "object",
        "properties": {"schema_version": version, **properties, **more},
        "required": ["schema_version", *properties],
    }


class Made:
    """One schema being made, with the records that it names."""

    def __init__(self) -> None:
        self.defs: dict[str, Any] = {}
        self.kinds: dict[str, type] = {}
        self.given: Mapping[type, Any] = {}

    def top(self, fields: RecordPrinter) -> dict[str, Any]:
        """What a command prints."""
        self.given = fields.given
        made = self.record(fields.kind)
        return made | answer_of(made["properties"]) | {"required": ["schema_version", *made["required"]]}

    def defined(self) -> dict[str, Any]:
        """The records that it names."""
        return {"$defs": dict(sorted(self.defs.items()))} if self.defs else {}

    def record(self, kind: type) -> dict[str, Any]:
        """What a record tells as an object."""
        own = self.given.get(kind, {})
        return self.object(kind, keys_of(kind, own), own=own) | {"description": _doc(kind)}

    def object(self, hint: Any, keys: tuple[Key, ...], *, own: Mapping[str, Any]) -> dict[str, Any]:
        """An object with these keys."""
        properties: dict[str, Any] = {}
        required: list[str] = []
        more = False
        for key in keys:
            if "!" in key.sign and key.name not in own:
                continue
            given = key.given or "!" in key.sign
            value, text = _of_law(own[key.name]) if given else _resolved(hint, key.way)
            if key.sign == "*":
                spread = _bare(value)
                if is_record(spread):
                    given = self.given.get(spread, {})
                    inner = self.object(spread, keys_of(spread, given), own=given)
                    properties |= inner["properties"]
                    required += inner["required"]
                    more |= "additionalProperties" in inner
                else:
                    more = True
                continue
            properties[key.name] = self.value(value, key) | _described(key, text or meaning(hint, key.name))
            required += [] if "?" in key.sign else [key.name]
        made: dict[str, Any] = {
            "type": "object",
            "properties": properties,
            "required": [*dict.fromkeys(required)],
        }
        return made | ({} if not more else {"additionalProperties": True})

    def value(self, hint: Any, key: Key) -> dict[str, Any]:
        """The schema of one key."""
        if key.pairs:
            pair = get_args(_items(_bare(hint)))
            return _nullable(hint, {"type": "object", "additionalProperties": self.typed(pair[1])})
        return self.typed(hint)

    def typed(self, hint: Any) -> dict[str, Any]:
        """The schema of a type."""
        origin, inside = get_origin(hint), get_args(hint)
        if origin in {Union, UnionType}:
            kinds = {repr(row): row for row in map(self.typed, inside)}
            return next(iter(kinds.values())) if len(kinds) == 1 else _any_of(list(kinds.values()))
        if origin is Literal:
            return {"type": "string", "examples": [*inside]}
        if origin in {tuple, frozenset, list}:
            return self._listed(inside)
        if origin is not None:  # mappings
            return {"type": "object", "additionalProperties": self.typed(inside[1])}
        if is_record(hint) and hint is not Sentence:
            reference = vars(hint).get("PRINTED_AS")
            return self._named(hint) if reference is None else self.typed(_attribute(hint, reference)[0])
        simple = {
            str: "string", Sentence: "string", int: "integer", bool: "boolean", NoneType: "null",
            float: ["number", "null"],
        }.get(hint)  # fmt: skip
        return {} if simple is None else {"type": simple}

    def _listed(self, inside: tuple[Any, ...]) -> dict[str, Any]:
        if inside[-1] is Ellipsis or len(inside) == 1:
            return {"type": "array", "items": self.typed(inside[0])}
        places = [self.typed(value) for value in inside]
        return {"type": "array", "prefixItems": places, "minItems": len(places), "maxItems": len(places)}

    def _named(self, kind: type) -> dict[str, Any]:
        name = kind.__name__
        if self.kinds.setdefault(name, kind) is not kind:
            name = kind.__module__.rpartition(".")[2].title() + name
        if name not in self.defs:
            self.kinds[name] = kind
            self.defs[name] = {}
            self.defs[name] = self.record(kind)
        return {"$ref": f"#/$defs/{name}"}


def _any_of(kinds: list[dict[str, Any]]) -> dict[str, Any]:
    types = [kind["type"] for kind in kinds if {"type"} <= set(kind) <= {"type", "examples"}]
    if len(types) == len(kinds):
        flat = [name for value in types for name in (value if isinstance(value, list) else [value])]
        examples = [word for kind in kinds for word in kind.get("examples", ())]
        return {"type": list(dict.fromkeys(flat))} | ({"examples": examples} if examples else {})
    return {"anyOf": kinds}


def _nullable(hint: Any, made: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [made, {"type": "null"}]} if NoneType in get_args(hint) else made


def _described(key: Key, stated: str) -> dict[str, Any]:
    unit, text = _unit(key.name), _plainly(stated)
    return ({"description": text} if text else {}) | ({"unit": unit} if unit else {})


def _unit(name: str) -> str:
    """The unit that a name ends with: "usd_per_mtok" is USD / million tokens."""
    top, _, below = name.partition("_per_")
    last = top.rpartition("_")[2]
    under = below.split("_per_")
    if last not in UNITS or (last == top and top not in ALONE):
        return ""
    if not below:
        return UNITS[last]
    names = [UNITS.get(text.rpartition("_")[2] if text not in UNITS else text) for text in under]
    return " / ".join([UNITS[last], *(text for text in names if text)])


def _bare(hint: Any) -> Any:
    """Without None."""
    rest = [get_arg for get_arg in get_args(hint) if get_arg is not NoneType]
    return rest[0] if get_origin(hint) in {Union, UnionType} and len(rest) == 1 else hint


def _items(hint: Any) -> Any:
    return get_args(hint)[0]


def _of_law(law: Any) -> tuple[Any, str]:
    return get_type_hints(law)["return"], inspect.getdoc(law) or ""


def _resolved(hint: Any, way: tuple[str, ...]) -> tuple[Any, str]:
    """The type at the end of a way, and what is said of it."""
    text = ""
    for place, name in enumerate(way):
        if not name:
            continue
        bare = _bare(hint)
        nothing = NoneType in get_args(hint)
        if name.isdecimal():
            hint = get_args(bare)[int(name)] if get_args(bare)[-1] is not Ellipsis else get_args(bare)[0]
        elif get_origin(bare) is tuple:
            inner, text = _resolved(_items(bare), way[place:])
            every = GenericAlias(tuple, (inner, ...))
            return every | None if nothing else every, text
        elif get_origin(bare) in {Union, UnionType}:
            pairs = [_resolved(get_arg, way[place:]) for get_arg in get_args(bare)]
            return reduce(or_, (value for value, _ in pairs)), pairs[0][1]
        else:
            hint, text = _attribute(bare, name)
        hint = hint | None if nothing else hint
    return hint, text


def _attribute(kind: Any, name: str) -> tuple[Any, str]:
    value = getattr(kind, name, None)
    if isinstance(value, property):
        return get_type_hints(value.fget)["return"], inspect.getdoc(value) or ""
    return _hints(kind)[name], _remarks(kind).get(name, "")


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    hidden = vars(sys.modules[kind.__module__])
    return get_type_hints(kind, {**hidden, **_types_only(kind.__module__)})


@cache
def _source(module: str) -> tuple[ast.Module, list[str]]:
    """The text of a module, parsed and by line; empty where only its bytecode is there."""
    try:
        text = inspect.getsource(sys.modules[module])
    except OSError:
        text = ""
    return ast.parse(text), text.splitlines()


@cache
def _types_only(module: str) -> Mapping[str, Any]:
    """What a module imports for types alone."""
    fields: dict[str, Any] = {}
    for node in _source(module)[0].body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for stmt in node.body:
                if isinstance(stmt, ast.ImportFrom) and stmt.module:
                    source = importlib.import_module(stmt.module)
                    fields |= {name.asname or name.name: getattr(source, name.name) for name in stmt.names}
    return fields


def _doc(kind: type) -> str:
    return _plainly((inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " "))


def _plainly(text: str) -> str:
    """A remark or a docstring as words beside a key."""
    text = re.sub(r"\b(None|True|False)\b", lambda match: _JSON[match[1]], text.strip())
    text = text if text.endswith("...") else text.removesuffix(".")
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


@cache
def _remarks(kind: type) -> Mapping[str, str]:
    """The remark beside each field of a record, with the lines of remark below it."""
    tree, lines = _source(kind.__module__)
    classes = (
        node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    )
    return {
        ast.unparse(field.target): " ".join(_beside(field, lines))
        for node in classes
        for field in node.body
        if isinstance(field, ast.AnnAssign)
    }


def _beside(field: ast.AnnAssign, lines: list[str]) -> Iterator[str]:
    end = field.end_lineno or field.lineno
    for line in lines[field.lineno - 1 : end]:
        _, sign, text = line.rpartition("  # ")
        if sign and "noqa" not in text:
            yield text
    for line in takewhile(lambda line: line.lstrip().startswith("#"), lines[end:]):
        yield line.lstrip("# ")
