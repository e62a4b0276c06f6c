"""What the child does for us: one row of the table of readings at a time, through NVIDIA's own binding.

Imported by the child alone: it loads nothing but ctypes and the binding.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from typing import Any

NOT_SUPPORTED, BAD_ARGUMENT, TOO_SMALL, NO_SUCH_CALL = 3, 2, 7, 13
TRY_ANOTHER = {BAD_ARGUMENT, NOT_SUPPORTED, TOO_SMALL, NO_SUCH_CALL, 25, 26}
FIELDS = "nvmlDeviceGetFieldValues"

Row = Sequence[str]  # reading, call, given, takes, each
Reader = Callable[[Any, dict[str, Any]], Any]


class Failure(Exception):  # noqa: N818 - what a driver answered instead, not an error of ours
    """A code of the driver."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def reader_of(nvml: Any, row: Row) -> Reader:
    """A row of the table as a function of a device's handle and what was read of it before."""
    _, call, given, takes, each = row
    if call == FIELDS:
        return _numbers(nvml, given.split(), per_link=bool(each))
    function = getattr(nvml, call, None)
    constants = [_constant(nvml, name) for name in given.split() if not name.startswith("&")]
    shape = next((getattr(nvml, name[1:], None) for name in given.split() if name.startswith("&")), None)
    if function is None or None in constants or ("&" in given and shape is None):
        return _absent

    def once(handle: Any, *more: int) -> Any:
        try:
            if shape is not None:
                answer = shape()
                function(handle, ctypes.byref(answer))
            else:
                answer = function(handle, *more, *constants)
        except nvml.NVMLError as error:
            raise Failure(error.value) from None
        except nvml.NVMLLibraryMismatchError:
            raise Failure(NO_SUCH_CALL) from None
        return _taken(answer, takes)

    if not each:
        return lambda handle, _: once(handle)
    return lambda handle, known: _each(once, handle, most=_times(each, known), open_ended=each.isdecimal())


def _absent(*_: Any) -> Any:
    raise Failure(NO_SUCH_CALL)


def _constant(nvml: Any, name: str) -> int | None:
    """A number, or a constant by its name; the binding spells some of them as a tuple of one."""
    if name.isdecimal():
        return int(name)
    value = getattr(nvml, name, None)
    return value[0] if isinstance(value, tuple) else value


def _times(each: str, known: dict[str, Any]) -> int:
    """How often: a number, or once for each link that the device has."""
    if each.isdecimal():
        return int(each)
    states = known.get("links.state")
    if not isinstance(states, list):
        raise Failure(NOT_SUPPORTED)
    return len(states)


def _each(once: Callable[..., Any], handle: Any, *, most: int, open_ended: bool) -> list[Any]:
    """The same of link or fan 0, 1, 2...; open-ended, it is done where the driver knows no such one."""
    found: list[Any] = []
    for index in range(most):
        try:
            found.append(once(handle, index))
        except Failure as failure:
            if failure.code not in TRY_ANOTHER or (open_ended and index == 0):
                raise
            if open_ended:
                break
            found.append(None)
    return found


def _numbers(nvml: Any, names: list[str], *, per_link: bool) -> Reader:
    """Readings that the driver knows by number: all of them in one call."""
    numbers = [_constant(nvml, name) for name in names]

    def read(handle: Any, known: dict[str, Any]) -> list[Any]:
        asked = [(one, 0) for one in numbers if one is not None]
        if per_link:
            asked = [(one, link) for one, _ in asked for link in range(_times("links", known))]
        if not asked:
            raise Failure(NO_SUCH_CALL)
        try:
            found = nvml.nvmlDeviceGetFieldValues(handle, asked)
        except nvml.NVMLError as error:
            raise Failure(error.value) from None
        values = map(_number, found)
        return list(values) if per_link else [None if one is None else next(values) for one in numbers]

    return read


_KINDS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")


def _number(field: Any) -> float | int | None:
    """One of them; read past the binding's own conversion, which takes most of the time."""
    bare = object.__getattribute__
    kind = bare(field, "valueType")
    if bare(field, "nvmlReturn") != 0 or kind >= len(_KINDS):
        return None
    return getattr(bare(field, "value"), _KINDS[kind])  # type: ignore[no-any-return]


def _taken(answer: Any, takes: str) -> Any:
    """What is wanted of an answer, as plain data."""
    if takes == "#":
        return len(answer)
    if isinstance(answer, list) and takes:
        return [_taken(one, takes) for one in answer]
    if takes:
        return [_plain(getattr(answer, name, None)) for name in takes.split()]
    return (
        [_plain(one) for one in answer] if isinstance(answer, list | tuple | ctypes.Array) else _plain(answer)
    )


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, int | str | float):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else getattr(value, "value", None)


def slices(nvml: Any, handle: Any) -> list[dict[str, Any]]:
    """The MIG instances of a device."""
    found = []
    try:
        most = nvml.nvmlDeviceGetMaxMigDeviceCount(handle)
    except nvml.NVMLError as error:
        raise Failure(error.value) from None
    for place in range(most):
        try:
            part = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, place)
        except nvml.NVMLError:
            continue
        found.append({name: _asked(nvml, part, name=name) for name in _OF_SLICE})
    return found


_OF_SLICE = {
    "gi": ("nvmlDeviceGetGpuInstanceId", ""),
    "ci": ("nvmlDeviceGetComputeInstanceId", ""),
    "uuid": ("nvmlDeviceGetUUID", ""),
    "name": ("nvmlDeviceGetName", ""),
    "mem": ("nvmlDeviceGetMemoryInfo", "total used"),
    "programs": ("nvmlDeviceGetComputeRunningProcesses", "pid usedGpuMemory"),
}


def _asked(nvml: Any, part: Any, *, name: str) -> Any:
    call, takes = _OF_SLICE[name]
    try:
        return _taken(getattr(nvml, call)(part), takes)
    except nvml.NVMLError:
        return None


def names_of(nvml: Any, pids: Iterable[int]) -> list[list[Any]]:
    """The names of programs, as far as the driver tells them."""
    found: list[list[Any]] = []
    for pid in pids:
        try:
            found.append([pid, _plain(nvml.nvmlSystemGetProcessName(pid))])
        except nvml.NVMLError:
            continue
    return found
