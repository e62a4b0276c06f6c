"""Answers cut to what a context window can spare: without what is empty, lists cut, and the rest counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

SHORT, FULL = 8_000, 60_000  # letters of an answer's data: about 2,500 and 20,000 tokens
TEXT = 6_000
MANY = 8  # such a list is halved; a shorter one loses its last
FLOORS = (3, 1)  # first every list keeps three
LEFT_OUT = "left_out"


def shortened(data: Any, *, most: int) -> dict[str, Any]:
    """The same data within so many letters, a list as `rows`; `left_out` counts what was cut, by its key."""
    kept: dict[str, Any] = _filled(data if isinstance(data, dict) else {"rows": data})
    left: Counter[str] = Counter()
    for floor in FLOORS:
        while len(json.dumps(kept, ensure_ascii=False)) > most:
            lists = [(key, values) for key, values in _lists(kept, "") if len(values) > floor]
            if not lists:
                break
            key, longest = max(lists, key=lambda pair: len(json.dumps(pair[1], ensure_ascii=False)))
            keep = max(floor, len(longest) // 2 if len(longest) > MANY else len(longest) - 1)
            left[key] += len(longest) - keep
            del longest[keep:]
    return kept | ({LEFT_OUT: dict(left)} if left else {})


def _filled(thing: Any) -> Any:
    """A copy without what is unknown or empty."""
    if isinstance(thing, dict):
        fields = {key: _filled(value) for key, value in thing.items()}
        return {
            key: value for key, value in fields.items() if value is not None and value not in ("", [], {})
        }
    return [_filled(item) for item in thing] if isinstance(thing, list) else thing


def _lists(thing: Any, key: str) -> Iterator[tuple[str, list[Any]]]:
    if isinstance(thing, dict):
        for name, value in thing.items():
            yield from _lists(value, f"{key}.{name}" if key else name)
    elif isinstance(thing, list):
        yield key, thing
        for item in thing:
            yield from _lists(item, key)
