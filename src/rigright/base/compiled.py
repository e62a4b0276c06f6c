"""Modules and TOML tables in the form that loads fastest, kept in `__pycache__` beside their sources.

`./rig` runs this file when it sets up: commands then start fast even where they may not write bytecode.
Every copy carries the hash of its source (PEP 552), so a source that changed in any way is read itself.
"""

from __future__ import annotations

import json
import os
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path
from typing import Any

_CHECK_HASH = (3).to_bytes(4, "little")  # the flags of a .pyc that Python compares with its source


def toml_table(path: Path, raw: bytes) -> dict[str, Any]:
    """What a TOML file of ours holds; `raw` is all of it."""
    try:
        head, _, table = _copy_of(path).read_bytes().partition(b"\n")
        if head == _mark(raw):
            return json.loads(table)  # type: ignore[no-any-return]
    except (OSError, ValueError, RuntimeError):
        pass  # there is no copy, or none that can be read
    return _parse(raw)


def keep_all(folder: Path) -> None:
    """Bring the copies of every module and table in a folder up to date; what cannot be kept is left out."""
    from py_compile import PyCompileError

    for paths, keep in ((folder.rglob("*.py"), _keep_module), (folder.rglob("*.toml"), _keep_table)):
        for path in paths:
            try:
                keep(path, path.read_bytes())
            except (OSError, ValueError, TypeError, RuntimeError, PyCompileError):
                continue  # a folder that is read-only, a module that is being edited, a table with dates


def _keep_module(path: Path, raw: bytes) -> None:
    copy, head = Path(cache_from_source(str(path))), MAGIC_NUMBER + _CHECK_HASH + source_hash(raw)
    if not copy.exists() or not copy.read_bytes().startswith(head):
        import py_compile

        mode = py_compile.PycInvalidationMode.CHECKED_HASH
        py_compile.compile(str(path), doraise=True, invalidation_mode=mode)


def _keep_table(path: Path, raw: bytes) -> None:
    copy, head = _copy_of(path), _mark(raw) + b"\n"
    if not copy.exists() or not copy.read_bytes().startswith(head):
        table = json.dumps(_parse(raw), ensure_ascii=False, separators=(",", ":"))
        copy.parent.mkdir(exist_ok=True)
        part = copy.with_name(f"{copy.name}.{os.getpid()}")
        part.write_bytes(head + table.encode())
        part.replace(copy)


def _copy_of(path: Path) -> Path:
    return Path(cache_from_source(str(path))).with_suffix(".table")


def _mark(raw: bytes) -> bytes:
    return source_hash(raw).hex().encode()


def _parse(raw: bytes) -> dict[str, Any]:
    import tomllib  # Python 3.10 has none; what runs on other nodes reads no such table

    return tomllib.loads(raw.decode("utf-8"))


if __name__ == "__main__":
    keep_all(Path(__file__).parents[1])
