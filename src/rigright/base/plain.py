"""Plain data -> JSON text: order kept, numbers that are none left out as null, any language as it is.

The last digits of a logarithm are the machine's, not the model's: processors and browsers differ in them. So
figures are told to twelve digits, and an answer is the same wherever it was worked out. Whole numbers stay.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

from rigright.base.words import Sentence, tell

_STEERS = re.compile(
    r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)  # terminals obey these


def dumps(data: Any, language: str) -> str:
    """JSON for `--json`."""
    text = json.dumps(settle(data, language), ensure_ascii=False, indent=2, allow_nan=False)
    return _STEERS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def settle(thing: Any, language: str) -> Any:
    """Sentences told, arrays as lists, figures to twelve digits; NaN and infinity, unknown to JSON, null."""
    if isinstance(thing, Mapping):
        return {str(key): settle(value, language) for key, value in thing.items()}
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
