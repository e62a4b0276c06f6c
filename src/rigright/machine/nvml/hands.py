"""What the child does for us: one row of the table of readings at a time, through NVIDIA's own binding.

Imported by the child alone: it loads nothing but ctypes and the binding. It runs for every card every second,
so what can be looked up beforehand is.
"""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable, Iterable, Sequence
from ctypes import c_void_p, cast
from math import isfinite
from operator import attrgetter
from typing import Any

_ACTIVITY = "nvmlGpmMetricsGet"
APART_S = 0.1  # of two samples: the driver renews its counters no faster
_Key = tuple[int | None, int | None]  # a device, and the number of a MIG instance


class _ActivityReader:
    """Keeps the last sample of each device and instance; the first reading of one tells nothing yet."""

    def __init__(self, nvml: Any, numbers: list[int]) -> None:
        self._nvml, self._count = nvml, len(numbers)
        self._asked = nvml.c_nvmlGpmMetricsGet_t(
            version=nvml.NVML_GPM_METRICS_GET_VERSION, numMetrics=self._count
        )
        for place, number in enumerate(numbers):
            self._asked.metrics[place].metricId = number
        self._samples: dict[_Key, tuple[float, Any]] = {}  # when it was taken, and the sample
        self._instances: dict[int | None, set[int]] = {}

    def __call__(self, handle: Any, known: dict[str, Any]) -> list[list[Any]]:
        """[instance or None, value, ...] of the device and of each instance; None for what is not counted."""
        nvml, device = self._nvml, cast(handle, c_void_p).value
        if not nvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice:
            raise nvml.NVMLError(nvml.NVML_ERROR_NOT_SUPPORTED)
        if isinstance(known.get("slices"), list):
            self._instances[device] = {part["gi"] for part in known["slices"] if part["gi"] is not None}
        there = {(device, None), *((device, number) for number in self._instances.get(device, ()))}
        for gone in [key for key in self._samples if key[0] == device and key not in there]:
            nvml.nvmlGpmSampleFree(self._samples.pop(gone)[1])
        pairs = ((key[1], self._since(key, handle)) for key in sorted(there, key=str))
        return [[instance, *values] for instance, values in pairs if values is not None]

    def _since(self, key: _Key, handle: Any) -> list[float | None] | None:
        """What was done since the sample before; None where there was none, or none can be taken."""
        nvml, asked, now_s = self._nvml, self._asked, time.monotonic()
        taken_s, before = self._samples.get(key, (0.0, None))
        if before is not None and now_s - taken_s < APART_S:
            return None
        sample = nvml.nvmlGpmSampleAlloc()
        try:
            if key[1] is None:
                nvml.nvmlGpmSampleGet(handle, sample)
            else:
                nvml.nvmlGpmMigSampleGet(handle, key[1], sample)
        except nvml.NVMLError:  # an instance is gone, or a cut device tells of its instances alone
            nvml.nvmlGpmSampleFree(sample)
            return None
        self._samples[key] = now_s, sample
        if before is None:
            return None
        asked.sample1, asked.sample2 = before, sample
        try:
            nvml.nvmlGpmMetricsGet(asked)
        except nvml.NVMLError:
            return None
        finally:
            nvml.nvmlGpmSampleFree(before)
        return [
            metric.value if metric.nvmlReturn == 0 and isfinite(metric.value) else None
            for metric in asked.metrics[: self._count]
        ]


NOT_SUPPORTED, _BAD_ARGUMENT, _TOO_SMALL, NO_SUCH_CALL = 3, 2, 7, 13
TRY_ANOTHER = {_BAD_ARGUMENT, NOT_SUPPORTED, _TOO_SMALL, NO_SUCH_CALL, 25, 26}
_FIELDS = "nvmlDeviceGetFieldValues"
_MOST_LINKS = 64  # of one device, whatever the driver says

_Row = Sequence[str]  # reading, call, given, takes, each
Reader = Callable[[Any, dict[str, Any]], Any]  # of a device's handle, and what was read of it before


class Failure(Exception):  # noqa: N818 - what a driver answered instead, not an error of ours
    """A code of the driver."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def code_of(error: Exception) -> int:
    """The driver's code behind what was raised; a binding older or newer than we know has no such call."""
    code = error.code if isinstance(error, Failure) else getattr(error, "value", None)
    return code if isinstance(code, int) else NO_SUCH_CALL


def reader_of(nvml: Any, row: _Row) -> Reader:
    """A row of the table as a function of a device's handle and what was read of it before."""
    _, call, given, takes, each = row
    if call == _FIELDS:
        return _numbers(nvml, given.split(), each=each)
    function = getattr(nvml, call, None)
    constants = [_constant(nvml, name) for name in given.split() if not name.startswith("&")]
    shape = next((getattr(nvml, name[1:], None) for name in given.split() if name.startswith("&")), None)
    if function is None or None in constants or ("&" in given and shape is None):
        return _absent
    if call == _ACTIVITY:
        return _ActivityReader(nvml, [constant for constant in constants if constant is not None])
    ask = function if shape is None else _filling(function, shape)
    take = _taker(takes)

    if each:
        return lambda handle, known: _each(
            lambda index: take(ask(handle, index, *constants)),
            most=_times(each, known),
            open_ended=each.isdecimal(),
        )

    def read(handle: Any, _known: dict[str, Any]) -> Any:
        answer = ask(handle, *constants)
        return answer if type(answer) is int else take(answer)

    return read


def _filling(function: Callable[..., Any], shape: Callable[[], Any]) -> Callable[..., Any]:
    """A call that writes into a record, as one that brings it."""

    def ask(handle: Any) -> Any:
        answer = shape()
        function(handle, ctypes.byref(answer))
        return answer

    return ask


