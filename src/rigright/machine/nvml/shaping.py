"""The readings of one device -> a `Device`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from rigright.base.tables import DATA, read_rows, text, whole
from rigright.base.units import GIGA, KILO, MEGA
from rigright.machine.device import (
    Clocks,
    Device,
    Ecc,
    Fabric,
    PcieLink,
    Power,
    Program,
    Retired,
    Slice,
    Thermal,
)
from rigright.machine.nvml import codes
from rigright.machine.nvml.links import cpu_links_of, links_of
from rigright.machine.nvml.raw import Raw, floats
from rigright.machine.told.values import address

PERCENT = 100
_VENDOR_BITS = 16
_NO_ID = 2**32

Owner = Callable[[int], str | None]


def device_of(index: int, raw: Raw, *, owner: Owner, names: dict[int, str]) -> Device:
    """The record of one device that answered."""
    major, minor = raw.numbers("isa", 2)
    isa = None if major is None or minor is None else f"{major}.{minor}"
    cores = raw.whole("cores")
    mig, mig_after = raw.flags("mig", 2)
    return Device(
        index=index,
        vendor="nvidia",
        name=raw.text("name"),
        uuid=raw.text("uuid"),
        serial=raw.text("serial"),
        pci=pci_of(raw),
        pci_id=_pci_id(raw.number("pci", "pciDeviceId")),
        board_id=_pci_id(raw.number("pci", "pciSubSystemId")),
        isa=isa,
        brand=codes.word(codes.BRANDS, raw.whole("brand")),
        sms=_sms(cores, isa),
        cores=cores,
        vbios=raw.text("vbios"),
        mem_total_bytes=floats(raw.number("mem", "total")),
        mem_used_bytes=floats(raw.number("mem", "used")),
        mem_free_bytes=floats(raw.number("mem", "free")),
        mem_reserved_bytes=floats(raw.number("mem", "reserved")),
        unified_memory=True if raw.failed("mem") == codes.NOT_SUPPORTED else None,
        bar1_total_bytes=floats(raw.number("bar1", "bar1Total")),
        bus_bits=raw.whole("bus_bits"),
        numa_node=_lowest_bit(raw.items("numa")),
        pcie=_pcie(raw),
        links=links_of(raw),
        cpu_links=cpu_links_of(raw),
        fabric=fabric_seen(raw),
        ecc=_ecc(raw),
        retired=_retired(raw),
        clocks=_clocks(raw),
        power=_power(raw),
        thermal=_thermal(raw),
        slowed_by=codes.slowed_by(raw.value("slowed_by")),
        slowed_s=_slowed_s(raw),
        busy_share=share(raw.number("busy", "gpu")),
        mem_busy_share=share(raw.number("busy", "memory")),
        pstate=_pstate(raw.whole("pstate")),
        recovery=recovery_of(raw),
        persistence=raw.flag("persistence"),
        compute_mode=codes.word(codes.COMPUTE_MODES, raw.whole("compute_mode")),
        display=raw.flag("display"),
        mig=mig,
        mig_after_reset=mig_after,
        slices=slices_of(raw),
        programs=programs_of(raw, owner=owner, names=names),
    )


def pci_of(raw: Raw) -> str | None:
    """Its address on the bus."""
    return address(str(raw.named("pci", "busId") or ""))


def share(percent: float | None) -> float | None:
    """Per cent -> a share."""
    return None if percent is None else percent / PERCENT


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
    rows = read_rows(DATA / "sm_cores.csv", {"isa": text, "cores_per_sm": whole})
    return {row["isa"]: row["cores_per_sm"] for row in rows}


def _sms(cores: int | None, isa: str | None) -> int | None:
    per_sm = _cores_per_sm().get(isa or "")
    return cores // per_sm if cores and per_sm else None


def _pcie(raw: Raw) -> PcieLink:
    rx, tx = raw.numbers("flow", 2)
    return PcieLink(
        gen=raw.whole("pcie.gen"),
        gen_device_max=raw.whole("pcie.gen_device_max"),
        gen_max=raw.whole("pcie.gen_max"),
        lanes=raw.whole("pcie.lanes"),
        lanes_max=raw.whole("pcie.lanes_max"),
        replays=raw.whole("pcie.replays"),
        rx_bytes_per_s=None if rx is None else rx * KILO,
        tx_bytes_per_s=None if tx is None else tx * KILO,
    )


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


def _ecc(raw: Raw) -> Ecc | None:
    on, after = raw.flags("ecc.mode", 2)
    counts = {
        name: raw.whole(f"ecc.{name}")
        for name in (
            *("corrected_volatile", "uncorrected_volatile"),
            *("corrected_aggregate", "uncorrected_aggregate"),
        )
    }
    if on is None and all(count is None for count in counts.values()):
        return None
    parts = [raw.number("ecc.sram", name) for name in ("aggregateUncParity", "aggregateUncSecDed")]
    over = raw.number("ecc.sram", "bThresholdExceeded")
    known = [part for part in parts if part is not None]
    return Ecc(
        on=on,
        on_after_reboot=after,
        **counts,
        sram_uncorrected_aggregate=sum(known) if known else raw.whole("ecc.sram_uncorrected"),
        sram_over_threshold=None if over is None else bool(over),
    )


def _retired(raw: Raw) -> Retired | None:
    corrected, uncorrected, _, _ = raw.numbers("retired.rows", 4)
    _, _, pending, failed = raw.flags("retired.rows", 4)
    channel, tpc = raw.flags("retired.repair", 2)
    found = Retired(
        pages_single=raw.whole("retired.pages_single"),
        pages_double=raw.whole("retired.pages_double"),
        pages_pending=raw.flag("retired.pages_pending"),
        rows_corrected=corrected,
        rows_uncorrected=uncorrected,
        rows_pending=pending,
        rows_failed=failed,
        channel_repair_pending=channel,
        tpc_repair_pending=tpc,
        unrepairable=raw.flag("retired.unrepairable"),
        banks=tuple(raw.counts("retired.banks")),
    )
    return None if found == Retired() else found


def _clocks(raw: Raw) -> Clocks:
    names = ("sm_hz", "mem_hz", "sm_max_hz", "mem_max_hz", "sm_app_hz", "sm_app_default_hz")
    return Clocks(**{name: raw.scaled(f"clocks.{name}", MEGA) for name in names})


def _power(raw: Raw) -> Power:
    least, most = raw.numbers("power.limits_w", 2)
    energy = raw.whole("power.energy_j")
    energy = raw.number("numbers", "energy_mj") if energy is None else energy
    return Power(
        draw_w=raw.milli("power.draw_w"),
        limit_w=raw.milli("power.limit_w"),
        limit_default_w=raw.milli("power.limit_default_w"),
        limit_min_w=None if least is None else least / KILO,
        limit_max_w=None if most is None else most / KILO,
        energy_j=None if energy is None else energy / KILO,
    )


def _thermal(raw: Raw) -> Thermal:
    """Limits as temperatures; newer cards tell them as what is left until they are reached."""
    gpu, margin = raw.scaled("thermal.gpu_c", 1.0), raw.scaled("thermal.margin_c", 1.0)

    def limit(name: str) -> float | None:
        told = raw.scaled(f"thermal.{name}_c", 1.0)
        below = raw.number("limits", name)
        if told is not None or gpu is None or margin is None or below is None:
            return told
        return gpu + margin - below

    return Thermal(
        gpu_c=gpu,
        mem_c=mem_c(raw),
        slowdown_c=limit("slowdown"),
        shutdown_c=limit("shutdown"),
        gpu_most_c=limit("gpu_most"),
        mem_most_c=raw.scaled("thermal.mem_most_c", 1.0),
        margin_c=margin,
        fans=fans_of(raw),
    )


def mem_c(raw: Raw) -> float | None:
    """The memory's own sensor; a card without one says zero."""
    told = raw.number("numbers", "mem_c")
    return float(told) if told else None


