"""The readings of one device at one moment -> a `DeviceTick`; what changes rarely is kept."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from rigright.base.units import KILO, MEGA, MIB
from rigright.machine.device import Program
from rigright.machine.nvml import codes
from rigright.machine.nvml.links import link_ticks
from rigright.machine.nvml.readings import Raw, floats, is_gone, rare
from rigright.machine.nvml.shaping import (
    Owner,
    fabric_seen,
    fans_of,
    mem_c,
    pci_of,
    programs_of,
    recovery_of,
    share,
    slices_of,
)
from rigright.machine.tick import Activity, DeviceTick

_FINE = 0  # what NVIDIA's binding raises where the driver has no sample
_RECENT_S = 5.0  # that a sample of a program's use counts as of now
_Traffic = tuple[float, int | None, int | None]  # when, and the counters of PCIe traffic then


class TickKeeper:
    """What is remembered of one device between ticks."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.last_xid: int | None = None
        self.counts_traffic: bool | None = None  # None: not known yet
        self._traffic: _Traffic | None = None
        self._rare: dict[str, Any] = {}  # what is not read at each tick, as it was last told
        self._still: dict[str, Any] = {}  # the fields made of it
        self._names: dict[int, str] = {}  # of programs

    def absent(self, state: str) -> DeviceTick:
        """It was not read: who it is, and no figures."""
        who = {name: self._still[name] for name in ("uuid", "name", "pci") if name in self._still}
        return DeviceTick(index=self.index, vendor="nvidia", state=state, **who)

    def tick(self, fields: dict[str, Any], *, owner: Owner, names: dict[int, str]) -> DeviceTick:
        """The device now."""
        raw = Raw(fields)
        if is_gone(raw):
            return self.absent("denied" if raw.failed("handle") == codes.NO_PERMISSION else "lost")
        if names != self._names or not rare().isdisjoint(fields):
            self._names = names
            self._rare.update((reading, fields[reading]) for reading in rare() & fields.keys())
            self._still |= _still(Raw(self._rare), owner=owner, names=names)
        rx, tx = self._rates(raw)
        milli = raw.number("numbers", "energy_mj")
        return DeviceTick(
            index=self.index,
            vendor="nvidia",
            busy_share=share(raw.number("busy", "gpu")),
            mem_busy_share=share(raw.number("busy", "memory")),
            mem_used_bytes=floats(raw.number("mem", "used")),
            mem_total_bytes=floats(raw.number("mem", "total")),
            power_w=raw.milli("power.draw_w"),
            energy_j=None if milli is None else milli / KILO,
            gpu_c=raw.scaled("thermal.gpu_c", 1.0),
            mem_c=mem_c(raw),
            sm_hz=raw.scaled("clocks.sm_hz", MEGA),
            pcie_gen=raw.whole("pcie.gen"),
            pcie_lanes=raw.whole("pcie.lanes"),
            pcie_rx_bytes_per_s=rx,
            pcie_tx_bytes_per_s=tx,
            slowed_by=codes.slowed_by(raw.value("slowed_by")),
            recovery=recovery_of(raw),
            last_xid=self.last_xid,
            activity=_activity(raw),
            **self._still | {"programs": _used(raw, self._still.get("programs"))},
        )

    def _rates(self, raw: Raw) -> tuple[float | None, float | None]:
        """Bytes a second each way: of counters since the tick before, or as the driver measured them."""
        rx, tx = raw.number("numbers", "rx_bytes"), raw.number("numbers", "tx_bytes")
        self.counts_traffic = rx is not None
        if not self.counts_traffic:
            rx, tx = raw.numbers("flow", 2)
            return (None if rx is None else rx * KILO, None if tx is None else tx * KILO)
        now_s = floats(raw.value("clock")) or 0.0
        before, self._traffic = self._traffic, (now_s, rx, tx)
        if before is None or now_s <= before[0]:
            return None, None
        spent_s = now_s - before[0]
        return _rate(before[1], rx, spent_s=spent_s), _rate(before[2], tx, spent_s=spent_s)


def _activity(raw: Raw) -> tuple[Activity, ...] | None:
    """What the parts of the device did; None where nobody asked, or the driver does not count it."""
    value = raw.value("activity")
    if not isinstance(value, list):
        return None
    activities = []
    for instance, *values in value:
        sm, occupied, tensor, dram, rx, tx = map(floats, values)
        activities.append(
            Activity(
                gpu_instance=instance,
                sm_share=share(sm),
                occupied_share=share(occupied),
                tensor_share=share(tensor),
                dram_share=share(dram),
                nvlink_rx_bytes_per_s=None if rx is None else rx * MIB,
                nvlink_tx_bytes_per_s=None if tx is None else tx * MIB,
            )
        )
    return tuple(activities)


def _used(raw: Raw, programs: tuple[Program, ...] | None) -> tuple[Program, ...] | None:
    """Programs with what each took of the card lately; without a recent sample one rested."""
    is_none = raw.failed("programs.use") in {codes.NOT_FOUND, _FINE}
    samples = [] if is_none else raw.value("programs.use")
    if not programs or not isinstance(samples, list):
        return programs
    newest: dict[int, tuple[int, float | None, float | None]] = {}
    for sample in samples:
        pid, at_us, sm, encoder = Raw({"one": sample}).numbers("one", 4)
        if pid is not None and at_us is not None and at_us >= newest.get(pid, (0,))[0]:
            newest[pid] = at_us, share(sm), share(encoder)
    since_us = (time.time() - _RECENT_S) * MEGA
    rest = (0, 0.0, 0.0)
    result = []
    for program in programs:
        at_us, sm_share, encoder_share = newest.get(program.pid, rest)
        if at_us < since_us:
            _, sm_share, encoder_share = rest
        result.append(replace(program, sm_share=sm_share, encoder_share=encoder_share))
    return tuple(result)


def _still(raw: Raw, *, owner: Owner, names: dict[int, str]) -> dict[str, Any]:
    """Fields of readings that hardly change; a name that is not told any more is still its name."""
    fans, links = fans_of(raw), raw.value("links.state")
    who = {"uuid": raw.text("uuid"), "name": raw.text("name"), "pci": pci_of(raw)}
    return {
        **{field: text for field, text in who.items() if text is not None},
        "power_limit_w": raw.milli("power.limit_w"),
        "fan_share": max(fans) if fans else None,
        "mem_hz": raw.scaled("clocks.mem_hz", MEGA),
        "pcie_replays": raw.number("errors", "replays"),
        "ecc_corrected": raw.number("errors", "corrected"),
        "ecc_uncorrected": raw.number("errors", "uncorrected"),
        "rows_pending": _flag(raw.number("errors", "rows_pending")),
        "rows_failed": _flag(raw.number("errors", "rows_failed")),
        "links_active": sum(map(bool, links)) if isinstance(links, list) else None,
        "links": link_ticks(raw),
        "fabric": fabric_seen(raw),
        "slices": slices_of(raw) or None,
        "programs": programs_of(raw, owner=owner, names=names),
    }


def _rate(before: int | None, now: int | None, *, spent_s: float) -> float | None:
    """A counter that went back began anew: no rate is known of that time."""
    return None if before is None or now is None or now < before else (now - before) / spent_s


def _flag(number: int | None) -> bool | None:
    return None if number is None else bool(number)
