"""Frozen records as plain data and back: what `probe --save` writes, and what may come from anywhere.

Foreign data is held to the fields and types of the record; what a newer rigright added is left out, and so is
a command to type that does more than look: a line passes only in a shape that our own readers write, which
leaves no room for a second command, a file that is written, or an option that changes a card.
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from rigright.base.errors import DataError
from rigright.base.units import MIB
from rigright.base.words import CHINESE, Sentence, say, sentences, tell
from rigright.machine.record import Unseen

_PATH = r"(?:/[\w./:@%+-]*|'[^'\n]*')"  # plain, or quoted whole
_NVIDIA_SMI = (
    r"topo -m|(?:nvlink|c2c) -[csep]|nvlink -gt d|-[qLx]|-i \d+|-d [A-Z_,]+"
    r"|--query-gpu=[a-z_.,]+|--format=csv"
)
_SHAPES = (
    rf"nvidia-smi(?: (?:{_NVIDIA_SMI}))*",
    r"nvidia-smi [dp]mon(?: --gpm-metrics \d{1,3}(?:,\d{1,3}){0,9})?(?: -c \d{1,9})?",
    r"nvidia-settings -q \w+ -t",
    r"amd-smi static",
    r"xpu-smi discovery",
    r"sudo dmidecode -t \w+",
    r"(?:sudo )?lspci -(?:nn|v+)(?: \| grep -E '[^'\n]*')?",
    r"sudo ipmitool sensor",
    rf"sudo smartctl -a {_PATH}",
    rf"df -h {_PATH}",
    r"(?:sudo )?dmesg",
    r"sudo docker info",
    r"systemctl list-units",
    r"mokutil --sb-state",
    r"cpupower frequency-info",
    r"ifconfig -a",
    r"lsblk|lsmod|timedatectl",
)
_LOOKS = re.compile("|".join(f"(?:{shape})" for shape in _SHAPES), re.ASCII)


def only_looks(command: str) -> bool:
    """Whether it is one of those that change nothing, whoever wrote it."""
    return _LOOKS.fullmatch(command) is not None


R = TypeVar("R")
_MOST_ITEMS = 100_000
MOST_CHARS = MIB
_JSON = (str, int, float, list, dict, type(None))


def plain(thing: Any, language: str | None = None) -> Any:
    """A record as JSON-able data; sentences written out in a language, or kept whole without one."""
    if isinstance(thing, Sentence):
        return _kept(thing) if language is None else tell(thing, language)
    if is_dataclass(thing):
        return {field.name: plain(getattr(thing, field.name), language) for field in fields(thing)}
    if isinstance(thing, tuple | list):
        return [plain(value, language) for value in thing]
    if isinstance(thing, float) and not math.isfinite(thing):
        return "inf" if thing > 0 else None
    return thing


def restored(kind: type[R], data: Any, *, where: str) -> R:
    """A record from plain data; `where` names its file in errors."""
    return _record(kind, data, where=where)  # type: ignore[no-any-return]


def _kept(sentence: Sentence) -> dict[str, Any]:
    values = {name: plain(value) for name, value in sentence.values}
    fields = {
        name: item if isinstance(item, _JSON) else str(item) for name, item in values.items()
    }  # an error's words
    return {"say": sentence.text, "values": fields}


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _record(kind: type, data: Any, *, where: str) -> Any:
    if not isinstance(data, dict):
        raise _wrong(where, kind.__name__, data=data)
    hints = _hints(kind)
    given = {
        name: _value(hints[name], data[name], where=f"{where}: {name}") for name in hints if name in data
    }
    if kind is Unseen and given.get("see") is not None and not only_looks(given["see"]):
        given["see"] = None
    try:
        return kind(**given)
    except TypeError:
        raise _wrong(where, kind.__name__, data=data) from None


def _value(kind: Any, data: Any, *, where: str) -> Any:
    """One field: of a plain type, of either of two, a tuple, a sentence or a record."""
    origin = get_origin(kind)
    if origin in {Union, types.UnionType}:
        return _either(get_args(kind), data, where=where)
    if origin is tuple:
        return _many(get_args(kind), data, where=where)
    if kind is Sentence:
        return _sentence(data, where=where)
    if is_dataclass(kind):
        return _record(kind, data, where=where)  # type: ignore[arg-type]
    if kind is float and data == "inf":
        return math.inf
    allowed = (int, float) if kind is float else kind
    if not isinstance(data, allowed) or (isinstance(data, bool) and kind is not bool):
        raise _wrong(where, kind.__name__, data=data)
    if isinstance(data, str) and len(data) > MOST_CHARS:
        raise _wrong(where, "str", data=data[:20])
    return data


def _either(kinds: tuple[Any, ...], data: Any, *, where: str) -> Any:
    if data is None and type(None) in kinds:
        return None
    rest = [kind for kind in kinds if kind is not type(None)]
    for kind in rest[:-1]:
        try:
            return _value(kind, data, where=where)
        except DataError:
            continue
    return _value(rest[-1], data, where=where)


def _many(kinds: tuple[Any, ...], data: Any, *, where: str) -> tuple[Any, ...]:
    if not isinstance(data, list) or len(data) > _MOST_ITEMS:
        raise _wrong(where, "list", data=data)
    if kinds[-1] is Ellipsis:
        return tuple(_value(kinds[0], value, where=f"{where}.{place}") for place, value in enumerate(data))
    if len(data) != len(kinds):
        raise _wrong(where, "list", data=data)
    return tuple(_value(kind, value, where=where) for kind, value in zip(kinds, data, strict=True))


def _sentence(data: Any, *, where: str) -> Sentence:
    """A sentence of ours with its values; anything else is text: a foreign template is never filled."""
    if isinstance(data, str):
        return say("{text}", text=data)
    if not isinstance(data, dict) or not isinstance(data.get("say"), str):
        raise _wrong(where, "sentence", data=data)
    known = sentences(CHINESE)  # none on a far node: whoever asked it holds them against its own
    if (known and data["say"] not in known) or _shows_command(data["say"]):
        return say("{text}", text=data["say"])
    values = data.get("values")
    named = values if isinstance(values, dict) else {}
    pairs = tuple((str(name), _filled(value, where=where)) for name, value in named.items())
    try:
        str(Sentence(data["say"], pairs))
    except KeyError:
        raise _wrong(where, "sentence", data=data) from None
    return Sentence(data["say"], pairs)


def _shows_command(template: str) -> bool:
    """Whether one of its values stands there as something to type."""
    return any("{" in quoted for quoted in template.split("`")[1::2])


def _filled(value: Any, *, where: str) -> object:
    return _sentence(value, where=where) if isinstance(value, dict) else str(value)


def _wrong(where: str, kind: str, *, data: Any) -> DataError:
    shown = str(data)[:60]
    return DataError(say('{where}: cannot read "{text}" as {kind}', where=where, text=shown, kind=kind))
