"""What the guides say wrong, names of software that are no more, and disks the guides name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rigright.base.errors import AskError
from rigright.base.tables import DATA, Row, read_rows, read_toml, scaled, text, whole
from rigright.base.units import GIGA, TERA
from rigright.base.words import say


@dataclass(frozen=True, slots=True, kw_only=True)
class Myth:
    """One claim, the right statement with `{names}` for figures, and the laws that compute these."""

    id: int
    guide: str
    claim: str
    right: str
    source: str
    figures: tuple[tuple[str, str], ...]


@cache
def myths() -> tuple[Myth, ...]:
    """Every myth, in order."""
    rows = read_toml(DATA / "myths.toml")["myth"]
    return tuple(Myth(**{**row, "figures": tuple(row.get("figures", {}).items())}) for row in rows)


@cache
def outdated() -> dict[str, Row]:
    """Names of software, interfaces and habits that are no more, and what stands in their place."""
    columns = ("id", "name", "since", "instead", "source", "as_of", "confidence")
    rows = read_rows(
        DATA / "outdated.csv", dict.fromkeys(columns, text), required=("id", "instead", "source")
    )
    return {row["id"]: row for row in rows}


@cache
def disks() -> dict[str, Row]:
    """Disks that the guides name."""
    readers = {
        "id": text,
        "name": text,
        "kind": text,
        "pcie_gen": whole,
        "size_tb": scaled(TERA),
        "read_gb_per_s": scaled(GIGA),
        "source": text,
    }
    rows = read_rows(DATA / "disks.csv", readers, required=("id", "name", "source"))
    renamed = {"size_tb": "size_bytes", "read_gb_per_s": "read_bytes_per_s"}
    return {row["id"]: {renamed.get(name, name): value for name, value in row.items()} for row in rows}


def find_myth(asked: str) -> Myth:
    """The myth of a number."""
    found = next((myth for myth in myths() if str(myth.id) == asked.strip()), None)
    if found is None:
        raise AskError(say("unknown myth {asked}; use 1 to {last}", asked=asked, last=len(myths())))
    return found