def _absent(*_: Any) -> Any:
    raise Failure(NO_SUCH_CALL)


def _constant(nvml: Any, name: str) -> int | None:
    """A number, or a constant by its name; the binding spells some of them as a tuple of one."""
    if name.isdecimal():
        return int(name)
    value = getattr(nvml, name, None)
    return value[0] if isinstance(value, tuple) else value


def _times(each: str, known: dict[str, Any]) -> int:
    """How often: a number, or once for each link that the device has, to others or to the processor."""
    if each.isdecimal():
        return int(each)
    value = known.get("links.state" if each == "links" else f"{each}.count")
    if not isinstance(value, list) or None in value[:1]:
        raise Failure(NOT_SUPPORTED)
    return len(value) if each == "links" else min(value[0], _MOST_LINKS)


def _each(once: Callable[[int], Any], *, most: int, open_ended: bool) -> list[Any]:
    """The same of link or fan 0, 1, 2...; open-ended, it is done where the driver knows no such one."""
    values: list[Any] = []
    for index in range(most):
        try:
            values.append(once(index))
        except Exception as error:
            if code_of(error) not in TRY_ANOTHER or (open_ended and index == 0):
                raise
            if open_ended:
                break
            values.append(None)
    return values


def _numbers(nvml: Any, names: list[str], *, each: str) -> Reader:
    """Readings that the driver knows by number: all of them in one call."""
    numbers = [_constant(nvml, name) for name in names]
    functions = [number for number in numbers if number is not None]
    pointer = getattr(nvml, "_nvmlGetFunctionPointer", None)
    if pointer is None or not functions:
        return _absent
    if each and len(numbers) > 1:
        return _of_links(pointer, numbers, each=each)
    if each:
        return lambda handle, known: _Numbered(
            [(function, link) for function in functions for link in range(_times(each, known))]
        ).read(pointer(_FIELDS), handle)
    kept = _Numbered([(function, 0) for function in functions])

    def read(handle: Any, _known: dict[str, Any]) -> list[Any]:
        result = kept.read(pointer(_FIELDS), handle)
        if len(result) == len(numbers):
            return result
        values = iter(result)
        return [None if number is None else next(values) for number in numbers]

    return read


def _of_links(pointer: Callable[[str], Any], numbers: Sequence[int | None], *, each: str) -> Reader:
    """Several such readings of each link; a device that has none of them is not asked again."""

    def read(handle: Any, known: dict[str, Any]) -> list[list[Any]]:
        links = range(_times(each, known))
        asked = [(number, link) for link in links for number in numbers if number is not None]
        result = iter(_Numbered(asked).read(pointer(_FIELDS), handle))
        given = [[None if number is None else next(result) for number in numbers] for _ in links]
        if not any(value is not None for values in given for value in values):
            raise Failure(NOT_SUPPORTED)
        return given

    return read


_ONE = struct.Struct("=IIqqII8s")  # number, which link, when, how long it took, kind, code, value
_KINDS = tuple(struct.Struct(kind).unpack_from for kind in ("=d", "=I", "@L", "=Q", "=q", "=i", "=H"))


class _Numbered:
    """Room for the answers to such a call, as the library lays it out; the binding's own is slow."""

    def __init__(self, asked: Sequence[tuple[int, int]]) -> None:
        self._room = bytearray(_ONE.size * len(asked))
        for place, (number, link) in enumerate(asked):
            struct.pack_into("=II", self._room, place * _ONE.size, number, link)
        self._count = ctypes.c_int(len(asked))
        self._place = ctypes.byref((ctypes.c_ubyte * len(self._room)).from_buffer(self._room))

    def read(self, function: Callable[..., int], handle: Any) -> list[float | int | None]:
        """The answers; None for each that the device does not have."""
        code = function(handle, self._count, self._place)
        if code:
            raise Failure(code)
        return [
            None if code or kind >= len(_KINDS) else _KINDS[kind](value)[0]
            for _, _, _, _, kind, code, value in _ONE.iter_unpack(self._room)
        ]


def _taker(takes: str) -> Callable[[Any], Any]:
    """What is wanted of an answer, as plain data."""
    if takes == "#":
        return len
    if not takes:
        return _plain
    names = takes.split()
    read = attrgetter(*names)

    def take(answer: Any) -> Any:
        if isinstance(answer, list):
            return [take(value) for value in answer]
        try:
            values = read(answer)
        except AttributeError:  # a binding without one of them
            values = tuple(getattr(answer, name, None) for name in names)
        return [_plain(value) for value in (values if len(names) > 1 else (values,))]

    return take


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, int | str | float):
        return value
    if isinstance(value, list | tuple | ctypes.Array):
        return [_plain(item) for item in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else getattr(value, "value", None)


def slices(nvml: Any, handle: Any) -> list[dict[str, Any]]:
    """The MIG instances of a device."""
    rows = []
    for place in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            part = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, place)
        except nvml.NVMLError:
            continue
        rows.append({name: _asked(nvml, part, name=name) for name in _OF_SLICE})
    return rows


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
        return _taker(takes)(getattr(nvml, call)(part))
    except nvml.NVMLError:
        return None


def names_of(nvml: Any, pids: Iterable[int]) -> list[list[Any]]:
    """The names of programs, as far as the driver tells them."""
    values: list[list[Any]] = []
    for pid in pids:
        try:
            values.append([pid, _plain(nvml.nvmlSystemGetProcessName(pid))])
        except nvml.NVMLError:
            continue
    return values