def fans_of(raw: Raw) -> tuple[float, ...]:
    """Each fan's share of full speed."""
    told = raw.value("thermal.fans")
    speeds = told if isinstance(told, list) else [told]
    return tuple(one / PERCENT for one in speeds if isinstance(one, int))


def recovery_of(raw: Raw) -> str | None:
    """What would bring the device back."""
    if codes.RESET_REQUIRED in {raw.failed("handle"), raw.failed("mem"), raw.failed("power.draw_w")}:
        return "gpu reset"
    return codes.word(codes.RECOVERIES, raw.number("numbers", "recovery"))


def _slowed_s(raw: Raw) -> tuple[tuple[str, float], ...] | None:
    return tuple((name, spent / GIGA) for name, spent in raw.counts("slowed_s")) or None


def slices_of(raw: Raw) -> tuple[Slice, ...]:
    """Its MIG instances."""
    told = (one for one in raw.items("slices") if isinstance(one, dict))
    return tuple(_slice(one) for one in told if isinstance(one.get("gi"), int))


def _slice(told: dict[str, Any]) -> Slice:
    total, used = Raw(told).numbers("mem", 2)
    name = str(told.get("name") or "")
    return Slice(
        gpu_instance=told["gi"],
        compute_instance=told.get("ci"),
        uuid=told.get("uuid"),
        profile=name.partition(" MIG ")[2] or None,
        mem_total_bytes=floats(total),
        mem_used_bytes=floats(used),
    )


def programs_of(raw: Raw, *, owner: Owner, names: dict[int, str]) -> tuple[Program, ...] | None:
    """Who holds memory of it; one that also draws is told once. None where no list could be read."""
    found: dict[int, Program] = {}
    lists = [raw.value(f"programs.{kind}") for kind in ("compute", "mps", "graphics")]
    if not any(isinstance(one, list) for one in lists):
        return None
    for kind, told in zip(("compute", "compute", "graphics"), lists, strict=True):
        for one in told if isinstance(told, list) else ():
            pid, mem, part = Raw({"one": one}).numbers("one", 3)
            if pid is not None:
                found[pid] = Program(
                    pid=pid,
                    name=names.get(pid),
                    user=owner(pid),
                    kind=kind,
                    mem_bytes=floats(mem),
                    gpu_instance=part,
                )
    return tuple(found[pid] for pid in sorted(found))
