"""Machines made by hand: healthy ones to start from, one fault planted at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations

from rigright.base.units import GIB, MEGA
from rigright.base.words import say
from rigright.doctor import examine as examining
from rigright.doctor.examine import case_of, examine
from rigright.doctor.record import Check, Finding, NotSeen
from rigright.machine.device import Clocks, Device, DirectLink, Ecc, Fabric, PcieLink, Power, Retired, Thermal
from rigright.machine.host import Path
from rigright.machine.record import Machine
from rigright.machine.system import Event, System

NOW_S = 1_780_000_000.0
UP_S = 40 * 86400.0


def h100(index=0, **changed):
    """One of eight healthy H100 at work."""
    device = Device(
        index=index,
        vendor="nvidia",
        name="NVIDIA H100 80GB HBM3",
        uuid=f"GPU-{index}",
        pci=f"0000:{0x19 + index:02x}:00.0",
        pci_id="10de:2330",
        isa="9.0",
        sms=132,
        vbios="96.00.89.00.01",
        mem_total_bytes=79.65 * GIB,
        mem_used_bytes=60 * GIB,
        bus_bits=5120,
        pcie=PcieLink(gen=5, gen_device_max=5, gen_max=5, lanes=16, lanes_max=16, replays=0),
        links=tuple(
            DirectLink(index=link, active=True, errors=(("replay", 0), ("recovery", 0))) for link in range(18)
        ),
        fabric=Fabric(state="completed", status="success", health="healthy"),
        ecc=Ecc(
            on=True,
            on_after_reboot=True,
            corrected_volatile=0,
            uncorrected_volatile=0,
            corrected_aggregate=3,
            uncorrected_aggregate=0,
            sram_uncorrected_aggregate=0,
            sram_over_threshold=False,
        ),
        retired=Retired(
            rows_corrected=0,
            rows_uncorrected=0,
            rows_pending=False,
            rows_failed=False,
            banks=(("max", 2560),),
        ),
        clocks=Clocks(
            sm_hz=1755 * MEGA,
            sm_max_hz=1980 * MEGA,
            mem_hz=2619 * MEGA,
            mem_max_hz=2619 * MEGA,
            sm_app_hz=1980 * MEGA,
            sm_app_default_hz=1980 * MEGA,
        ),
        power=Power(draw_w=610, limit_w=700, limit_default_w=700, limit_min_w=200, limit_max_w=700),
        thermal=Thermal(gpu_c=56, mem_c=72, slowdown_c=92, shutdown_c=95, gpu_most_c=87, mem_most_c=95),
        slowed_by=(),
        slowed_s=(("hw_thermal", 0.0), ("sw_power_cap", 8100.0)),
        busy_share=0.97,
        pstate=0,
        recovery="none",
        persistence=True,
        compute_mode="default",
        display=False,
        mig=False,
        mig_after_reset=False,
        programs=(),
    )
    return over(replace(device, mem_used_bytes=0.4 * GIB), **changed)


def rtx4090(index=0, **changed):
    """One of two healthy RTX 4090 at work, as desktops have them."""
    device = Device(
        index=index,
        vendor="nvidia",
        name="NVIDIA GeForce RTX 4090",
        uuid=f"GPU-{index}",
        pci=f"0000:{1 + index:02x}:00.0",
        pci_id="10de:2684",
        isa="8.9",
        sms=128,
        vbios="95.02.3c.00.b1",
        mem_total_bytes=23.99 * GIB,
        mem_used_bytes=0.3 * GIB,
        bus_bits=384,
        pcie=PcieLink(gen=4, gen_device_max=4, gen_max=4, lanes=16, lanes_max=16),
        links=(),
        clocks=Clocks(sm_hz=2520 * MEGA, sm_max_hz=3105 * MEGA),
        power=Power(draw_w=420, limit_w=450, limit_default_w=450, limit_min_w=150, limit_max_w=600),
        thermal=Thermal(gpu_c=66, slowdown_c=97, shutdown_c=102, fans=(0.55, 0.55)),
        slowed_by=("sw_power_cap",),
        busy_share=0.99,
        pstate=2,
        persistence=True,
        compute_mode="default",
        display=False,
        programs=(),
    )
    return over(device, **changed)


def over(record, **changed):
    """A record with fields changed; `power__limit_w=300` reaches into the record below."""
    inner = {}
    for name, value in changed.items():
        if "__" in name:
            field, below = name.split("__")
            inner.setdefault(field, {})[below] = value
        else:
            record = replace(record, **{name: value})
    for field, values in inner.items():
        record = replace(record, **{field: replace(getattr(record, field), **values)})
    return record


def box(devices, *, kind="NV18", peer=True, **fields):
    """A machine with these cards, each pair joined by one kind of path."""
    paths = tuple(
        Path(a=one.index, b=other.index, kind=kind, peer=peer) for one, other in combinations(devices, 2)
    )
    system = System(host="box", now_s=NOW_S, up_s=UP_S, virtual="none", container="none")
    told = {"system": system, "events": (), "paths": paths, **fields}
    return Machine(devices=tuple(devices), **told)


def eight(changes=None, **fields):
    """Eight H100; `changes` maps the index of a card to what is other with it."""
    return box([h100(index, **(changes or {}).get(index, {})) for index in range(8)], **fields)


def two(changes=None, **fields):
    """Two RTX 4090 without a bridge, which copy through main memory."""
    devices = [rtx4090(index, **(changes or {}).get(index, {})) for index in range(2)]
    return box(devices, **{"kind": "PHB", "peer": False} | fields)


def xid(code, *, card=2, pid=4242, ago_s=3600.0, text=""):
    """An XID of the kernel log, on one of the cards of `eight`."""
    pci = f"0000:{0x19 + card:02x}:00"
    line = text or f"NVRM: Xid (PCI:{pci}): {code}, pid={pid}, name=python, some words"
    return Event(kind="xid", text=line, at_s=NOW_S - ago_s, pci=pci, code=code, pid=pid, program="python")


@cache
def _breaks():
    """How a check that raises is told of."""

    def raises(_case):
        raise ZeroDivisionError

    (told,) = examining._one(Check(name="raises", title=say("{it}", it=""), look=raises), None).verdicts
    return told.why.text


def broken(checked):
    """Each check that broke rather than said something, and why."""
    return [
        (one.check, str(verdict.why))
        for one in checked
        for verdict in one.verdicts
        if isinstance(verdict, NotSeen) and verdict.why.text == _breaks()
    ]


def findings(machine, *only, wanted=None, results=()):
    """(check, severity, about) of everything the doctor finds."""
    examined = examine(case_of(machine, wanted=wanted, results=tuple(results)), only)
    return [(check, one.severity, one.about) for check, one in examined.findings]


def alarms(machine, *only, **given):
    """The same without notes."""
    return [one for one in findings(machine, *only, **given) if one[1] != "note"]


def finding(machine, check, **given):
    """The one finding of one check."""
    examined = examine(case_of(machine, **given), (check,))
    (found,) = [one for _, one in examined.findings]
    assert isinstance(found, Finding)
    return found
