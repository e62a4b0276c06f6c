"""Where pip is told to look for packages; what a person must keep secret is left out."""

from __future__ import annotations

import configparser
from collections.abc import Iterator

from rigright.machine.values import without_login
from rigright.machine.world import World

_NAMES = ("index-url", "extra-index-url", "find-links", "no-index")


def index(world: World, python: str) -> str | None:
    """Every setting of pip on where to look, as its options are written; None where it has none."""
    fields = dict(_settings(world, python))
    return " ".join(f"--{name} {value}" for name, value in sorted(fields.items())) or None


def _settings(world: World, python: str) -> Iterator[tuple[str, str]]:
    """Names and values, the last to speak wins: the system, the user, the environment, variables."""
    home = world.env.get("HOME", "/root")
    prefix = python.rpartition("/bin/")[0]
    for file in (
        "/etc/pip.conf",
        f"{home}/.pip/pip.conf",
        f"{home}/.config/pip/pip.conf",
        f"{prefix}/pip.conf",
    ):
        yield from _of_file(world.text(file) or "")
    for name in _NAMES:
        value = world.env.get("PIP_" + name.upper().replace("-", "_"))
        if value:
            yield name, without_login(" ".join(value.split()))


def _of_file(text: str) -> Iterator[tuple[str, str]]:
    reader = configparser.RawConfigParser(strict=False)
    try:
        reader.read_string(text)
    except configparser.Error:
        return
    for section in reader.sections():
        for name, value in reader.items(section):
            bare = name.replace("_", "-")
            if bare in _NAMES and value:
                yield bare, without_login(" ".join(value.split()))
