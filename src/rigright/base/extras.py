"""Packages of an extra that are not here, and the command that adds them to the Python that runs."""

from __future__ import annotations

import re
import shlex
import sys
from importlib import metadata
from pathlib import Path

from rigright.base.errors import MissingError
from rigright.base.tables import foreign_toml
from rigright.base.words import Sentence, say

_PROJECT = Path(__file__).parents[3] / "pyproject.toml"  # of a checkout
_EXTRA = re.compile(r"""\s*;\s*extra\s*==\s*['"]([\w-]+)['"]\s*$""")


def absent(extra: str, message: Sentence) -> MissingError:
    """What somebody asked for needs an extra that this Python lacks."""
    return MissingError(message, hint=say("install it: {command}", command=install(extra)))


def install(extra: str) -> str:
    """The packages by their own names: the same in a checkout, where nothing of ours is on an index."""
    return shlex.join([_python(), "-m", "pip", "install", *_packages(extra)])


def _packages(extra: str) -> tuple[str, ...]:
    if _PROJECT.is_file():
        return tuple(foreign_toml(_PROJECT)["project"]["optional-dependencies"][extra])
    try:
        known = metadata.requires("rigright") or []
    except metadata.PackageNotFoundError:
        return (f"rigright[{extra}]",)
    pairs = ((_EXTRA.search(text), _EXTRA.sub("", text)) for text in known)
    return tuple(package for match, package in pairs if match is not None and match[1] == extra)


def _python() -> str:
    """The Python that runs, as short as it can be typed here."""
    here = Path(sys.executable)
    return str(here.relative_to(Path.cwd())) if here.is_relative_to(Path.cwd()) else sys.executable
