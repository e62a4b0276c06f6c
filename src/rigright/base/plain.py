"""Plain data -> JSON text: order kept, numbers that are none left out as null, any language as it is.

The last digits of a logarithm are the machine's, not the model's: processors and browsers differ in them. So
figures are told to twelve digits, and an answer is the same wherever it was worked out. Whole numbers stay.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from enum import Enum
from json.encoder import encode_basestring
from typing import Any

from rigright.base.words import Sentence, tell

_STEERS = re.compile(
    r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)  # terminals obey these


_PLAIN = frozenset({str, int, bool, type(None)})


def dumps(data: Any, language: str) -> str:
    """JSON for `--json`."""
    text: list[str] = []
    _write(settle(data, language), text.append, line="\n")
    return _STEERS.sub(lambda match: f"\\u{ord(match[0]):04x}", "".join(text))


def _write(thing: Any, put: Callable[[str], object], *, line: str) -> None:
    """Settled data as the standard encoder writes it with an indent of two, in half its time."""
    if isinstance(thing, str):
        put(encode_basestring(thing))
    elif type(thing) is float and math.isfinite(thing):
        put(repr(thing))
    elif isinstance(thing, dict) and thing:
        before, inner = "{", line + "  "
        for key, value in thing.items():
            put(f"{before}{inner}{encode_basestring(key)}: ")
            _write(value, put, line=inner)
            before = ","
        put(line + "}")
    elif isinstance(thing, list) and thing:
        before, inner = "[", line + "  "
        for value in thing:
            put(before + inner)
            _write(value, put, line=inner)
            before = ","
        put(line + "]")
    else:
        put("null" if thing is None else json.dumps(thing, allow_nan=False))


def settle(thing: Any, language: str) -> Any:
    """Sentences told, arrays as lists, figures to twelve digits; NaN and infinity, unknown to JSON, null."""
    if isinstance(thing, Mapping):
        return {
            str(key): value if type(value) in _PLAIN else settle(value, language)
            for key, value in thing.items()
        }
    if isinstance(thing, (list, tuple)):
        return [settle(value, language) for value in thing]
    if isinstance(thing, Sentence):
        return tell(thing, language)
    if isinstance(thing, Enum):
        return settle(thing.value, language)
    if hasattr(thing, "tolist"):
        return settle(thing.tolist(), language)
    return _figure(thing) if isinstance(thing, float) and not thing.is_integer() else thing


def _figure(value: float) -> float | None:
    return float(f"{value:.12g}") if math.isfinite(value) else None
