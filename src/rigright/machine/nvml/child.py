"""The child: loads NVIDIA's library and answers in lines of JSON, until its parent goes away.

It is started anew whenever the driver hangs or takes it down, so it keeps nothing and decides nothing.
"Aloud" it says where it is before each call, so that its parent knows which one never came back.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from queue import SimpleQueue
from threading import Thread
from typing import Any

from rigright.machine.nvml.hands import (
    NO_SUCH_CALL,
    NOT_SUPPORTED,
    TRY_ANOTHER,
    Reader,
    code_of,
    names_of,
    reader_of,
    slices,
)

SYSTEM = -1  # in place of a device
_LOST = 15
_CLOCK = "clock"  # when a device was read
_PEER_READ = 0
_XID = 8


Plan = dict[str, list[Reader]]  # reading -> the ways to read it, tried in turn


class _Child:
    """The library with its handles, and the plans that the parent sent."""

    def __init__(self, nvml: Any, plans: dict[str, list[list[str]]]) -> None:
        self.nvml = nvml
        self.handles: dict[int, Any] = {}
        self.events: Any = None
        self.xids: dict[int, int] = {}
        self.names: dict[int, str] = {}
        self.used: dict[int, Any] = {}  # device -> its memory when its programs were last read
        self.pids: dict[int, set[int]] = {}  # device -> those of its programs
        self.never: dict[int, set[str]] = {}  # device -> readings that it does not support
        self.plans = {name: self._plan(rows) for name, rows in plans.items()}
        self.plans["full"]["slices"] = self.plans["rare"]["slices"] = [self._slices]

    def _plan(self, rows: list[list[str]]) -> Plan:
        groups: Plan = {}
        for row in rows:
            groups.setdefault(row[0], []).append(reader_of(self.nvml, row))
        return groups

    def handle(self, device: int) -> Any:
        """The handle of a device."""
        if device not in self.handles:
            self.handles[device] = self.nvml.nvmlDeviceGetHandleByIndex(device)
        return self.handles[device]

    def read(self, device: int, *, asked: dict[str, Any]) -> dict[str, Any]:
        """All readings of one device; a failure is stated as {"!": code}."""
        aloud = asked.get("aloud", False)
        known: dict[str, Any] = {}
        skipped = {reading for place, reading in asked.get("skip", ()) if place == device}
        for plan in self._plans_of(device, asked, known=known):
            left_out = skipped | self.never.setdefault(device, set())
            if not self._follow(plan, device, known=known, left_out=left_out, asked=asked):
                self.handles.pop(device, None)
                break
        known[_CLOCK] = time.monotonic()
        if aloud:
            for reading in ("handle", _CLOCK, "done"):
                _tell({"of": [device, reading], "is": known.get(reading, True)})
        return known

    def _follow(
        self, plan: Plan, device: int, *, known: dict[str, Any], left_out: set[str], asked: dict[str, Any]
    ) -> bool:
        """Read what a plan says; whether the device is still there."""
        aloud, handle = asked.get("aloud", False), self.handles.get(device)
        for reading, ways in plan.items():
            if reading in left_out:
                continue
            if aloud:
                _tell({"at": [device, reading]})
            try:
                value = ways[0](handle, known)
            except Exception as error:  # noqa: BLE001 - also a binding that is older or newer than we know
                value = _otherwise(ways, handle, known=known, error=error)
            known[reading] = value
            if aloud:
                _tell({"of": [device, reading], "is": value})
            if type(value) is dict:
                if value["!"] in _NEVER and asked["do"] == "tick":
                    self.never[device].add(reading)
                if value["!"] == _LOST or reading == "handle":
                    known["handle"] = value
                    return False
        return True

    def _plans_of(self, device: int, asked: dict[str, Any], *, known: dict[str, Any]) -> Iterator[Plan]:
        """What to read of a device; with its rare readings, what it did not support is tried once more."""
        yield {"handle": [lambda _handle, _known: bool(self.handle(device))]}
        if asked["do"] == "full":
            self.never.clear()
            yield self.plans["full"]
            return
        is_due = device in asked.get("rare", ())
        if is_due:
            self.never[device].clear()
        yield self.plans["tick"]
        used = known.get("mem")
        if is_due or used is None or used != self.used.get(device):
            self.used[device] = used
            yield self.plans["moved"]
        if is_due:
            yield self.plans["rare"]
        if asked.get("activity"):
            yield self.plans["activity"]

    def _slices(self, handle: Any, known: dict[str, Any]) -> Any:
        mig = known.get("mig")
        return slices(self.nvml, handle) if isinstance(mig, list) and mig[0] else []

    def paths(self, devices: list[int]) -> list[list[Any]]:
        """[device, other, level of topology, whether peer copies are allowed] of each pair."""
        handles = {device: self.handle(device) for device in devices}
        return [
            [
                device,
                other,
                self._or_none("nvmlDeviceGetTopologyCommonAncestor", handles[device], handles[other]),
                self._or_none("nvmlDeviceGetP2PStatus", handles[device], handles[other], _PEER_READ),
            ]
            for device in devices
            for other in devices
            if device < other
        ]

    def _or_none(self, call: str, *given: Any) -> Any:
        try:
            return getattr(self.nvml, call)(*given)
        except self.nvml.NVMLError:
            return None

    def flow(self, devices: list[int]) -> dict[int, list[Any]]:
        """PCIe traffic, which the driver measures for 20 ms each way: all at once, in threads."""
        groups: dict[int, list[Any]] = {device: [None, None] for device in devices}

        def ask(device: int, way: int) -> None:
            groups[device][way] = self._or_none("nvmlDeviceGetPcieThroughput", handles[device], 1 - way)

        handles = {device: self.handle(device) for device in devices}
        threads = [Thread(target=ask, args=(device, way)) for device in groups for way in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return groups

    def listen(self, devices: list[int]) -> dict[int, int]:
        """The last XID of each device since we listen."""
        if self.events is None:
            self.events = self.nvml.nvmlEventSetCreate()
            for device in devices:
                self._or_none("nvmlDeviceRegisterEvents", self.handles.get(device), _XID, self.events)
        while (event := self._or_none("nvmlEventSetWait_v2", self.events, 0)) is not None:
            addresses = {_address(handle): device for device, handle in self.handles.items()}
            self.xids[addresses.get(_address(event.device), SYSTEM)] = event.eventData
        return self.xids

    def named(self, match: dict[int, dict[str, Any]]) -> list[list[Any]]:
        """The names of all programs that hold memory; each is asked for once while it is there."""
        for device, readings in match.items():
            lists = [value for reading, value in readings.items() if reading.startswith("programs.")]
            if lists:
                self.pids[device] = {item[0] for value in lists if isinstance(value, list) for item in value}
        pids = set().union(*self.pids.values())
        if pids != self.names.keys():
            self.names = {pid: name for pid, name in self.names.items() if pid in pids}
            self.names.update((pid, name) for pid, name in names_of(self.nvml, pids - self.names.keys()))
        return [[pid, name] for pid, name in self.names.items()]


_NEVER = {NOT_SUPPORTED, NO_SUCH_CALL}


def _otherwise(ways: list[Reader], handle: Any, *, known: dict[str, Any], error: Exception) -> Any:
    """The next way that answers; one that this driver does not have is not tried again."""
    code, waiting = NO_SUCH_CALL, list(ways)
    while waiting:
        way, why = waiting.pop(0), code_of(error)
        code = why if code == NO_SUCH_CALL else code
        if why == NO_SUCH_CALL:
            ways.remove(way)
        elif why not in TRY_ANOTHER:
            return {"!": why}
        if waiting:
            try:
                return waiting[0](handle, known)
            except Exception as fault:  # noqa: BLE001
                error = fault
    return {"!": code}


def _address(handle: Any) -> int | None:
    from ctypes import c_void_p, cast

    return cast(handle, c_void_p).value


_written = json.JSONEncoder(separators=(",", ":")).encode


def _tell(line: dict[str, Any]) -> None:
    """One line to the parent, at once."""
    os.write(sys.__stdout__.fileno(), _written(line).encode() + b"\n")  # type: ignore[union-attr]


def answer(child: _Child, asked: dict[str, Any]) -> None:
    """One request: device after device, then what concerns all of them."""
    aloud = asked.get("aloud", False)
    fields = {device: child.read(device, asked=asked) for device in asked["devices"]}
    rest: dict[str, Any] = {}
    for name, ask in (
        ("names", lambda: child.named(fields)),
        ("pids", lambda: names_of(child.nvml, asked["pids"])),
        ("paths", lambda: child.paths(asked["paths"])),
        ("flow", lambda: list(child.flow(asked["flow"]).items())),
        ("xids", lambda: list(child.listen(asked["devices"]).items())),
    ):
        if not asked.get(name):
            continue
        if aloud:
            _tell({"at": [SYSTEM, name]})
        try:
            rest[name] = ask()
        except Exception:  # noqa: BLE001 - old drivers know nothing of it
            rest[name] = []
    _tell({"end": asked["do"], **rest, **({} if aloud else {"all": list(fields.items())})})


def _open_library(nvml: Any) -> dict[str, Any]:
    """Start the library; what it says of itself, or the code of its failure."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return {"failed": error.value, "says": str(error)}
    fields: dict[str, Any] = {}
    for name, call in (
        ("driver", "nvmlSystemGetDriverVersion"),
        ("cuda", "nvmlSystemGetCudaDriverVersion"),
        ("count", "nvmlDeviceGetCount"),
    ):
        try:
            value = getattr(nvml, call)()
        except nvml.NVMLError as error:
            fields[name] = None
            fields["failed_count"] = error.value if name == "count" else fields.get("failed_count")
        else:
            fields[name] = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return {"system": fields}


def _lines(queue: SimpleQueue[bytes]) -> None:
    """Requests as they come; without a parent there is nothing left to do, even in the midst of a call."""
    for line in sys.stdin.buffer:
        queue.put(line)
    os._exit(0)


def main() -> None:
    """Serve one parent."""
    queue: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_lines, args=(queue,), daemon=True).start()
    plans = json.loads(queue.get())
    _tell({"at": [SYSTEM, "start"]})
    try:
        import pynvml
    except ImportError:
        _tell({"missing": True})
        return
    opened = _open_library(pynvml)
    _tell(opened)
    if "system" not in opened:
        return
    child = _Child(pynvml, plans)
    while True:
        answer(child, json.loads(queue.get()))


if __name__ == "__main__":
    main()
