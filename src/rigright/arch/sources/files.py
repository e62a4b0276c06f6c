"""Foreign files, opened with care: only plain files, never more bytes than allowed, no tricks in JSON."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from rigright.arch.read import read_config
from rigright.arch.record import Arch
from rigright.base.bounded import TooDeepError, bounded_json
from rigright.base.errors import DataError
from rigright.base.files import unread
from rigright.base.units import MIB
from rigright.base.words import say

MAX_CONFIG_BYTES = 16 * MIB
CONFIG = "config.json"
# other JSON that lies beside models -> what it is
_OTHERS = {
    "weight_map": say("an index of weight files: give its folder"),
    "added_tokens": say("a tokenizer"),
    "chat_template": say("tokenizer settings"),
    "tokenizer_class": say("tokenizer settings"),
    "peft_type": say("an adapter: give its folder"),
}
_TELLING = ("model_type", "architectures", "_class_name", "hidden_size", "n_embd", "d_model")


@contextmanager
def plain_file(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A regular file, open for reading, and its size; devices, pipes and folders are refused unopened."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise DataError(say("{path} is not a regular file but {kind}", path=path, kind=_kind(mode)))
        with path.open("rb") as file:
            yield file, os.fstat(file.fileno()).st_size
    except (OSError, ValueError) as error:
        raise unread(path, error) from None


def _kind(mode: int) -> object:
    if stat.S_ISDIR(mode):
        return say("a folder")
    if stat.S_ISFIFO(mode):
        return say("a pipe")
    return say("a device or a socket")


def read_json(path: Path, *, limit: int = MAX_CONFIG_BYTES) -> dict[str, Any]:
    """The object a JSON file holds."""
    with plain_file(path) as (file, size):
        if size > limit:
            raise DataError(
                say(
                    "{path} is too large: {size} MiB (limit {limit} MiB)",
                    path=path,
                    size=size // MIB,
                    limit=limit // MIB,
                )
            )
        raw = file.read(limit + 1)
    return parse_json(raw, str(path))


def parse_json(raw: bytes, where: str) -> dict[str, Any]:
    """Bytes -> the JSON object in them; `where` names them in errors."""
    try:
        value = bounded_json(raw.decode("utf-8-sig"), pairs=_pairs)
    except UnicodeDecodeError:
        raise DataError(say("{path} is not JSON but binary or another encoding", path=where)) from None
    except TooDeepError:
        raise DataError(say("{path} is nested too deeply to be real", path=where)) from None
    except _TwiceError as twice:
        raise DataError(
            say('{path} has "{key}" twice, with different values', path=where, key=str(twice)[:60])
        ) from None
    except ValueError as error:
        raise DataError(
            say("{path} is not JSON or is truncated: {why}", path=where, why=str(error)[:80])
        ) from None
    if not isinstance(value, dict):
        raise DataError(say("{path} has no keys at its top level", path=where))
    return value


class _TwiceError(ValueError):
    """A key stands twice and not alike."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a key that stands twice must say the same."""
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen and seen[key] != value:
            raise _TwiceError(key)
        seen[key] = value
    return fields


def open_config(path: Path) -> Arch:
    """The Arch of a config file; named after the file, or after the folder of a config.json."""
    raw = read_json(path)
    _refuse_others(raw, path)
    value = raw.get("_model")
    if isinstance(value, str) and value:
        name = value[:200]
    elif path.name == CONFIG:
        name = path.resolve().parent.name or CONFIG
    else:
        name = path.stem.replace("__", "/", 1)
    return read_config(raw, name)


def _refuse_others(raw: dict[str, Any], path: Path) -> None:
    """JSON of another kind is an error that says which."""
    if any(key in raw for key in _TELLING):
        return
    for key, kind in _OTHERS.items():
        if key in raw:
            raise DataError(say("{path} is not a model config but {kind}", path=path, kind=kind))
