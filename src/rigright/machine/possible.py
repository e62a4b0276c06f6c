"""What a reading can be: the one place that says so. One that cannot be is unknown, and told of.

A field's limits are those of its own name, else of its unit, which its name ends in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from rigright.base.units import GIGA, KIB, MIB, TERA, TIB
from rigright.base.words import say
from rigright.machine.tick import Tick

if TYPE_CHECKING:  # a measurement looks at moments alone, and does not wait for the whole machine's records
    from rigright.machine.record import Machine, Unseen

PIB = TIB * KIB
COUNTERS = 2.0**64  # links and ports keep 64 bits
LIMITS: dict[str, tuple[float, float]] = {
    "devices.mem_total_bytes": (16 * MIB, 16 * TIB),  # one card
    "fans": (0, 2),  # a driver may tell more than the whole
    "worn_share": (0, 3),  # disks go on counting
    "lanes": (1, 64),
    "fan_share": (0, 2),
    "tree.cpu_share": (0, 100_000),  # 1.0 is one core
    "lanes_max": (1, 64),
    "gen": (1, 9),
    "gen_max": (1, 9),
    "gen_device_max": (1, 9),
    "_bytes": (0, KIB * PIB),
    "_bytes_per_s": (0, TERA * KIB),
    "_w": (0, 100_000),
    "_c": (-80, 250),
    "_hz": (0, 100 * GIGA),
    "_share": (0, 1.0001),
    "_j": (0, COUNTERS),
    "": (-COUNTERS, COUNTERS),
}
PARTS_OF_MEMORY = ("mem_used_bytes", "mem_free_bytes", "mem_reserved_bytes")
MOST_LISTED = 40


def possible(machine: Machine) -> Machine:
    """The machine without what no sensor can have read."""
    wrong: list[Unseen] = []
    sound = _sound(machine, "", wrong=wrong)
    if not wrong:
        return machine
    return replace(sound, unseen=(*machine.unseen, *wrong[:MOST_LISTED]))  # type: ignore[no-any-return]


def possible_tick(tick: Tick) -> Tick:
    """The moment without what no sensor can have read: the next moment comes at once."""
    return _sound(tick, "", wrong=[])  # type: ignore[no-any-return]


def _sound(record: Any, place: str, *, wrong: list[Unseen]) -> Any:
    """A record with unknowns in the place of what cannot be; the same one where nothing is wrong."""
    changed: dict[str, Any] = {}
    for name, low, high, missing in _limits(record.__class__, place.partition(".")[0]):
        value, here = getattr(record, name), f"{place}.{name}" if place else name
        if isinstance(value, float | int) and not isinstance(value, bool):
            if not low <= value <= high:
                changed[name] = missing
                wrong.append(_unseen(here, value))
        elif isinstance(value, tuple):
            values = tuple(_items(value, here, wrong=wrong, ends=(low, high)))
            if len(values) != len(value) or any(a is not b for a, b in zip(values, value, strict=True)):
                changed[name] = values
        elif is_dataclass(value):
            inside = _sound(value, here, wrong=wrong)
            if inside is not value:
                changed[name] = inside
    total: float | None = changed.get("mem_total_bytes", getattr(record, "mem_total_bytes", None))
    for name in PARTS_OF_MEMORY:
        part = changed.get(name, getattr(record, name, None))
        if part is not None and total is not None and part > total * 1.01:
            changed[name] = None
            wrong.append(_unseen(f"{place}.{name}", part))
    return replace(record, **changed) if changed else record


def _items(
    values: tuple[Any, ...], place: str, *, wrong: list[Unseen], ends: tuple[float, float]
) -> Iterator[Any]:
    """Records of a list, each made sound; numbers of one that cannot be are left out."""
    for index, value in enumerate(values):
        if is_dataclass(value):
            yield _sound(value, f"{place}.{index}", wrong=wrong)
        elif isinstance(value, float) and not ends[0] <= value <= ends[1]:
            wrong.append(_unseen(f"{place}.{index}", value))
        else:
            yield value


@cache
def _limits(kind: type, room: str) -> tuple[tuple[str, float, float, Any], ...]:
    """Of each field of a record: its name, least, most, and what stands where nothing is known."""
    rows = []
    for field in fields(kind):
        endings = (name for name in LIMITS if name.startswith("_") and field.name.endswith(name))
        keys = (f"{room}.{field.name}", field.name, max(endings, key=len, default=""))
        low, high = next(LIMITS[key] for key in keys if key in LIMITS)
        rows.append((field.name, low, high, field.default if field.default is None else 0))
    return tuple(rows)


def _unseen(place: str, value: float) -> Unseen:
    from rigright.machine.record import Unseen

    whole = isinstance(value, int) and abs(value) > COUNTERS
    shown = "> 2^64" if whole else f"{value:.6g}"
    return Unseen(what=place, why=say("implausible reading: {value}", value=shown))
