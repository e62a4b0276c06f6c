"""One card as nvidia-smi tells of it -> a `Device`; its words stand in `data/nvidia_smi.csv`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rigright.machine.device import Device, Program, Slice
from rigright.machine.told.device import device_from
from rigright.machine.told.fields import read_fields

Form = Literal["xml", "text", "query"]
TABLE = "nvidia_smi.csv"
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


def device_of(told: Told, index: int) -> Device:
    """The card as a record."""
    found = read_fields(TABLE, told.form, values=told.values)
    said = " ".join(told.values.values()).lower()
    return device_from(
        found,
        vendor="nvidia",
        index=index,
        state="lost" if _LOST in said else "ok",
        unified_memory=_unified(found),
        recovery=_recovery(found, needs_reset=_RESET in said),
        slices=told.slices,
        programs=told.programs,
    )


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
