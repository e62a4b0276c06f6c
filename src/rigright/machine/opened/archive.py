"""Whatever holds files (gzip, tar, zip, folder) as its files: in memory, bounded, nothing goes to disk."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

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
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
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
        if raw.startswith(_GZIP):
            raw, is_all = _unzipped(raw, name=name)
            is_whole = is_whole and is_all
            name = name.removesuffix(".gz") if is_all else name
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


def _unzipped(raw: bytes, *, name: str) -> tuple[bytes, bool]:
    """What a gzip holds, and whether it is whole; of one that is cut, or holds too much, up to there."""
    squeezed, most = zlib.decompressobj(wbits=31), most_unpacked(len(raw))
    bytes_io = io.BytesIO()
    why: Sentence = say("it ends too early")
    for start in range(0, len(raw), _AT_ONCE):
        try:
            bytes_io.write(squeezed.decompress(raw[start : start + _AT_ONCE], most + 1 - bytes_io.tell()))
        except zlib.error as error:
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
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as tar:
            for place, member in enumerate(tar):
                if place >= _MOST_MEMBERS:
                    raise DataError(say("{file} is too large to read", file=name))
                if member.isreg() and not member.issparse():
                    begin = member.offset_data
                    data = raw[begin : begin + min(member.size, _MOST_OF_ONE)]
                    yield member.name.removeprefix("./"), data, len(data) == member.size
    except (tarfile.TarError, OSError, EOFError, ValueError, OverflowError, RecursionError) as error:
        if is_whole:
            raise DataError(say("cannot read {file}: {why}", file=name, why=error)) from None


def _of_zip(raw: bytes, *, name: str) -> Iterator[tuple[str, bytes, bool]]:
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            left = most_unpacked(len(raw))
            for member in archive.infolist()[:_MOST_MEMBERS]:
                if member.is_dir():
                    continue
                with archive.open(member) as file:
                    data = file.read(min(_MOST_OF_ONE, left))
                left -= len(data)
                yield member.filename, data, len(data) == member.file_size
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, RuntimeError) as error:
        raise DataError(say("cannot read {file}: {why}", file=name, why=error)) from None


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
