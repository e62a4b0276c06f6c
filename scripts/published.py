"""Every key of the answers, and the list of those that were ever published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PUBLISHED = Path(__file__).parent.parent / "tests" / "stories" / "published_keys.txt"


def published(made: Mapping[str, Any]) -> str:
    """The list, with what is new."""
    old = PUBLISHED.read_text(encoding="utf-8").splitlines() if PUBLISHED.exists() else []
    return "\n".join([*sorted({*old, *every_key(made)}), ""])


def every_key(made: Mapping[str, Any]) -> Iterator[str]:
    """Each key of each verb with its type, and whether it may be left out: "plan Plan.chip string"."""
    for verb, schema in made.items():
        tops = enumerate(schema.get("anyOf", [schema]))
        records = {f"{verb} {place or ''}": top for place, top in tops}
        records |= {f"{verb} {name}.": record for name, record in schema.get("$defs", {}).items()}
        for where, record in records.items():
            yield from _keys(where, record)


def _keys(where: str, record: Mapping[str, Any]) -> Iterator[str]:
    for key, value in record.get("properties", {}).items():
        kinds = value.get("anyOf", [value])
        optional = "" if key in record.get("required", ()) else " optional"
        yield f"{where}{key} {' | '.join(sorted(map(_kind, kinds)))}{optional}"
        for one in (*kinds, *(kind.get("items", {}) for kind in kinds)):
            yield from _keys(f"{where}{key}.", one)


def _kind(value: Mapping[str, Any]) -> str:
    named = value.get("$ref", "").rpartition("/")[2]
    types = value.get("type", "any")
    return named or (types if isinstance(types, str) else " or ".join(types))
