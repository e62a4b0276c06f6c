"""Loads a folder of variants: every file of a package that bears one agreed name."""

from __future__ import annotations

import importlib
import os  # not pkgutil: that loads `inspect`
from functools import cache
from typing import Any

from rigright.base.errors import DataError
from rigright.base.words import say


@cache
def names(package: str) -> tuple[str, ...]:
    """The files of a folder, sorted, without importing any of them."""
    texts = {
        entry.name.removesuffix(".py")
        for folder in importlib.import_module(package).__path__
        for entry in os.scandir(folder)
        if entry.name.endswith(".py") or os.path.exists(f"{entry.path}/__init__.py")  # noqa: PTH110 - as above
    }
    return tuple(sorted(texts - {"__init__"}))


def take(package: str, file: str, *, bears: str) -> Any:
    """What one file of the folder bears under the agreed name."""
    module = importlib.import_module(f"{package}.{file}")
    if not hasattr(module, bears):
        raise DataError(
            say('{file} in {folder} does not define "{name}"', file=file, folder=package, name=bears)
        )
    return getattr(module, bears)


@cache
def load(package: str, bears: str) -> dict[str, Any]:
    """Every file of the folder -> what it bears under the agreed name."""
    return {file: take(package, file, bears=bears) for file in names(package)}
