"""Plain data as YAML: in blocks, every word quoted as JSON quotes it, so that none is read as a number."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_PLAIN_KEY = re.compile(
    r"[A-Za-z][A-Za-z_]*[A-Za-z]"
)  # longer than a letter: "y" and "n" are read as yes and no
_WORDS_OF_YAML = {"yes", "no", "on", "off", "true", "false", "null"}
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def dumps(data: Mapping[str, Any], *head: str) -> str:
    """A document, with lines of comment before it."""
    return "\n".join([*(f"# {line}" for line in head), *_lines(data)]) + "\n"


def _lines(data: Any) -> Iterator[str]:
    if isinstance(data, Mapping):
        for key, value in data.items():
            plain = _PLAIN_KEY.fullmatch(key) and key.lower() not in _WORDS_OF_YAML
            head = f"{(key if plain else _scalar(key))}:"
            if _is_block(value):
                yield head
                yield from (f"  {line}" for line in _lines(value))
            else:
                yield f"{head} {_scalar(value)}"
    else:
        for value in data:
            yield from _item(value)


def _item(value: Any) -> Iterator[str]:
    if not _is_block(value):
        yield f"- {_scalar(value)}"
        return
    for place, line in enumerate(_lines(value)):
        yield f"- {line}" if place == 0 else f"  {line}"


def _is_block(value: Any) -> bool:
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str) and bool(value)


def _scalar(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
