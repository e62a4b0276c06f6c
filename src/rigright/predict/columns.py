"""Records of arrays: some places of every array, and single records put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from rigright.base.record import replace

CHUNK = 16384  # layouts whose arrays stay in cache; with fewer, two threads wait for each other
THREADS = 2
FEW = 4  # chunks that no second thread is worth starting for


def at(record: Any, index: Any) -> Any:
    """Every array of a record, and of the records in it, at some places; what is no array stays."""
    if isinstance(record, np.ndarray):
        return record[index] if record.ndim else record
    changes = {}
    for name in getattr(record.__class__, "__dataclass_fields__", ()):
        value = getattr(record, name)
        if not isinstance(value, float | str) and (result := at(value, index)) is not value:
            changes[name] = result
    return replace(record, **changes) if changes else record


def stacked(records: Sequence[Any]) -> Any:
    """Records of numbers as one record of arrays; what is no number is the first one's."""
    first = records[0]
    names = [field.name for field in fields(first) if isinstance(getattr(first, field.name), int | float)]
    return replace(
        first, **{name: np.array([float(getattr(record, name)) for record in records]) for name in names}
    )


def columns_of(records: Sequence[Any], names: Sequence[str]) -> Any:
    """The first record with these numbers of all as arrays; what the first one leaves out, all do."""
    columns = {}
    for name in names:
        values = [getattr(record, name) for record in records]
        columns[name] = None if values[0] is None else np.array(values, dtype=float)
    return replace(records[0], **columns)


def unlike(things: Sequence[Any]) -> tuple[tuple[Any, ...], np.ndarray]:
    """The unlike ones of them, and the place of each among those."""
    order = {thing: place for place, thing in enumerate(dict.fromkeys(things))}
    return tuple(order), np.array([order[thing] for thing in things])


def joined(records: Sequence[Any]) -> Any:
    """Records of arrays one after another as one."""
    first = records[0]
    names = [field.name for field in fields(first)]
    return replace(
        first, **{name: np.concatenate([getattr(record, name) for record in records]) for name in names}
    )


def grouped(*columns: Any) -> Any:
    """A number for each set of equal entries, in their order; many times as fast as to find unlike rows."""
    order = np.lexsort(columns[::-1])
    unlike = np.zeros(len(order), dtype=bool)
    for column in columns:
        own = column[order]
        unlike[1:] |= own[1:] != own[:-1]
    groups = np.empty(len(order), dtype=np.int64)
    groups[order] = np.cumsum(unlike)
    return groups


def blended(record: Any, shares: Any) -> Any:
    """What unlike parts reach that work one after another: rates weigh by their inverse, the rest plainly."""
    if is_dataclass(record) and not isinstance(record, type):
        return replace(
            record,
            **{
                field.name: _blended(field.name, getattr(record, field.name), shares=shares)
                for field in fields(record)
            },
        )
    return record


def _blended(name: str, value: Any, *, shares: Any) -> Any:
    if not isinstance(value, np.ndarray) or np.shape(value) != np.shape(shares):
        return blended(value, shares)
    busy = shares > 0  # endless is no part of nothing
    value, shares = value[busy], shares[busy]
    return np.array([1 / ((1 / value) @ shares) if name.endswith("_per_s") else value @ shares])


def each_chunk(size: int, task: Callable[[slice], None]) -> None:
    """Do a task for every chunk; each writes to places of its own, so their order does not matter."""
    chunks = [slice(start, start + CHUNK) for start in range(0, size, CHUNK)]
    if len(chunks) < FEW:
        for chunk in chunks:
            task(chunk)
        return
    from threading import Thread

    failed: list[BaseException] = []

    def work(mine: list[slice]) -> None:
        try:
            for chunk in mine:
                task(chunk)
        except BaseException as error:  # noqa: BLE001 - raised again where it can be heard
            failed.append(error)

    threads = [Thread(target=work, args=(chunks[number::THREADS],)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
