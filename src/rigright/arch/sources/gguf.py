"""The headers of a GGUF model, in one file or several, read without trust: metadata and tensors only."""

from __future__ import annotations

import math
import mmap
import re
import struct
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from rigright.arch.sources.files import plain_file
from rigright.arch.sources.opened import Tensor
from rigright.base.errors import DataError
from rigright.base.tables import DATA, read_rows, text, whole
from rigright.base.words import Sentence, say

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_NAME_BYTES = 65_535  # as the format says of keys
MAX_TEXT_BYTES = 2**24
MAX_DIMS = 4
MAX_TENSORS, MAX_KEYS = 200_000, 100_000
MAX_ELEMS = 2**60
MAX_KEPT = 4096  # values of an array that are kept; longer ones (tokens) are only counted
MAX_NESTING = 2
LEAST_KEY_BYTES, LEAST_TENSOR_BYTES = 13, 24  # the smallest entry of each kind
ALIGNMENT, MAX_ALIGNMENT = 32, 65_536

_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
MAX_SPLITS = 1000
NAMES_SHOWN = 3
_PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf\Z", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """An array of the metadata: how many, and the values where they are few."""

    count: int
    values: tuple[Any, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufHeader:
    """What one GGUF file tells of itself."""

    path: Path
    size_bytes: int
    version: int
    metadata: dict[str, Any]
    tensors: tuple[Tensor, ...]
    tensors_end: int  # where the last tensor ends, as its header says
    notes: tuple[Sentence, ...] = ()


@dataclass(frozen=True, slots=True)
class _Ggml:
    name: str
    block_elems: int
    block_bytes: int


@cache
def types() -> dict[int, _Ggml]:
    """Tensor types by their number in files."""
    rows = read_rows(DATA / "gguf_types.csv", {"id": whole, "name": text, "block": whole, "bytes": whole})
    return {row["id"]: _Ggml(row["name"], row["block"], row["bytes"]) for row in rows}


def read_header(path: Path) -> GgufHeader:
    """Read the header of one file."""
    with plain_file(path) as (file, size):
        if size < len(MAGIC) or file.read(len(MAGIC)) != MAGIC:
            raise broken(path, say("it does not begin with GGUF"))
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as kept:
            return _Reader(path, kept, size=size).header()


def broken(path: Path, why: Sentence) -> DataError:
    """The error for a file that lies or is cut."""
    return DataError(say("{path} is not a valid GGUF file: {why}", path=path, why=why))


class _Reader:
    """Walks the bytes of a header; every step is checked against the end of the file."""

    def __init__(self, path: Path, kept: mmap.mmap, *, size: int) -> None:
        self.path, self.held, self.size = path, kept, size
        self.at = len(MAGIC)
        self.order = "<"

    def header(self) -> GgufHeader:
        version = self.version()
        tensors, keys = self.number("Q"), self.number("Q")
        room = min(self.size // LEAST_TENSOR_BYTES, MAX_TENSORS), min(self.size // LEAST_KEY_BYTES, MAX_KEYS)
        if tensors > room[0] or keys > room[1]:
            raise self.lie(say("it claims {tensors} tensors and {keys} keys", tensors=tensors, keys=keys))
        metadata = self.metadata(keys)
        infos = [self.info() for _ in range(tensors)]
        start = self.data_start(metadata)
        result, notes = self.tensors(infos, start)
        return GgufHeader(
            path=self.path,
            size_bytes=self.size,
            version=version,
            metadata=metadata,
            tensors=tuple(result),
            tensors_end=start
            + max(
                (info[3] + tensor.size_bytes for info, tensor in zip(infos, result, strict=True)), default=0
            ),
            notes=notes,
        )

    def version(self) -> int:
        version: int = self.number("I")
        if version not in VERSIONS:
            self.order, self.at = ">", self.at - 4
            swapped = self.number("I")
            if swapped not in VERSIONS:
                raise self.lie(
                    say("its version is {version}; supported: 2 and 3", version=min(version, swapped))
                )
            version = swapped
        return version

    def metadata(self, keys: int) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for _ in range(keys):
            key = self.text(MAX_NAME_BYTES)
            if key in fields:
                raise self.lie(say('it has "{key}" twice', key=key[:80]))
            fields[key] = self.value(self.number("I"), 0)
        return fields

    def value(self, kind: int, depth: int) -> Any:
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _STRING:
            return self.text(MAX_TEXT_BYTES)
        if kind == _ARRAY and depth < MAX_NESTING:
            return self.array(depth)
        raise self.lie(say("it contains a value of unknown type {kind}", kind=kind))

    def array(self, depth: int) -> Array:
        kind, count = self.number("I"), self.number("Q")
        if kind in _SCALARS:
            size = struct.calcsize(self.order + _SCALARS[kind])
            raw = self.take(count * size)
            few = count <= MAX_KEPT
            form = f"{self.order}{count}{_SCALARS[kind]}"
            return Array(count=count, values=struct.unpack(form, self.held[raw : self.at]) if few else None)
        if count > self.size - self.at:
            raise self.lie(say("it contains an array of {count} values", count=count))
        if kind == _STRING and count > MAX_KEPT:
            self.skip_texts(count)
            return Array(count=count, values=None)
        return Array(count=count, values=tuple(self.value(kind, depth + 1) for _ in range(count)))

    def skip_texts(self, count: int) -> None:
        mmap, at, order = self.held, self.at, "little" if self.order == "<" else "big"
        for _ in range(count):
            at += 8 + int.from_bytes(mmap[at : at + 8], order)  # type: ignore[arg-type]
            if at > self.size:
                raise self.lie(say("it ends inside its header"))
        self.at = at

    def info(self) -> tuple[str, tuple[int, ...], int, int]:
        """One entry of the tensor list: name, dimensions (the innermost first), type, place."""
        name = self.text(MAX_NAME_BYTES)
        count = self.number("I")
        if count > MAX_DIMS:
            raise self.lie(say('"{name}" has {count} dimensions', name=name[:80], count=count))
        dims = tuple(self.number("Q") for _ in range(count))
        if math.prod(dims) > MAX_ELEMS:
            raise self.lie(say('"{name}" has an impossible shape', name=name[:80]))
        return name, dims, self.number("I"), self.number("Q")

    def data_start(self, metadata: dict[str, Any]) -> int:
        alignment = metadata.get("general.alignment", ALIGNMENT)
        if not isinstance(alignment, int) or not 1 <= alignment <= MAX_ALIGNMENT:
            raise self.lie(say("it claims an alignment of {bytes} bytes", bytes=str(alignment)[:20]))
        return -(-self.at // alignment) * alignment

    def tensors(
        self, infos: list[tuple[str, tuple[int, ...], int, int]], start: int
    ) -> tuple[list[Tensor], tuple[Sentence, ...]]:
        """The tensors, checked: none twice, no two on one place; an unknown type is measured by its place."""
        if len({name for name, *_ in infos}) != len(infos):
            raise self.lie(say("it lists a tensor twice"))
        order = sorted(range(len(infos)), key=lambda index: infos[index][3])
        ends = {number: infos[two][3] for number, two in pairwise(order)}
        last = max(self.size - start, 0)
        result = [self.tensor(info, ends.get(index), last=last) for index, info in enumerate(infos)]
        strange = sorted({kind for _, _, kind, _ in infos if kind not in types()})
        notes = tuple(
            say("unknown tensor type {kind}: size taken from its offsets", kind=kind) for kind in strange[:5]
        )
        return result, notes

    def tensor(self, info: tuple[str, tuple[int, ...], int, int], end: int | None, *, last: int) -> Tensor:
        name, dims, kind, place = info
        elems = math.prod(dims)
        known = types().get(kind)
        if known is None:
            size = max((last if end is None else end) - place, 0)
            return Tensor(name=name, dtype=f"type {kind}", shape=dims[::-1], size_bytes=size, elems=elems)
        if dims and dims[0] % known.block_elems:
            raise self.lie(
                say(
                    '"{name}" has rows of {elems}, which {type} cannot pack',
                    name=name[:80],
                    elems=dims[0],
                    type=known.name,
                )
            )
        size = elems // known.block_elems * known.block_bytes
        if end is not None and place + size > end:
            raise self.lie(say('"{name}" overlaps another tensor', name=name[:80]))
        return Tensor(name=name, dtype=known.name, shape=dims[::-1], size_bytes=size, elems=elems)

    def number(self, form: str) -> Any:
        form = self.order + form
        start = self.take(struct.calcsize(form))
        return struct.unpack(form, self.held[start : self.at])[0]

    def text(self, limit: int) -> str:
        length = self.number("Q")
        if length > limit:
            raise self.lie(say("it contains a string of {length} bytes", length=length))
        start = self.take(length)
        return self.held[start : self.at].decode("utf-8", "replace")

    def take(self, size: int) -> int:
        """Step over so many bytes; where they begin."""
        start = self.at
        if size > self.size - start:
            raise self.lie(say("it ends inside its header"))
        self.at = start + size
        return start

    def lie(self, why: Sentence) -> DataError:
        return broken(self.path, why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """All files of a model together."""

    path: Path  # the first
    metadata: dict[str, Any]
    tensors: tuple[Tensor, ...]
    files: int
    size_bytes: int
    missing: tuple[str, ...]
    notes: tuple[Sentence, ...]


def is_later_part(path: Path) -> bool:
    """Whether this is a second or later file of several."""
    match = _PART.fullmatch(path.name)
    return match is not None and int(match["number"]) > 1


def read_whole(path: Path) -> Whole:
    """The header of a file, and of its fellows where the model is split."""
    paths = _fellows(path)
    here = [item for item in paths if item.is_file()]
    headers = [read_header(item) for item in here]
    given = headers[0].metadata.get("split.count", 1) if headers else 1
    if isinstance(given, int) and given > len(paths):
        # the names the fellows of a file would have, by what it tells of itself
        count = min(given, MAX_SPLITS)
        paths = [
            path,
            *(path.with_name(f"?-{number:05}-of-{count:05}.gguf") for number in range(2, count + 1)),
        ]
    tensors = [tensor for header in headers for tensor in header.tensors]
    if len({tensor.name for tensor in tensors}) != len(tensors):
        raise broken(path, say("two of its files contain the same tensor"))
    missing = tuple(item.name for item in paths if item not in here)
    return Whole(
        path=here[0],
        metadata={key: value for header in reversed(headers) for key, value in header.metadata.items()},
        tensors=tuple(tensors),
        files=len(headers),
        size_bytes=sum(header.size_bytes for header in headers),
        missing=missing,
        notes=(
            *(note for header in headers for note in header.notes),
            *(
                say(
                    "{path} is truncated: {size} bytes, but its tensors end at {ends}",
                    path=header.path.name,
                    size=f"{header.size_bytes:,}",
                    ends=f"{header.tensors_end:,}",
                )
                for header in headers
                if header.size_bytes < header.tensors_end
            ),
            *_lack(missing, paths),
        ),
    )


def _fellows(path: Path) -> list[Path]:
    """All files of the model this one belongs to, by its name."""
    match = _PART.fullmatch(path.name)
    if match is None or not 1 <= int(match["count"]) <= MAX_SPLITS:
        return [path]
    count = int(match["count"])
    names = [f"{match['stem']}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1)]
    return [path.with_name(name) for name in names] if path.name in names else [path]


def _lack(missing: tuple[str, ...], paths: list[Path]) -> list[Sentence]:
    if not missing:
        return []
    names = ", ".join(missing[:NAMES_SHOWN]) + (", ..." if len(missing) > NAMES_SHOWN else "")
    return [
        say(
            "{missing} of {all} files of this GGUF are missing: {names}",
            missing=len(missing),
            all=len(paths),
            names=names,
        )
    ]
