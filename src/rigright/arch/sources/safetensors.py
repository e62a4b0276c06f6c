"""The header of a safetensors file, read without trust: every span must lie in the file and fit its shape."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rigright.arch.sources.files import parse_json, plain_file
from rigright.arch.sources.opened import Tensor
from rigright.base.errors import DataError
from rigright.base.tables import DATA, read_rows, text, whole
from rigright.base.words import Sentence, say

LENGTH_BYTES = 8
MAX_HEADER_BYTES = 100_000_000  # as the format itself says
MAX_DIMS = 64
MAX_ELEMS = 2**60
BITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What one file holds."""

    path: Path
    size_bytes: int
    tensors: tuple[Tensor, ...]
    metadata: dict[str, str]


@cache
def bits_by_dtype() -> dict[str, int]:
    """Bits of an element, by the format's name of the type."""
    rows = read_rows(DATA / "safetensors_types.csv", {"name": text, "bits": whole})
    return {row["name"]: row["bits"] for row in rows}


def read_header(path: Path) -> Header:
    """Read the header of one file."""
    with plain_file(path) as (file, size):
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        room = size - LENGTH_BYTES
        if room < 2 or not 2 <= length <= min(room, MAX_HEADER_BYTES):
            raise _broken(
                path,
                say(
                    "it claims a header of {length} bytes, the file has {room}",
                    length=length,
                    room=max(room, 0),
                ),
            )
        raw = file.read(length)
    return parsed(raw, size, path=path)


def parsed(raw: bytes, size: int, *, path: Path) -> Header:
    """The header of a file of so many bytes, once it is read."""
    room, length = size - LENGTH_BYTES, len(raw)
    fields = parse_json(raw, str(path))
    metadata = fields.pop("__metadata__", {})
    tensors, ends = _tensors(fields, room - length, path=path)
    if ends != room - length:
        raise _broken(
            path, say("its tensors end at byte {ends}, the file has {room}", ends=ends, room=room - length)
        )
    given = metadata if isinstance(metadata, dict) else {}
    return Header(
        path=path,
        size_bytes=size,
        tensors=tensors,
        metadata={key: value for key, value in given.items() if isinstance(value, str)},
    )


def _tensors(fields: dict[str, Any], room: int, *, path: Path) -> tuple[tuple[Tensor, ...], int]:
    """Every tensor, checked: the spans follow each other without gap or overlap."""
    spans = sorted((_span(name, value, path=path), name) for name, value in fields.items())
    ends = 0
    for (start, end), name in spans:
        if start != ends or end > room:
            raise _broken(
                path,
                say('"{name}" has impossible offsets {start}-{end}', name=name[:80], start=start, end=end),
            )
        ends = end
    return tuple(_tensor(name, value, path=path) for name, value in fields.items()), ends


def _span(name: str, value: Any, *, path: Path) -> tuple[int, int]:
    span = value.get("data_offsets") if isinstance(value, dict) else None
    if not isinstance(span, list) or len(span) != 2 or not all(map(_is_count, span)) or span[0] > span[1]:
        raise _broken(path, say('"{name}" has no readable offsets', name=name[:80]))
    return span[0], span[1]


def _tensor(name: str, fields: dict[str, Any], *, path: Path) -> Tensor:
    dtype, shape = fields.get("dtype"), fields.get("shape")
    if not isinstance(dtype, str) or dtype not in bits_by_dtype():
        raise _broken(
            path, say('"{name}" has the unknown type "{type}"', name=name[:80], type=str(dtype)[:20])
        )
    if not isinstance(shape, list) or len(shape) > MAX_DIMS or not all(map(_is_count, shape)):
        raise _broken(path, say('"{name}" has no readable shape', name=name[:80]))
    elems = math.prod(shape)
    start, end = fields["data_offsets"]
    if elems > MAX_ELEMS or elems * bits_by_dtype()[dtype] != (end - start) * BITS:
        raise _broken(
            path,
            say(
                '"{name}" takes {span} bytes, which does not match its type and shape',
                name=name[:80],
                span=end - start,
            ),
        )
    return Tensor(name=name, dtype=dtype, shape=tuple(shape), size_bytes=end - start, elems=elems)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_ELEMS


def _broken(path: Path, why: Sentence) -> DataError:
    return DataError(say("{path} is not a valid safetensors file: {why}", path=path, why=why))
