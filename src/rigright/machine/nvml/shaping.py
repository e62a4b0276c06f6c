"""The readings of one device -> a `Device`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from rigright.base.loader import rows
from rigright.base.units import GIGA, KILO
from rigright.machine.device import Device, Fabric, Program, Slice, device_from
from rigright.machine.nvml import codes
from rigright.machine.nvml.links import cpu_links_of, links_of
from rigright.machine.nvml.readings import Raw, floats
from rigright.machine.values import address

_PERCENT = 100
_VENDOR_BITS = 16
_NO_ID = 2**32
_MEMORY = ("total", "used", "free", "reserved")
_ECC_COUNTS = ("corrected_volatile", "uncorrected_volatile", "corrected_aggregate", "uncorrected_aggregate")

Owner = Callable[[int], str | None]


def device_of(index: int, raw: Raw, *, owner: Owner, names: dict[int, str]) -> Device:
    """The record of one device that answered."""
    parts = (_who(raw), _states(raw), _pcie(raw), _ecc(raw), _retired(raw), _power(raw), _thermal(raw))
    made = {field: value for part in parts for field, value in part.items() if value is not None}
    device = device_from(
        raw.fields() | made,
        vendor="nvidia",
        index=index,
        unified_memory=True if raw.failed("mem") == codes.NOT_SUPPORTED else None,
        links=links_of(raw),
        cpu_links=cpu_links_of(raw),
        recovery=recovery_of(raw),
        slices=slices_of(raw),
        programs=programs_of(raw, owner=owner, names=names),
    )
    return replace(device, fabric=fabric_seen(raw), slowed_by=codes.slowed_by(raw.value("slowed_by")))


Fields = dict[str, Any]  # of the record, those of its parts under "power.", "ecc." and their like


def _who(raw: Raw) -> Fields:
    """What it is, and its memory."""
    major, minor = raw.numbers("isa", 2)
    isa = None if major is None or minor is None else f"{major}.{minor}"
    memory = {f"mem_{name}_bytes": floats(raw.number("mem", name)) for name in _MEMORY}
    return memory | {
        "pci": pci_of(raw),
        "pci_id": _pci_id(raw.number("pci", "pciDeviceId")),
        "board_id": _pci_id(raw.number("pci", "pciSubSystemId")),
        "isa": isa,
        "brand": codes.word(codes.BRANDS, raw.whole("brand")),
        "sms": _sms(raw.whole("cores"), isa),
        "bar1_total_bytes": floats(raw.number("bar1", "bar1Total")),
        "numa_node": _lowest_bit(raw.items("numa")),
    }


def _states(raw: Raw) -> Fields:
    """Modes, and what it does now."""
    mig, mig_after = raw.flags("mig", 2)
    slowed = {f"slowed.{name}": spent / GIGA for name, spent in raw.counts("slowed_s")}
    return slowed | {
        "busy_share": share(raw.number("busy", "gpu")),
        "mem_busy_share": share(raw.number("busy", "memory")),
        "pstate": _pstate(raw.whole("pstate")),
        "compute_mode": codes.word(codes.COMPUTE_MODES, raw.whole("compute_mode")),
        "mig": mig,
        "mig_after_reset": mig_after,
    }


def pci_of(raw: Raw) -> str | None:
    """Its address on the bus."""
    return address(str(raw.named("pci", "busId") or ""))


def share(percent: float | None) -> float | None:
    """Per cent -> a share."""
    return None if percent is None else percent / _PERCENT


def _lowest_bit(words: list[Any]) -> int | None:
    """The first memory domain of a set of them, a bit each."""
    mask = words[0] if words and isinstance(words[0], int) else 0
    return (mask & -mask).bit_length() - 1 if mask else None


def _pstate(number: int | None) -> int | None:
    return number if number is not None and number <= 15 else None  # 32: the driver does not know


def _pci_id(number: int | None) -> str | None:
    """The driver's number holds vendor and device: 0x233010DE -> "10de:2330"."""
    if number is None or not 0 < number < _NO_ID:
        return None
    return f"{number & 0xFFFF:04x}:{number >> _VENDOR_BITS:04x}"


@cache
def _cores_per_sm() -> dict[str, int]:
    return {isa: int(cores) for isa, cores in rows("sm_cores.csv", "isa", "cores_per_sm")}


def _sms(cores: int | None, isa: str | None) -> int | None:
    per_sm = _cores_per_sm().get(isa or "")
    return cores // per_sm if cores and per_sm else None


def _pcie(raw: Raw) -> Fields:
    ways = zip(("rx", "tx"), raw.numbers("flow", 2), strict=True)
    return {f"pcie.{way}_bytes_per_s": None if flow is None else flow * KILO for way, flow in ways}


def fabric_seen(raw: Raw) -> Fabric | None:
    """How it stands to the switches' manager."""
    state = codes.word(codes.FABRIC_STATES, raw.number("fabric", "state"))
    status = raw.number("fabric", "status")
    if state is None:
        return None
    return Fabric(
        state=state,
        status=None if status is None else "success" if status == 0 else f"error {status}",
        health=codes.word(codes.FABRIC_HEALTH, raw.number("fabric", "healthSummary")),
        clique=raw.number("fabric", "cliqueId") if state == "completed" else None,
    )


