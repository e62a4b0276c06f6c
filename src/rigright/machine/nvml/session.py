"""A session with NVIDIA's driver that never hangs and never dies: the driver is only touched by a child."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from rigright.base.words import Sentence
from rigright.machine.nvml import codes
from rigright.machine.nvml.process import START_S, SYSTEM, Asking
from rigright.machine.nvml.readings import Raw, is_gone
from rigright.machine.nvml.ticks import TickKeeper
from rigright.machine.tick import DeviceTick
from rigright.machine.world import ROOT, World

if TYPE_CHECKING:
    from typing import Self  # not in Python 3.10

    from rigright.machine.record import Read


_UID = "Uid:"


def _owner_of(world: World, pid: int) -> str | None:
    """The user of a program; None where it is gone, or hidden from us."""
    status = world.text(f"/proc/{pid}/status", 4096)
    if status is None:
        return None if world.has("/proc/self") else _by_psutil(pid)
    line = next((line for line in status.splitlines() if line.startswith(_UID)), "")
    uid = next(iter(line.removeprefix(_UID).split()), None)
    return None if uid is None else _read_users(world.text("/etc/passwd") or "").get(uid, uid)


@cache
def _read_users(passwd: str) -> dict[str, str]:
    rows = (line.split(":") for line in passwd.splitlines())
    return {row[2]: row[0] for row in rows if len(row) > 2}


def _by_psutil(pid: int) -> str | None:
    try:
        import psutil

        return str(psutil.Process(pid).username())
    except Exception:  # noqa: BLE001 - gone, hidden, or no psutil: nobody knows
        return None


HANDLE = "handle"  # stands for the whole device
_FIRST_S, _MOST_S = 30.0, 600.0  # between two tries of what hung; each takes twice as long as the one before
LOST_S = 60.0  # between two looks for a device that was lost


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """One device that is not wholly asked."""

    state: str  # "hung", "lost"
    readings: frozenset[str]
    until_s: float
    wait_s: float = _FIRST_S


class Holds:
    """All of them."""

    def __init__(self) -> None:
        self._holds: dict[int, Hold] = {}

    def hang(self, device: int, reading: str, *, now_s: float) -> None:
        """It hung: leave the call out; where a second call hangs too, the whole device."""
        hold = self._holds.get(device)
        if hold is None or hold.state != "hung":
            hold = Hold(state="hung", readings=frozenset({reading}), until_s=now_s)
        elif reading in hold.readings:
            hold = replace(hold, wait_s=min(hold.wait_s * 2, _MOST_S))
        else:
            hold = replace(hold, readings=hold.readings | {HANDLE})
        self._holds[device] = replace(hold, until_s=now_s + hold.wait_s)

    def lose(self, device: int, *, now_s: float) -> None:
        """It is lost."""
        self._holds[device] = Hold(state="lost", readings=frozenset({HANDLE}), until_s=now_s + LOST_S)

    def free(self, device: int) -> None:
        """It answers again."""
        self._holds.pop(device, None)

    def state(self, device: int) -> str | None:
        """Why it is held; None where it is not."""
        hold = self._holds.get(device)
        return None if hold is None else hold.state

    def whole(self, device: int) -> bool:
        """Whether nothing at all is asked of it."""
        hold = self._holds.get(device)
        return hold is not None and HANDLE in hold.readings

    def skip(self) -> list[tuple[int, str]]:
        """The calls to leave out."""
        return [
            (device, reading) for device, hold in self._holds.items() for reading in sorted(hold.readings)
        ]

    def n_hung(self) -> int:
        """How many hang."""
        return sum(hold.state == "hung" for hold in self._holds.values())

    def due(self, now_s: float) -> int | None:
        """A device whose time has come to be tried again."""
        return next((device for device, hold in self._holds.items() if now_s >= hold.until_s), None)


PATIENCE_S = 2.0
_CALL_S = 1.2  # the most for one call of a full reading
_SLOW_S = 20.0  # the most for the first tick of a child, where every device must wake first
_REST_S, _MOST_REST_S = 5.0, 60.0  # after a driver that did not start
RARE_S = 10.0  # in which each device is asked once for what hardly changes


class Session:
    """Readings of all devices; one that is lost or hangs does not hide the others."""

    def __init__(
        self, env: Mapping[str, str], *, patience_s: float = PATIENCE_S, activity: bool = False
    ) -> None:
        self._asking = Asking(env)
        self._patience_s, self._activity = self._asking.patience(patience_s), activity
        self._world = World(root=Path(env.get(ROOT) or "/"), env=env, is_live=True)
        self._held = Holds()
        self._keepers: dict[int, TickKeeper] = {}
        self._owners: dict[int, str | None] = {}
        self._rest_s, self._until_s = _REST_S, 0.0
        self._wake_s = self._asking.patience(START_S)  # for the driver to start, until its time is known
        self._turn = 0  # whose rare readings are due next
        self._owed, self._asked_s = 0.0, 0.0  # how many devices are behind with them, since when
        self._fresh: int | None = None  # the child that knows all rare readings
        self._off: set[str] = set()  # what concerns all devices, and hung
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def error(self) -> Sentence | None:
        """Why the driver as a whole does not answer; None where it does."""
        from rigright.machine.nvml.full import trouble_of

        return None if self._asking.trouble is None else trouble_of(self._asking.trouble)

    @property
    def hangs(self) -> bool:
        """Whether it is the driver that hangs: whatever else asks it will hang too."""
        trouble = self._asking.trouble
        return trouble is not None and trouble.code == codes.HUNG

    @property
    def child(self) -> int | None:
        """The number of the child that asks now."""
        return self._asking.pid

    def devices(self) -> Read:
        """Everything that the driver tells, within a few seconds."""
        from rigright.machine.nvml.full import (
            read_of,  # a session of ticks starts without what it needs
            read_whole,
        )

        with self._lock:
            whole = read_whole(self._asking, patience_s=min(self._patience_s, self._asking.patience(_CALL_S)))
            return read_of(whole, self._asking, owner=lambda pid: _owner_of(self._world, pid))

    def tick(self) -> tuple[DeviceTick, ...]:
        """What changes, of all devices, cheaply."""
        with self._lock:
            return self._tick(time.monotonic())

    def close(self) -> None:
        """End the child."""
        with self._lock:
            self._asking.drop(kindly=True)

    def _tick(self, now_s: float) -> tuple[DeviceTick, ...]:
        if now_s < self._until_s:
            return self._unread()
        if not self._ready():
            self._held = Holds()
            self._rest(now_s)
            return self._unread()
        for device in range(self._asking.system.get("count") or 0):
            self._keepers.setdefault(device, TickKeeper(device))
        request = self._request([keeper for keeper in self._keepers if not self._held.whole(keeper)], now_s)
        is_old, self._fresh = self._fresh == self._asking.pid, self._asking.pid
        answer = self._asking.quietly(request, self._patience_s / 2) if is_old else None
        if answer is None:
            return self._aloud(request, now_s)
        ticks = self._shape(answer.readings, answer.rest, now_s=now_s)
        if not self._all_lost(ticks, now_s):
            self._try_again(now_s)
        return ticks

    def _ready(self) -> bool:
        """Have a child; one that is started gets twice the time that the driver took before."""
        if self._asking.pid is not None:
            return True
        began_s = time.monotonic()
        if not self._asking.ready(began_s + self._wake_s):
            return False
        self._wake_s = max(self._patience_s, 2 * (time.monotonic() - began_s))
        return True

    def _all_lost(self, ticks: tuple[DeviceTick, ...], now_s: float) -> bool:
        """Where every device is lost the driver itself went: a new child looks for it, after a rest."""
        if not ticks or any(tick.state != "lost" for tick in ticks):
            self._rest_s = _REST_S
            return False
        self._asking.drop(kindly=True)
        self._held = Holds()
        self._rest(now_s)
        return True

    def _rest(self, now_s: float) -> None:
        self._until_s, self._rest_s = now_s + self._rest_s, min(2 * self._rest_s, _MOST_REST_S)

    def _request(self, devices: list[int], now_s: float) -> dict[str, Any]:
        """A tick's question."""
        flow = [device for device in devices if self._keepers[device].counts_traffic is False]
        return {
            "do": "tick",
            "devices": devices,
            "rare": self._rare(devices, now_s),
            "skip": self._held.skip(),
            "activity": self._activity,
            "names": None if "names" in self._off else True,
            "xids": None if "xids" in self._off else True,
            "flow": None if "flow" in self._off else flow,
        }

    def _rare(self, devices: list[int], now_s: float) -> list[int]:
        """Who tells rare readings too: all to a new child, else a few at each tick, in turn."""
        passed_s, self._asked_s = now_s - self._asked_s, now_s
        if self._fresh != self._asking.pid:
            return devices
        self._owed = min(self._owed + len(devices) * passed_s / RARE_S, len(devices))
        due = [devices[(self._turn + place) % len(devices)] for place in range(int(self._owed))]
        self._turn, self._owed = self._turn + len(due), self._owed - len(due)
        return due

    def _aloud(self, request: dict[str, Any], now_s: float) -> tuple[DeviceTick, ...]:
        """A new child, or something hung or died: go call by call, and leave out for a while what hangs."""
        if not self._ready():
            return self._unread()
        started_s = time.monotonic()
        self._fresh = self._asking.pid
        until_s = started_s + self._asking.patience(_SLOW_S) + self._patience_s
        answer = self._asking.aloud(request, patience_s=self._patience_s / 4, until_s=until_s)
        if answer.culprit is not None:
            device, reading = answer.culprit
            if device == SYSTEM:
                self._off.add(reading)
            else:
                self._held.hang(device, reading, now_s=now_s)
        if not answer.done and self._held.n_hung() > 1:
            for device in self._keepers:
                self._held.hang(device, HANDLE, now_s=now_s)
        ticks = self._shape(
            {number: answer.readings[number] for number in answer.done}, answer.rest, now_s=now_s
        )
        self._all_lost(ticks, now_s)
        return ticks

    def _try_again(self, now_s: float) -> None:
        """One device whose time has come is asked again, last, so that the others were read already."""
        device = self._held.due(now_s)
        if device is None:
            return
        if self._held.state(device) == "lost":
            self._asking.drop(kindly=True)  # only a new child can see a device that came back
        if not self._ready():
            return
        until_s = time.monotonic() + self._patience_s
        request = {"do": "tick", "devices": [device]}
        answer = self._asking.aloud(request, patience_s=self._patience_s / 4, until_s=until_s)
        if answer.culprit is not None:
            self._held.hang(device, answer.culprit[1], now_s=now_s)
        elif is_gone(Raw(answer.readings.get(device, {}))):
            self._held.lose(device, now_s=now_s)
        else:
            self._held.free(device)

    def _shape(
        self, fields: dict[int, Any], rest: Mapping[str, Any], *, now_s: float
    ) -> tuple[DeviceTick, ...]:
        names = {int(pid): str(name) for pid, name in rest.get("names") or ()}
        self._owners = {pid: who for pid, who in self._owners.items() if pid in names}
        for device, ways in rest.get("flow") or ():
            fields.get(int(device), {})["flow"] = ways
        for device, code in rest.get("xids") or ():
            if device in self._keepers:
                self._keepers[device].last_xid = code
        return tuple(self._one(keeper, fields, names=names, now_s=now_s) for keeper in self._keepers)

    def _one(self, device: int, fields: dict[int, Any], *, names: dict[int, str], now_s: float) -> DeviceTick:
        keeper = self._keepers[device]
        if device not in fields:
            return keeper.absent(self._held.state(device) or "stale")
        tick = keeper.tick(fields[device], owner=self._owner, names=names)
        if tick.state == "lost":
            self._held.lose(device, now_s=now_s)
        return replace(tick, state="hung") if self._held.state(device) == "hung" else tick

    def _owner(self, pid: int) -> str | None:
        if pid not in self._owners:
            self._owners[pid] = _owner_of(self._world, pid)
        return self._owners[pid]

    def _unread(self) -> tuple[DeviceTick, ...]:
        """No child, no figures: all devices that were ever seen."""
        trouble = self._asking.trouble
        state = "hung" if trouble is not None and trouble.code == codes.HUNG else "lost"
        return tuple(keeper.absent(state) for keeper in self._keepers.values())
