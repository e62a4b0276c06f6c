"""A tick as a flat row of whole numbers and words, and back: how the history keeps it.

Every figure is kept to a step that its unit names: memory to the MiB, power to a tenth of a watt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import lru_cache
from math import isfinite
from operator import attrgetter
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.units import KIB, MEGA, MIB
from rigright.machine.device import Program
from rigright.machine.possible import possible_tick
from rigright.machine.tick import DeviceTick, HostTick, Tick

Row = dict[str, int | str]
Column = tuple[str, str, float, Callable[[Any], object] | None]  # field, column, step, what else writes it
Written = tuple[tuple[Any, ...], list[str]]
AT, CLOCK, TICKS, ON_BUS = "at", "clock", "ticks", "on_bus"
PEAK = ">"  # behind a name: the most within the time that a thinned row stands for
MS = 1e-3
HOST = "host."
_STEPS = (
    ("_bytes_per_s", KIB),
    ("_bytes", MIB),
    ("_share", MS),
    ("_pressure", MS),
    ("_hz", MEGA),
    ("_w", 0.1),
    ("_c", 0.1),
    ("_j", 1.0),
    ("_s", 0.1),
)
NOT_KEPT = {"links", "fabric", "slices", "activity"}  # Prometheus keeps them; they would be most of a history
_DEVICE = re.compile(r"([a-z]+)(\d{1,4})\.([a-z_0-9]+)\Z")


def _kinds(record: type) -> dict[str, str]:
    kept = (field for field in fields(record) if field.name not in NOT_KEPT)
    return {field.name: str(field.type).removesuffix(" | None") for field in kept}


DEVICE_KINDS, HOST_KINDS = _kinds(DeviceTick), _kinds(HostTick)


def step_of(column: str) -> float:
    """What one unit of a kept whole number stands for."""
    name = column.rpartition(".")[2].removesuffix(PEAK)
    if (DEVICE_KINDS | HOST_KINDS).get(name) != "float":
        return MS if name in {AT, CLOCK} else 1
    return next((step for end, step in _STEPS if name.endswith(end)), MS)


_STEP_OF = {name: step_of(name) for name in (*DEVICE_KINDS, *HOST_KINDS)}
_OF_STALE = ("uuid", "name", "state", "vendor", "age_s")  # the rest of old readings is no news


def si(kept: int, step: float) -> float:
    """A kept whole number in its unit, without the dust of fractions."""
    return kept / round(1 / step) if step < 1 else float(kept * step)


class Rows:
    """Ticks as rows, in JSON; what is as it was at the tick before is not written anew.

    This runs for every card every second, so all that can be is looked up beforehand.
    """

    def __init__(self) -> None:
        self._before: dict[str, Written] = {}  # "gpu0." -> its values and their texts

    def text(self, tick: Tick) -> str:
        """The row of a tick; what was not observed is left out."""
        parts = [f'"{AT}":{at_ms(tick)},"{CLOCK}":{round(tick.clock_s / MS)}']
        if tick.on_bus is not None:
            parts.append(f'"{ON_BUS}":{tick.on_bus}')
        before, self._before = self._before, {}
        parts += self._texts(tick.host, HOST, before=before)
        for device in tick.devices:
            parts += self._texts(device, f"{device.card}.", before=before)
        return f"{{{','.join(parts)}}}"

    def _texts(
        self, record: DeviceTick | HostTick, front: str, *, before: Mapping[str, Written]
    ) -> list[str]:
        """What is there of a record."""
        take, columns = _plan(front)
        values = take(record)
        then = before.get(front)
        if then is None:
            texts = [_written(value, column) for value, column in zip(values, columns, strict=True)]
        else:
            texts = [
                text if value is was or value == was else _written(value, column)
                for value, was, text, column in zip(values, *then, columns, strict=True)
            ]
        self._before[front] = values, texts
        if isinstance(record, DeviceTick) and record.state == "stale":
            texts = [text for text, (name, *_) in zip(texts, columns, strict=True) if name in _OF_STALE]
        return list(filter(None, texts))


def at_ms(tick: Tick) -> int:
    """When it was, as rows tell it."""
    return round(tick.at_s / MS)


def tick_of(row: Mapping[str, int | str], *, peaks: bool = False) -> Tick:
    """The tick of a row; of a thinned one its means, or its peaks."""
    parts: dict[str, dict[str, Any]] = {}
    for column, kept in row.items():
        front, dot, name = column.rpartition(".")
        if dot and not name.endswith(PEAK):
            shown = row.get(column + PEAK, kept) if peaks else kept
            parts.setdefault(front + dot, {})[name] = shown
    pairs = [(_DEVICE.match(front + "x"), front) for front in parts if front != HOST]
    places = sorted((match[1] != "gpu", match[1], int(match[2]), front) for match, front in pairs if match)
    tick = Tick(
        at_s=si(int(row[AT]), MS),
        clock_s=si(int(row.get(CLOCK, 0)), MS),
        host=HostTick(**_taken(parts.get(HOST, {}), HOST_KINDS)),
        devices=tuple(
            DeviceTick(**{**_taken(parts[front], DEVICE_KINDS), "index": index})
            for _, _, index, front in places
        ),
        on_bus=int(row[ON_BUS]) if ON_BUS in row else None,
    )
    return possible_tick(tick)


def _written(value: Any, column: Column) -> str:
    """A value behind its name; nothing where there is none."""
    name, step, keep = column[1:]
    if value is None:
        return ""
    if keep is not None:
        return f'"{name}":{keep(value)}'
    return f'"{name}":{round(value / step)}' if isfinite(value) else ""


@lru_cache(4096)
def _plan(front: str) -> tuple[Callable[[Any], tuple[Any, ...]], tuple[Column, ...]]:
    """A reader of a record's fields, and how each of them is kept."""
    kinds = HOST_KINDS if front == HOST else DEVICE_KINDS
    columns = ((name, front + name, _STEP_OF[name], _KEPT.get(kind)) for name, kind in kinds.items())
    return attrgetter(*kinds), tuple(columns)


