"""One card as nvidia-smi tells of it -> a `Device`; its words stand in `data/nvidia_smi.csv`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from rigright.base.tables import DATA, read_rows, text
from rigright.machine.device import (
    Clocks,
    Device,
    Ecc,
    Fabric,
    PcieLink,
    Power,
    Program,
    Retired,
    Slice,
    Thermal,
)
from rigright.machine.nvidia_smi.values import read_value

Form = Literal["xml", "text", "query"]
_INTEGRATED = ("gb10", "thor", "orin", "xavier", "tegra", "jetson", "n1x")  # CPU and GPU share one memory
_LOST = "gpu is lost"
_RESET = "gpu requires reset"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one form of output says of one card: its words -> their values, still as text."""

    form: Form
    values: Mapping[str, str]
    slices: tuple[Slice, ...] = ()
    programs: tuple[Program, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    kind: str
    words: Mapping[str, tuple[tuple[str, ...], ...]]


@cache
def _rows() -> tuple[_Row, ...]:
    """The table: of each field and form the words to try in turn, each a sum of one or more."""
    columns = ("xml", "text", "query")
    readers = dict.fromkeys(("field", "kind", *columns), text)
    found = read_rows(DATA / "nvidia_smi.csv", readers, required=("field", "kind"))
    return tuple(
        _Row(
            row["field"],
            row["kind"],
            {
                form: tuple(tuple(one.split("+")) for one in (row[form] or "").split(";") if one)
                for form in columns
            },
        )
        for row in found
    )


def words(form: Form) -> frozenset[str]:
    """Every word of one form that says something we keep."""
    return frozenset(word for row in _rows() for sums in row.words[form] for word in sums)


def read_fields(told: Told) -> dict[str, Any]:
    """Every field of the table that this card says something of."""
    found = {}
    for row in _rows():
        value = _first(row, told)
        if value is not None:
            found[row.name] = value
    return found


def _first(row: _Row, told: Told) -> Any:
    for sums in row.words[told.form]:
        values = [read_value(row.kind, told.values.get(word)) for word in sums]
        known: list[Any] = [value for value in values if value is not None]
        if known:
            return known[0] if len(sums) == 1 else sum(known)
    return None


def device_of(told: Told, index: int) -> Device:
    """The card as a record."""
    found = read_fields(told)
    said = " ".join(told.values.values()).lower()
    part = {
        name: _part(found, name)
        for name in ("pcie", "clocks", "power", "thermal", "ecc", "retired", "fabric")
    }
    fan = found.get("fans.0")
    banks = tuple((name, found[f"banks.{name}"]) for name in _BANKS if f"banks.{name}" in found)
    retired = {**part["retired"], **({"banks": banks} if banks else {})}
    return Device(
        index=index,
        vendor="nvidia",
        state="lost" if _LOST in said else "ok",
        **{name: found[name] for name in _PLAIN if name in found},
        unified_memory=_unified(found),
        pcie=PcieLink(**part["pcie"]),
        clocks=Clocks(**part["clocks"]),
        power=Power(**part["power"]),
        thermal=Thermal(**part["thermal"], fans=() if fan is None else (fan,)),
        ecc=Ecc(**part["ecc"]) if part["ecc"].keys() - {"sram_over_threshold"} else None,
        retired=Retired(**retired) if retired else None,
        fabric=Fabric(**part["fabric"]) if part["fabric"] else None,
        slowed_by=_slowed_by(found),
        slowed_s=tuple(_part(found, "slowed").items()) or None,
        recovery=_recovery(found, needs_reset=_RESET in said),
        slices=told.slices,
        programs=told.programs,
    )


_INNER = ("pcie", "clocks", "power", "thermal", "ecc", "retired", "fabric")
_BANKS = ("max", "high", "partial", "low", "none")
_PLAIN = (
    *("name", "uuid", "serial", "pci", "pci_id", "board_id", "isa", "brand", "vbios"),
    *("mem_total_bytes", "mem_used_bytes", "mem_free_bytes", "mem_reserved_bytes", "bar1_total_bytes"),
    *("busy_share", "mem_busy_share", "pstate", "persistence", "compute_mode", "display"),
    *("mig", "mig_after_reset"),
)


def _part(found: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The fields of one inner record."""
    return {key.partition(".")[2]: value for key, value in found.items() if key.startswith(f"{name}.")}


def _slowed_by(found: Mapping[str, Any]) -> tuple[str, ...] | None:
    """What slows it down; None where nothing of it was told."""
    told = _part(found, "slow")
    return tuple(sorted(name for name, on in told.items() if on)) if told else None


def _recovery(found: Mapping[str, Any], *, needs_reset: bool) -> str | None:
    """What would bring it back: of new drivers a word, of older ones two flags."""
    if needs_reset:
        return "gpu reset"
    if "recovery" in found:
        return str(found["recovery"])
    if found.get("reset.drain"):
        return "drain and reset"
    if found.get("reset.required"):
        return "gpu reset"
    return "none" if found.get("reset.required") is False else None


def _unified(found: Mapping[str, Any]) -> bool | None:
    name = str(found.get("name", "")).lower()
    return True if any(word in name for word in _INTEGRATED) else None
