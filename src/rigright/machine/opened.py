"""A machine from a file: saved by us, a bundle, a tree of /proc and /sys, or what some tool wrote.

What it is shows in what it holds; no name or ending is trusted.
"""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

from rigright.base import shelf
from rigright.base.errors import DataError, MissingError
from rigright.base.units import MIB
from rigright.base.words import say
from rigright.machine.bundle.open import is_archive, open_bundle, unzipped
from rigright.machine.device import Device
from rigright.machine.filled import devices_filled
from rigright.machine.probe import joined, probe
from rigright.machine.record import Machine, Read
from rigright.machine.stored import restored
from rigright.machine.world import World

MOST_BYTES = 64 * MIB
STANDARD_INPUT = "-"
_FORMS = "rigright.machine.forms"
_TREE = ("proc", "sys", "etc")
_MOST_FILES = 64
_MOST_DEPTH = 100
_ZIPPED = b"\x1f\x8b"
_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))


def open_machine(place: str | Path) -> Machine:
    """The machine that a file, a folder, or "-" for standard input, tells of."""
    if str(place) == STANDARD_INPUT:
        return read_machine(sys.stdin.buffer.read(MOST_BYTES + 1), name="-")
    path = Path(place).expanduser()
    if path.is_dir():
        return _folder(path)
    return read_machine(plain_bytes(path), name=str(place))


def plain_bytes(path: Path) -> bytes:
    """The bytes of a regular file of bounded size; devices, pipes and links to them are refused unopened."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise DataError(say("{path} is neither a plain file nor a folder", path=path))
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise MissingError(say("there is no file {file}", file=path)) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise DataError(say("cannot read {file}: {why}", file=path, why=why)) from None
    return raw


def read_machine(raw: bytes, *, name: str) -> Machine:
    """The machine that bytes tell of; `name` says in errors where they came from."""
    if len(raw) > MOST_BYTES:
        raise DataError(say("{file} has more than {limit} MiB", file=name, limit=MOST_BYTES // MIB))
    if raw.startswith(_ZIPPED):
        raw = unzipped(raw, name=name)
    if is_archive(raw):
        return open_bundle(raw, name=name)
    text = text_of(raw, name=name)
    stored = _json(text)
    if isinstance(stored, dict) and "schema" in stored and isinstance(stored.get("devices"), list):
        return restored(Machine, {**stored, "origin": name}, where=name)
    return joined([_read(text, name=name)], origin=name)


def text_of(raw: bytes, *, name: str) -> str:
    """Text in UTF-8, or in what PowerShell writes."""
    coding = next((coding for mark, coding in _MARKS if raw.startswith(mark)), "utf-8")
    text = raw.decode(coding, "replace")
    if "\0" in text:
        raise DataError(say("{file} is not text: there are zero bytes in it", file=name))
    return text


def _json(text: str) -> Any:
    """What it holds as JSON; None where it is none."""
    if text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _read(text: str, *, name: str) -> Read:
    """By the first form that knows it."""
    found = _known(text)
    if found is None:
        raise DataError(
            say(
                "{file} tells of no machine; give what `probe --save` or `--bundle` wrote, "
                "`nvidia-smi -q -x`, `amd-smi static --json`, `lspci -vvv`, `dmesg`, "
                "or a folder with proc and sys",
                file=name,
            )
        )
    return found


def _known(text: str) -> Read | None:
    for form, matches in shelf.load(_FORMS, "matches").items():
        if matches(text):
            read: Read = shelf.take(_FORMS, form, bears="read")(text)
            return read
    return None


def _folder(path: Path) -> Machine:
    """A tree of /proc and /sys, or a folder of files that each tell a part."""
    if any((path / name).is_dir() for name in _TREE):
        return probe(World(root=path, commands=path / "commands"), origin=str(path))
    reads = []
    for file in sorted(path.iterdir())[:_MOST_FILES]:
        if file.is_file() and not file.is_symlink():
            found = _known(text_of(plain_bytes(file)[:MOST_BYTES], name=str(file)))
            reads += [] if found is None else [found]
    if not reads:
        raise DataError(
            say(
                "{folder} holds neither proc, sys and etc of a machine, nor files that tell of one",
                folder=path,
            )
        )
    # files of one folder tell of the same cards, each a part: every card once, filled from all
    devices: tuple[Device, ...] = ()
    rest = []
    for read in reads:
        fields = dict(read.fields)
        more: tuple[Device, ...] = fields.pop("devices", ())  # type: ignore[assignment]
        devices = devices_filled(devices, more)
        rest.append(Read(fields=tuple(fields.items()), unseen=read.unseen))
    return joined([*rest, Read(fields=(("devices", devices),))] if devices else rest, origin=str(path))
