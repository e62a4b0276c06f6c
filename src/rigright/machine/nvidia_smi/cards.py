"""One card as nvidia-smi tells of it -> a `Device`; its words stand in `data/nvidia_smi.csv`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from rigright.machine.device import Device, Program, Slice, device_from, part_of
from rigright.machine.system import Python, Software
from rigright.machine.values import read_fields, read_value, seen

_Form = Literal["xml", "text", "query"]
TABLE = "nvidia_smi.csv"
_INTEGRATED = ("gb10", "thor", "orin", "xavier", "tegra", "jetson", "n1x")  # CPU and GPU share one memory
_LOST = "gpu is lost"
_RESET = "gpu requires reset"
_VITAL = MappingProxyType(  # what the driver tells of every card that lives
    {
        "xml": ("temperature/gpu_temp", "performance_state"),
        "text": ("Temperature/GPU Current Temp", "Performance State"),
        "query": ("temperature.gpu", "pstate"),
    }
)
_ERRORS = {"err!", "unknown error", "[unknown error]"}
_KINDS = {"c": "compute", "g": "graphics", "c+g": "graphics", "m+c": "compute"}
_KEYS = ("name", "kind", "mem")
_PROGRAM_WORDS = MappingProxyType(
    {
        "xml": ("pid", "process_name", "type", "used_memory"),
        "text": ("Process ID", "Name", "Type", "Used GPU Memory"),
    }
)
_VERSION = re.compile(r"\d{1,6}(?:\.\d{1,6}){1,3}(?![\w.])")


@dataclass(frozen=True, slots=True, kw_only=True)
class CardText:
    """What one form of output says of one card: its words -> their values, still as text."""

    form: _Form
    values: Mapping[str, str]
    slices: tuple[Slice, ...] = ()
    programs: tuple[Program, ...] | None = None


def device_of(card: CardText, index: int) -> Device:
    """The card as a record."""
    fields = read_fields(TABLE, card.form, values=card.values)
    text = " ".join(card.values.values()).lower()
    name = str(fields.get("name", "")).lower()
    return device_from(
        fields,
        vendor="nvidia",
        index=index,
        state="lost" if _LOST in text or _is_dead(card) else "ok",
        unified_memory=True if any(word in name for word in _INTEGRATED) else None,
        recovery=_recovery(fields, needs_reset=_RESET in text),
        slices=card.slices,
        programs=card.programs,
    )


def _is_dead(card: CardText) -> bool:
    """Whether even what every card tells comes back as an error."""
    return all(card.values.get(word, "").lower() in _ERRORS for word in _VITAL[card.form])


def _recovery(fields: Mapping[str, Any], *, needs_reset: bool) -> str | None:
    """What would bring it back: of new drivers a word, of older ones two flags."""
    if needs_reset:
        return "gpu reset"
    if "recovery" in fields:
        return str(fields["recovery"])
    if fields.get("reset.drain"):
        return "drain and reset"
    if fields.get("reset.required"):
        return "gpu reset"
    return "none" if fields.get("reset.required") is False else None


def slices_of(listed: Iterable[Mapping[str, str]], form: _Form) -> tuple[Slice, ...]:
    """The MIG instances of a card that say which they are."""
    rows = (part_of(read_fields(TABLE, form, values=values), "slice") for values in listed)
    return tuple(Slice(**row) for row in rows if "gpu_instance" in row)


def programs_of(listed: Iterable[Mapping[str, str]], form: _Form) -> tuple[Program, ...]:
    """The processes that hold memory of a card."""
    pid, *words = _PROGRAM_WORDS[form]
    programs = (
        program_of(row.get(pid), **{key: row.get(word) for key, word in zip(_KEYS, words, strict=True)})
        for row in listed
    )
    return tuple(program for program in programs if program is not None)


def program_of(pid: str | None, *, name: str | None, kind: str | None, mem: str | None) -> Program | None:
    """A process that holds memory of a card; None where its number is not stated."""
    number = read_value("count", pid)
    value: Any = read_value("bytes", mem)
    role = _KINDS.get((kind or "").lower(), "compute")
    return (
        Program(pid=number, name=seen(name), kind=role, mem_bytes=value) if isinstance(number, int) else None
    )


def software_of(*, driver: str | None, cuda: str | None = None, pythons: tuple[Python, ...] = ()) -> Software:
    """The driver's version and the CUDA it brings, without what some drivers write behind them."""
    return Software(driver=_version(driver), driver_cuda=_version(cuda), pythons=pythons)


def _version(text: str | None) -> str | None:
    match = _VERSION.match(text or "")
    return match.group() if match else None
