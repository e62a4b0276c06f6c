"""How the makers beside NVIDIA have their driver installed: AMD's kernel module, Intel's compute runtime."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rigright.base.tables import DATA, read_rows, text
from rigright.facts.drivers import words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MakerPackages:
    """What one version of a distribution installs for one maker's cards."""

    vendor: str  # "amd", "intel"
    os: str  # id of /etc/os-release
    versions: tuple[str, ...]
    release: str | None  # of the maker's software: "7.2.4"
    fetch: str | None  # a package that adds the maker's repository
    ppa: str | None  # or one of Ubuntu's personal archives
    headers: tuple[str, ...]
    packages: tuple[str, ...]
    groups: tuple[str, ...]  # whose members may use the cards
    source: str
    as_of: str
    confidence: str
    notes: str | None


@cache
def maker_packages() -> tuple[MakerPackages, ...]:
    """Every way of the table."""
    lists = ("versions", "headers", "packages", "groups")
    words = ("vendor", "os", "release", "fetch", "ppa", "source", "as_of", "confidence", "notes")
    readers = dict.fromkeys(words, text) | dict.fromkeys(lists, words_of)
    required = ("vendor", "os", "versions", "packages", "groups", "source", "as_of", "confidence")
    rows = read_rows(DATA / "maker_packages.csv", readers, required=required)
    return tuple(MakerPackages(**row | {"headers": row["headers"] or ()}) for row in rows)


def maker_way(vendor: str, *, os_id: str | None, os_version: str | None) -> MakerPackages | None:
    """The way that fits a system."""
    return next(
        (
            one
            for one in maker_packages()
            if one.vendor == vendor and one.os == os_id and os_version in one.versions
        ),
        None,
    )
