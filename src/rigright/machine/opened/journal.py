"""journalctl's machine-readable forms as the lines that `-o short-unix` would have printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from rigright.base.bounded import bounded_json_at
from rigright.base.units import MEGA

MOST_ENTRIES = 500_000
_MOST_CHARS = 4000  # of one message
_FIELD = re.compile(r"[ ]{4}([A-Z_0-9]{1,64})=(.*)")
_EXPORTED = re.compile(r"([A-Z_0-9]{1,64})=(.*)")
_VERBOSE = re.compile(r"\w{3} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \S+ \[s=")


def journal_lines(text: str) -> str | None:
    """The text as such lines; None where it is no journal's."""
    start = text.lstrip("\x1e \n")[:400]
    if (
        start.startswith(("{", "data: {"))
        and '"MESSAGE"' in text[:100_000]
        and '_TIMESTAMP"' in text[:100_000]
    ):
        return "\n".join(filter(None, map(_line, _documents(text))))
    if _VERBOSE.match(start):
        return "\n".join(filter(None, map(_line, _blocks(text, _VERBOSE, field=_FIELD))))
    if start.startswith("__CURSOR="):
        return "\n".join(filter(None, map(_line, _blocks(text, re.compile("__CURSOR="), field=_EXPORTED))))
    return None


def _documents(text: str) -> Iterator[Mapping[str, Any]]:
    """An object a line (`-o json`, `json-seq`), or over many (`json-pretty`)."""
    at = 0
    for _ in range(MOST_ENTRIES):
        start = text.find("{", at)
        if start < 0:
            return
        is_pretty = text.startswith("{\n", start)
        end = text.find("\n}" if is_pretty else "\n", start)
        at = end + 2 * is_pretty if end >= 0 else len(text)
        try:
            value, _ = bounded_json_at(text[start:at], 0)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _blocks(text: str, head: re.Pattern[str], *, field: re.Pattern[str]) -> Iterator[Mapping[str, Any]]:
    """An entry begins with its head; its fields follow, a line each."""
    entry: dict[str, str] = {}
    for line in islice(text.splitlines(), MOST_ENTRIES):
        if head.match(line) and entry:
            yield entry
            entry = {}
        if match := field.match(line):
            entry.setdefault(match[1], match[2])
        elif (match := _VERBOSE.match(line)) is not None:
            entry["at"] = line.partition(" [s=")[0]
    if entry:
        yield entry


def _line(entry: Mapping[str, Any]) -> str | None:
    """When, where, who, what."""
    value = entry.get("MESSAGE")
    if isinstance(value, list):  # bytes that are no UTF-8
        value = bytes(item & 255 for item in value[:_MOST_CHARS] if isinstance(item, int)).decode(
            "utf-8", "replace"
        )
    at = entry.get("_SOURCE_REALTIME_TIMESTAMP") or entry.get("__REALTIME_TIMESTAMP")
    if not isinstance(value, str):
        return None
    host = str(entry.get("_HOSTNAME") or "host").split()[:1]
    who = str(entry.get("SYSLOG_IDENTIFIER") or entry.get("_COMM") or "program").split()[:1]
    if entry.get("_TRANSPORT") == "kernel":
        who = ["kernel"]
    elif who == ["kernel"]:  # said so itself
        who = ["program"]
    if isinstance(at, str) and at.isdecimal() and len(at) < 20:
        when = f"{int(at) / MEGA:.6f}"
    else:
        when = str(entry.get("at") or "0000000000.0")
    first = " ".join(value[:_MOST_CHARS].split("\n"))
    return f"{when} {(host or ['host'])[0]} {(who or ['program'])[0]}: {first}"