def _taken(kept: Mapping[str, Any], kinds: Mapping[str, str]) -> dict[str, Any]:
    """Fields of a record from their kept form; what does not fit its kind is left out."""
    fields = {}
    for name, value in kept.items():
        kind = kinds.get(name)
        if kind is not None and isinstance(value, str) == (kind not in _NUMBERS):
            fields[name] = _TAKEN[kind](value, _STEP_OF[name])
    return fields


def _programs(programs: tuple[Program, ...]) -> str:
    texts = [
        [
            program.pid,
            program.name,
            program.user,
            program.kind,
            None if program.mem_bytes is None else round(program.mem_bytes / MIB),
        ]
        for program in programs
    ]
    return json.dumps(json.dumps(texts, separators=(",", ":")))


def _programs_of(text: str, _step: float) -> tuple[Program, ...]:
    try:
        return tuple(
            Program(
                pid=pid,
                name=name,
                user=user,
                kind=kind,
                mem_bytes=None if size is None else float(size * MIB),
            )
            for pid, name, user, kind, size in bounded_json(text)
        )
    except (ValueError, TypeError):
        return ()


_NUMBERS = {"float", "int", "bool"}
_KEPT: dict[str, Callable[[Any], object]] = {  # how a kind is written, unless it is a float
    "int": int,
    "bool": int,
    "str": json.dumps,
    "tuple[str, ...]": lambda words: json.dumps(",".join(words)),
    "tuple[Program, ...]": _programs,
}
_TAKEN: dict[str, Callable[[Any, float], object]] = {
    "float": si,
    "int": lambda kept, _step: round(kept),
    "bool": lambda kept, _step: bool(kept),
    "str": lambda kept, _step: kept,
    "tuple[str, ...]": lambda kept, _step: tuple(filter(None, kept.split(","))),
    "tuple[Program, ...]": _programs_of,
}
