"""The readings of one device -> a `Device`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from rigright.base.tables import DATA, read_rows, text, whole
from rigright.base.units import KILO, MEGA
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
from rigright.machine.nvml.links import links_of
from rigright.machine.nvml.raw import Raw, floats
from rigright.machine.told.values import address

PERCENT = 100
_NANO = 1e-9
_VENDOR_BITS = 16

Owner = Callable[[int], str | None]


def device_of(index: int, raw: Raw, *, owner: Owner, names: dict[int, str]) -> Device:
    """The record of one device that answered."""
    mem = raw.named("mem")
    pci = raw.named("pci")
    isa = ".".join(map(str, raw.items("isa"))) or None
    cores = raw.whole("cores")
    mig, mig_after = (*raw.items("mig"), None, None)[:2]
    return Device(
        index=index,
        vendor="nvidia",
        name=raw.text("name"),
        uuid=raw.text("uuid"),
        serial=raw.text("serial"),
        pci=pci_of(raw),
        pci_id=_pci_id(pci.get("pciDeviceId")),
        board_id=_pci_id(pci.get("pciSubSystemId")),
        isa=isa,
        brand=codes.word(codes.BRANDS, raw.whole("brand")),
        sms=_sms(cores, isa),
        cores=cores,
        vbios=raw.text("vbios"),
        mem_total_bytes=floats(mem.get("total")),
        mem_used_bytes=floats(mem.get("used")),
        mem_free_bytes=floats(mem.get("free")),
        mem_reserved_bytes=floats(mem.get("reserved")),
        unified_memory=True if raw.failed("mem") == codes.NOT_SUPPORTED else None,
        bar1_total_bytes=floats(raw.named("bar1").get("bar1Total")),
        bus_bits=raw.whole("bus_bits"),
        numa_node=_lowest_bit(raw.items("numa")),
        pcie=_pcie(raw),
        links=links_of(raw),
        fabric=_fabric(raw),
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
        mig=None if mig is None else bool(mig),
        mig_after_reset=None if mig_after is None else bool(mig_after),
        slices=_slices(raw),
        programs=programs_of(raw, owner=owner, names=names),
    )


def pci_of(raw: Raw) -> str | None:
    """Its address on the bus."""
    return address(str(raw.named("pci").get("busId") or ""))


def share(percent: int | None) -> float | None:
    """Per cent -> a share."""
    return None if percent is None else percent / PERCENT


def _lowest_bit(words: list[Any]) -> int | None:
    """The first memory domain of a set of them, a bit each."""
    mask = words[0] if words and isinstance(words[0], int) else 0
    return (mask & -mask).bit_length() - 1 if mask else None


def _pstate(number: int | None) -> int | None:
    return number if number is not None and number <= 15 else None  # 32: the driver does not know


def _pci_id(number: object) -> str | None:
    """The driver's number holds vendor and device: 0x233010DE -> "10de:2330"."""
    if not isinstance(number, int) or number <= 0:
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
    rx, tx = (*raw.items("flow"), None, None)[:2]
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


def _fabric(raw: Raw) -> Fabric | None:
    told = raw.named("fabric")
    if not told:
        return None
    state, status = told.get("state"), told.get("status")
    done = codes.word(codes.FABRIC_STATES, state) == "completed"
    return Fabric(
        state=codes.word(codes.FABRIC_STATES, state),
        status="success" if status == 0 else f"error {status}",
        health=codes.word(codes.FABRIC_HEALTH, told.get("healthSummary")),
        clique=told.get("cliqueId") if done else None,
    )


def _ecc(raw: Raw) -> Ecc | None:
    on, after = (*raw.items("ecc.mode"), None, None)[:2]
    counts = {
        name: raw.whole(f"ecc.{name}")
        for name in (
            *("corrected_volatile", "uncorrected_volatile"),
            *("corrected_aggregate", "uncorrected_aggregate"),
        )
    }
    if on is None and all(count is None for count in counts.values()):
        return None
    sram = raw.named("ecc.sram")
    parts = [sram.get("aggregateUncParity"), sram.get("aggregateUncSecDed")]
    known = [part for part in parts if part is not None]
    return Ecc(
        on=None if on is None else bool(on),
        on_after_reboot=None if after is None else bool(after),
        **counts,
        sram_uncorrected_aggregate=sum(known) if known else raw.whole("ecc.sram_uncorrected"),
        sram_over_threshold=bool(sram["bThresholdExceeded"]) if "bThresholdExceeded" in sram else None,
    )


def _retired(raw: Raw) -> Retired | None:
    corrected, uncorrected, pending, failed = (*raw.items("retired.rows"), *(None,) * 4)[:4]
    banks = tuple((name, count) for name, count in raw.named("retired.banks").items() if count is not None)
    found = Retired(
        pages_single=raw.whole("retired.pages_single"),
        pages_double=raw.whole("retired.pages_double"),
        pages_pending=raw.flag("retired.pages_pending"),
        rows_corrected=corrected,
        rows_uncorrected=uncorrected,
        rows_pending=None if pending is None else bool(pending),
        rows_failed=None if failed is None else bool(failed),
        banks=banks,
    )
    return None if found == Retired() else found


def _clocks(raw: Raw) -> Clocks:
    names = ("sm_hz", "mem_hz", "sm_max_hz", "mem_max_hz", "sm_app_hz", "sm_app_default_hz")
    return Clocks(**{name: raw.scaled(f"clocks.{name}", MEGA) for name in names})


def _power(raw: Raw) -> Power:
    least, most = (*raw.items("power.limits_w"), None, None)[:2]
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
    left = raw.named("limits")

    def limit(name: str) -> float | None:
        told = raw.scaled(f"thermal.{name}_c", 1.0)
        below = left.get(name)
        if told is not None or gpu is None or margin is None or below is None:
            return told
        return gpu + margin - float(below)

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
    told = raw.named("slowed_s")
    found = tuple((name, spent * _NANO) for name, spent in told.items() if spent is not None)
    return found or None


def _slices(raw: Raw) -> tuple[Slice, ...]:
    return tuple(_slice(one) for one in raw.items("slices") if one.get("gi") is not None)


def _slice(told: dict[str, Any]) -> Slice:
    total, used = (*(told.get("mem") or ()), None, None)[:2]
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
        for pid, mem in told or ():
            found[pid] = Program(
                pid=pid, name=names.get(pid), user=owner(pid), kind=kind, mem_bytes=floats(mem)
            )
    return tuple(found[pid] for pid in sorted(found))
