"""Writes tables of own settings: one term a line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rigright.base.bounded import bounded_toml
from rigright.base.errors import DataError
from rigright.base.files import write_whole
from rigright.base.words import say

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def terms(values: Mapping[str, Any]) -> str:
    """Plain values, one a line."""
    return "".join(f"{key_text(key)} = {_value(value)}\n" for key, value in values.items())


def write(path: Path, text: str) -> None:
    """Write at once or not at all; what cannot be read back is not written."""
    try:
        bounded_toml(text)
    except ValueError as error:
        raise DataError(say("{file} is not a TOML table: {why}", file=path.name, why=error)) from None
    write_whole(path, text)


def key_text(name: str) -> str:
    """The name of a term."""
    return name if _BARE.match(name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)
