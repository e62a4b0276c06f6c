"""Whatever holds files (gzip, xz, bzip2, tar, zip, folder) as its files: in memory, bounded, not on disk."""

from __future__ import annotations

import bz2
import io
import lzma
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from rigright.base.errors import DataError
from rigright.base.units import KIB, MIB
from rigright.base.words import Sentence, say
from rigright.machine.bundle import INDEX, MACHINE

MOST_BYTES = 64 * MIB  # of what is handed over, and of all that it holds
_MOST_MEMBERS = 20_000
_MOST_OF_ONE = 32 * MIB
_MOST_NESTED = 3
_MOST_UNPACKED = 128 * MIB  # of one archive
_FLOOR_BYTES, _TIMES = 14 * MIB, 32  # may always come out of a gzip; times its size
_AT_ONCE = 64 * KIB
_ZIP = b"PK\x03\x04"
_SQUEEZED: Mapping[bytes, tuple[str, Callable[[], Any]]] = {  # how it begins: its ending, what reads it
    b"\x1f\x8b": (".gz", lambda: zlib.decompressobj(wbits=31)),
    b"\xfd7zXZ\x00": (".xz", lambda: lzma.LZMADecompressor(memlimit=_MOST_UNPACKED)),
    b"BZh": (".bz2", bz2.BZ2Decompressor),
}
_BROKEN = (  # what these libraries say of bytes that are none of theirs
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(OSError, EOFError, ValueError, ArithmeticError, LookupError, RuntimeError, MemoryError),
)
_TAR, _TAR_AT = b"ustar", 257


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One file: by its place in what was handed over."""

    name: str
    raw: bytes
    bundle: Mapping[str, bytes] | None = None  # of one that `probe --bundle` wrote, what is in it
    is_cut: bool = False  # it ends too early, or what held it does


def unpacked(raw: bytes, *, name: str) -> list[Member]:
    """Its files, those of archives in it too; a bundle of ours stays whole."""
    budget = [min(2 * MOST_BYTES, max(len(raw), 2 * most_unpacked(len(raw)))), _MOST_MEMBERS]
    return list(_opened(raw, name, depth=0, budget=budget))


def most_unpacked(packed: int) -> int:
    """How much may come out of so many packed bytes: logs pack thirty to one, floods a thousand to one."""
    return min(_MOST_UNPACKED, max(_FLOOR_BYTES, _TIMES * packed))


def _opened(
    raw: bytes, name: str, *, depth: int, budget: list[int], is_whole: bool = True
) -> Iterator[Member]:
    for _ in range(_MOST_NESTED):
        begins = next((magic for magic in _SQUEEZED if raw.startswith(magic)), None)
        if begins is None:
            break
        ending, reader = _SQUEEZED[begins]
        raw, is_all = _unzipped(raw, reader(), name=name)
        is_whole = is_whole and is_all
        name = name.removesuffix(ending) if is_all else name
    budget[0] -= len(raw)
    budget[1] -= 1
    if budget[0] < 0 or budget[1] < 0:
        raise DataError(say("{file} is too large to read", file=name))
    if raw[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        inside = list(_of_tar(raw, name=name, is_whole=is_whole))
    elif raw.startswith(_ZIP):
        inside = list(_of_zip(raw, name=name))
    else:
        yield Member(name=name, raw=raw, is_cut=not is_whole)
        return
    files = {path: data for path, data, _ in inside}
    if files.keys() >= {MACHINE, INDEX}:
        yield Member(name=name, raw=b"", bundle=files, is_cut=not is_whole)
        return
    if not is_whole:
        yield Member(name=name, raw=b"", is_cut=True)
    del raw, files  # as much as all that was in it
    for path, data, is_all in inside:
        if depth < _MOST_NESTED:
            yield from _opened(data, path, depth=depth + 1, budget=budget, is_whole=is_all)


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Whatever a library says of broken bytes is one error that names the file."""
    try:
        yield
    except _BROKEN as error:
        raise DataError(
            say("cannot read {file}: {why}", file=name, why=error or type(error).__name__)
        ) from None


def _unzipped(raw: bytes, squeezed: Any, *, name: str) -> tuple[bytes, bool]:
    """What a gzip or its like holds, and whether it is whole; else up to where it is cut, or too much."""
    most = most_unpacked(len(raw))
    bytes_io = io.BytesIO()
    why: Sentence = say("it ends too early")
    for start in range(0, len(raw), _AT_ONCE):
        try:
            bytes_io.write(squeezed.decompress(raw[start : start + _AT_ONCE], most + 1 - bytes_io.tell()))
        except _BROKEN as error:
            why = say("{why}", why=error)
            break
        if bytes_io.tell() > most:
            bytes_io.truncate(most)
            break
        if squeezed.eof:
            return bytes_io.getvalue(), True
    if not bytes_io.tell():
        raise DataError(say("cannot read {file}: {why}", file=name, why=why))
    return bytes_io.getvalue(), False


def _of_tar(raw: bytes, *, name: str, is_whole: bool) -> Iterator[tuple[str, bytes, bool]]:
    """Its plain files; links, devices and all else are passed over. Of one that is cut off, up to there."""
    try:
        with _reading(name), tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as tar:
            for member in islice(tar, _MOST_MEMBERS + 1):  # one more than is taken: that is said
                if member.isreg() and not member.issparse():
                    begin = member.offset_data
                    data = raw[begin : begin + min(member.size, _MOST_OF_ONE)]
                    yield member.name.removeprefix("./"), data, len(data) == member.size
    except DataError:
        if is_whole:
            raise


def _of_zip(raw: bytes, *, name: str) -> Iterator[tuple[str, bytes, bool]]:
    """Its files, each up to where its bytes are sound."""
    with _reading(name), zipfile.ZipFile(io.BytesIO(raw)) as archive:
        left = most_unpacked(len(raw))
        for member in archive.infolist()[:_MOST_MEMBERS]:
            if member.is_dir():
                continue
            data, is_all = _member(archive, member, most=min(_MOST_OF_ONE, left))
            left -= len(data)
            yield member.filename, data, is_all


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, *, most: int) -> tuple[bytes, bool]:
    """One file, or what can be read of it: the others of the archive are still there."""
    data = io.BytesIO()
    if member.compress_type == zipfile.ZIP_LZMA:  # which says itself how much memory it takes
        return b"", False
    try:
        with archive.open(member) as file:
            while data.tell() < most and (part := file.read(min(_AT_ONCE, most - data.tell()))):
                data.write(part)
    except _BROKEN:
        return data.getvalue(), False
    return data.getvalue(), data.tell() == member.file_size


def of_folder(path: Path, *, without: frozenset[str] = frozenset()) -> list[Member]:
    """The plain files below a folder but for some in it, those of archives too; links are not followed."""
    budget = [MOST_BYTES * 2, _MOST_MEMBERS]
    members: list[Member] = []
    for above, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if Path(above) != path or name not in without)
        for name in sorted(files):
            file = Path(above) / name
            if file.is_symlink() or not file.is_file():
                continue
            try:
                with file.open("rb") as open_file:
                    raw = open_file.read(_MOST_OF_ONE)
            except OSError:
                continue
            inside = str(file.relative_to(path))
            try:
                members += _opened(raw, inside, depth=0, budget=budget)
            except DataError:
                if budget[0] < 0 or budget[1] < 0:
                    return members
                members.append(Member(name=inside, raw=raw))
    return members