def _ecc(raw: Raw) -> Fields:
    on, after = raw.flags("ecc.mode", 2)
    if on is None and all(raw.whole(f"ecc.{name}") is None for name in _ECC_COUNTS):
        return {}
    parts = [raw.number("ecc.sram", name) for name in ("aggregateUncParity", "aggregateUncSecDed")]
    over = raw.number("ecc.sram", "bThresholdExceeded")
    known = [part for part in parts if part is not None]
    return {
        "ecc.on": on,
        "ecc.on_after_reboot": after,
        "ecc.sram_uncorrected_aggregate": sum(known) if known else raw.whole("ecc.sram_uncorrected"),
        "ecc.sram_over_threshold": None if over is None else bool(over),
    }


def _retired(raw: Raw) -> Fields:
    corrected, uncorrected, _, _ = raw.numbers("retired.rows", 4)
    _, _, pending, failed = raw.flags("retired.rows", 4)
    channel, tpc = raw.flags("retired.repair", 2)
    return {f"banks.{name}": count for name, count in raw.counts("retired.banks")} | {
        "retired.rows_corrected": corrected,
        "retired.rows_uncorrected": uncorrected,
        "retired.rows_pending": pending,
        "retired.rows_failed": failed,
        "retired.channel_repair_pending": channel,
        "retired.tpc_repair_pending": tpc,
    }


def _power(raw: Raw) -> Fields:
    least, most = raw.numbers("power.limits_w", 2)
    energy = raw.whole("power.energy_j")
    energy = raw.number("numbers", "energy_mj") if energy is None else energy
    fields = {"limit_min_w": least, "limit_max_w": most, "energy_j": energy}
    return {f"power.{name}": None if milli is None else milli / KILO for name, milli in fields.items()}


def _thermal(raw: Raw) -> Fields:
    """Limits as temperatures; newer cards tell them as what is left until they are reached."""
    gpu, margin = raw.scaled("thermal.gpu_c", 1.0), raw.scaled("thermal.margin_c", 1.0)
    left = {name: raw.number("limits", name) for name in ("slowdown", "shutdown", "gpu_most")}
    limits = {
        f"thermal.{name}_c": gpu + margin - below
        for name, below in left.items()
        if gpu is not None and margin is not None and below is not None
        if raw.whole(f"thermal.{name}_c") is None
    }
    fans = {f"fans.{place}": speed for place, speed in enumerate(fans_of(raw))}
    return {"thermal.mem_c": mem_c(raw), **limits, **fans}


def mem_c(raw: Raw) -> float | None:
    """The memory's own sensor; a card without one says zero."""
    number = raw.number("numbers", "mem_c")
    return float(number) if number else None


def fans_of(raw: Raw) -> tuple[float, ...]:
    """Each fan's share of full speed."""
    value = raw.value("thermal.fans")
    speeds = value if isinstance(value, list) else [value]
    return tuple(speed / _PERCENT for speed in speeds if isinstance(speed, int))


def recovery_of(raw: Raw) -> str | None:
    """What would bring the device back."""
    if codes.RESET_REQUIRED in {raw.failed("handle"), raw.failed("mem"), raw.failed("power.draw_w")}:
        return "gpu reset"
    return codes.word(codes.RECOVERIES, raw.number("numbers", "recovery"))


def slices_of(raw: Raw) -> tuple[Slice, ...]:
    """Its MIG instances."""
    rows = (value for value in raw.items("slices") if isinstance(value, dict))
    return tuple(_slice(row) for row in rows if isinstance(row.get("gi"), int))


def _slice(fields: dict[str, Any]) -> Slice:
    total, used = Raw(fields).numbers("mem", 2)
    name = str(fields.get("name") or "")
    return Slice(
        gpu_instance=fields["gi"],
        compute_instance=fields.get("ci"),
        uuid=fields.get("uuid"),
        profile=name.partition(" MIG ")[2] or None,
        mem_total_bytes=floats(total),
        mem_used_bytes=floats(used),
    )


def programs_of(raw: Raw, *, owner: Owner, names: dict[int, str]) -> tuple[Program, ...] | None:
    """Who holds memory of it; one that also draws is stated once. None where no list could be read."""
    programs: dict[int, Program] = {}
    lists = [raw.value(f"programs.{kind}") for kind in ("compute", "mps", "graphics")]
    if not any(isinstance(entry, list) for entry in lists):
        return None
    for kind, value in zip(("compute", "compute", "graphics"), lists, strict=True):
        for item in value if isinstance(value, list) else ():
            pid, mem, part = Raw({"one": item}).numbers("one", 3)
            if pid is not None:
                programs[pid] = Program(
                    pid=pid,
                    name=names.get(pid),
                    user=owner(pid),
                    kind=kind,
                    mem_bytes=floats(mem),
                    gpu_instance=part,
                )
    return tuple(programs[pid] for pid in sorted(programs))
