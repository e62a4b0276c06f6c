"""What a system's C library is, and which one the wheels of a package ask for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rigright.base.tables import DATA, CellReader, frozen, read_rows, read_toml, text
from rigright.facts.drivers import words_of
from rigright.facts.software import Version, version_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRelease:
    """One release of a distribution."""

    os: tuple[str, ...]  # ids of /etc/os-release
    version: str
    glibc: Version
    kernel: Version  # the one it came with
    python: Version  # what `python3` is there
    source: str
    as_of: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Serves:
    """How an engine is started inside a container."""

    command: str  # with {model} and {tp}
    port: int
    health: str
    cache: str  # where it keeps weights
    model: str  # a small one to try the image with; none: it is named in each request
    source: str
    as_of: str


@cache
def _releases() -> tuple[SystemRelease, ...]:
    words = dict.fromkeys(("version", "source", "as_of"), text)
    readers: dict[str, CellReader] = {
        **words,
        "os": words_of,
        **dict.fromkeys(("glibc", "kernel", "python"), version_of),
    }
    return tuple(
        SystemRelease(**row) for row in read_rows(DATA / "systems.csv", readers, required=tuple(readers))
    )


def release_of(os_id: str | None, os_version: str | None) -> SystemRelease | None:
    """The release of a system: 7 of 7.9."""
    names = {os_version, (os_version or "").partition(".")[0]}
    return next((one for one in _releases() if os_id in one.os and one.version in names), None)


@cache
def _floors() -> tuple[tuple[str, Version, Version], ...]:
    words = dict.fromkeys(("name", "source", "as_of", "notes"), text)
    readers: dict[str, CellReader] = {**words, "version": version_of, "glibc": version_of}
    required = tuple(column for column in readers if column != "notes")
    rows = read_rows(DATA / "wheel_floors.csv", readers, required=required)
    return tuple((row["name"], row["version"], row["glibc"]) for row in rows)


def glibc_floor(name: str, version: str) -> Version | None:
    """The least glibc that a package's wheels install on; None where no table tells."""
    numbers = version_of(_numbers(version) or "0")
    known = [(first, glibc) for one, first, glibc in _floors() if one == name and first <= numbers]
    return max(known)[1] if known else None


def _numbers(version: str) -> str:
    """1.3.0rc24 -> 1.3.0."""
    parts: list[str] = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        parts.append(digits)
    return ".".join(parts)


@cache
def serving() -> dict[str, Serves]:
    """Engine -> how it is started."""
    return {name: Serves(**frozen(row)) for name, row in read_toml(DATA / "engine_serves.toml").items()}
