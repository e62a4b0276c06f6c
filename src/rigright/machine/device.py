"""One accelerator as its driver shows it. SI units and bytes; None is not observed, never zero."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rigright.base.record import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PcieLink:
    """A link to the slot: as it runs now, and the most each side can."""

    gen: int | None = None
    gen_device_max: int | None = None  # what the card can
    gen_max: int | None = None  # what card and slot together can
    lanes: int | None = None
    lanes_max: int | None = None
    replays: int | None = None  # packets sent again since the driver loaded
    rx_bytes_per_s: float | None = None
    tx_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectLink:
    """One NVLink (or Infinity Fabric, Xe) link of a device."""

    index: int
    active: bool | None = None
    version: float | None = None
    bytes_per_s: float | None = None  # one way, as the driver states it
    peer: str | None = None  # PCI address of what it leads to
    peer_kind: str | None = None  # "gpu", "switch", "cpu"
    errors: tuple[tuple[str, int], ...] = ()  # counter -> errors: ("replay", 0), ("recovery", 0), ("crc", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """How the driver stands to the switches' manager."""

    state: str | None = None  # "completed", "in progress", "not started", "not supported"
    status: str | None = None  # "success" or the driver's error
    health: str | None = None
    bandwidth: str | None = None  # "full", "degraded"
    recovering: bool | None = None  # its routes are being set anew
    route_broken: bool | None = None
    timed_out: bool | None = None  # accesses over it
    clique: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ecc:
    """Error correction: mode, and errors since the last reset (volatile) and ever (aggregate)."""

    on: bool | None = None
    on_after_reboot: bool | None = None
    corrected_volatile: int | None = None
    uncorrected_volatile: int | None = None
    corrected_aggregate: int | None = None
    uncorrected_aggregate: int | None = None
    deferred_volatile: int | None = None  # AMD: wrong data in memory that nobody has read yet
    sram_uncorrected_aggregate: int | None = None
    sram_over_threshold: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """Memory taken out of use: pages before Ampere, rows since."""

    pages_single: int | None = None  # for many corrected errors
    pages_double: int | None = None  # for an uncorrected one
    pages_pending: bool | None = None
    pages_bad: int | None = None  # AMD: all that were found bad
    pages_waiting: int | None = None  # AMD: still in use
    pages_stuck: int | None = None  # AMD: could not be taken out of use
    pages_most: int | None = None  # AMD: from so many on the driver gives the card up
    rows_corrected: int | None = None
    rows_uncorrected: int | None = None
    rows_pending: bool | None = None
    rows_failed: bool | None = None
    channel_repair_pending: bool | None = (
        None  # a memory channel is changed for a spare one at the next reset
    )
    tpc_repair_pending: bool | None = None  # the same of a group of cores
    unrepairable: bool | None = None  # memory that no spare can replace
    banks: tuple[tuple[str, int], ...] = ()  # spare rows left -> banks: ("max", 640), ("none", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """Clocks of cores and memory: now, the most, and what programs are held to."""

    sm_hz: float | None = None
    mem_hz: float | None = None
    sm_max_hz: float | None = None
    mem_max_hz: float | None = None
    sm_app_hz: float | None = None
    sm_app_default_hz: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """What it draws and may draw."""

    draw_w: float | None = None
    limit_w: float | None = None
    limit_default_w: float | None = None
    limit_min_w: float | None = None
    limit_max_w: float | None = None
    energy_j: float | None = None  # since the driver loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Thermal:
    """Temperatures and the card's own limits."""

    gpu_c: float | None = None
    mem_c: float | None = None
    slowdown_c: float | None = None
    shutdown_c: float | None = None
    gpu_most_c: float | None = None  # the card holds itself below it
    mem_most_c: float | None = None
    margin_c: float | None = None  # left until it slows down, as the driver says
    fans: tuple[float, ...] = ()  # share of full speed, one a fan


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """One MIG instance; of AMD's cards one of the parts they are cut into."""

    gpu_instance: int
    compute_instance: int | None = None
    uuid: str | None = None
    profile: str | None = None  # "1g.10gb", "CPX/NPS4"
    mem_total_bytes: float | None = None
    mem_used_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A process that holds memory of a device."""

    pid: int
    name: str | None = None
    user: str | None = None
    kind: str = "compute"  # "compute", "graphics"
    mem_bytes: float | None = None
    gpu_instance: int | None = None  # of MIG
    sm_share: float | None = None  # of the card's time in which its kernels ran; watched only
    encoder_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One accelerator."""

    index: int  # as the vendor's tool counts
    vendor: str  # "nvidia", "amd", "intel", "apple"
    name: str | None = None
    state: str = "ok"  # "ok", "lost", "hung", "slow" (not read in time), "no driver", "denied"
    uuid: str | None = None
    serial: str | None = None
    pci: str | None = None  # "0000:19:00.0"
    pci_id: str | None = None  # "10de:2330"
    board_id: str | None = None  # subsystem: "10de:16c1"
    isa: str | None = None  # compute capability "9.0", "gfx942", "metal"
    brand: str | None = None
    sms: int | None = None
    cores: int | None = None
    vbios: str | None = None
    mem_total_bytes: float | None = None
    mem_used_bytes: float | None = None
    mem_free_bytes: float | None = None
    mem_reserved_bytes: float | None = None
    unified_memory: bool | None = None
    bar1_total_bytes: float | None = None
    bus_bits: int | None = None
    numa_node: int | None = None
    pcie: PcieLink = PcieLink()
    links: tuple[DirectLink, ...] | None = None  # (): the device has none
    cpu_links: tuple[DirectLink, ...] | None = None  # straight to the processor: NVLink-C2C of superchips
    nics: tuple[
        tuple[str, str], ...
    ] = ()  # network card -> the way to it: ("mlx5_0", "PIX"), ("mlx5_4", "SYS")
    fabric: Fabric | None = None
    ecc: Ecc | None = None  # None: it has none, or was not read
    retired: Retired | None = None
    clocks: Clocks = Clocks()
    power: Power = Power()
    thermal: Thermal = Thermal()
    slowed_by: tuple[str, ...] | None = None  # words of data/slowdowns.csv: "sw_power_cap", "hw_thermal", ...
    slowed_s: tuple[tuple[str, float], ...] | None = None  # how long by each of them, since the driver loaded
    busy_share: float | None = None
    mem_busy_share: float | None = None
    pstate: int | None = None
    recovery: str | None = None  # "none", "gpu reset", "node reboot", "drain p2p", "drain and reset", ...
    persistence: bool | None = None
    compute_mode: str | None = None  # "default", "exclusive process", "prohibited"
    display: bool | None = None  # a screen hangs on it
    mig: bool | None = None
    mig_after_reset: bool | None = None
    slices: tuple[Slice, ...] = ()
    programs: tuple[Program, ...] | None = None


_INNER = ("pcie", "clocks", "power", "thermal", "ecc", "retired", "fabric")
_BANKS = ("max", "high", "partial", "low", "none")
_PLAIN = (
    *("name", "uuid", "serial", "pci", "pci_id", "board_id", "isa", "brand", "vbios", "sms", "cores"),
    *("mem_total_bytes", "mem_used_bytes", "mem_free_bytes", "mem_reserved_bytes", "bar1_total_bytes"),
    *("busy_share", "mem_busy_share", "pstate", "persistence", "compute_mode", "display", "numa_node"),
    *("mig", "mig_after_reset", "bus_bits"),
)


_AMDS = re.compile(r"\bAMD\b|Instinct|Radeon|\bMI\d{3}")


def maker_of(name: str) -> str:
    """The vendor of a card by the name that a tool of NVIDIA's or AMD's gives it."""
    return "amd" if _AMDS.search(name) else "nvidia"


def device_from(fields: Mapping[str, Any], *, vendor: str, index: int, **more: Any) -> Device:
    """The device; `more` are fields that no table tells."""
    part = {name: part_of(fields, name) for name in _INNER}
    banks = tuple((name, fields[f"banks.{name}"]) for name in _BANKS if f"banks.{name}" in fields)
    retired = {**part["retired"], **({"banks": banks} if banks else {})}
    # what slows it down; None where nothing of it was stated
    given = part_of(fields, "slow")
    return Device(
        index=index,
        vendor=vendor,
        **{name: fields[name] for name in _PLAIN if name in fields},
        pcie=PcieLink(**part["pcie"]),
        clocks=Clocks(**part["clocks"]),
        power=Power(**part["power"]),
        thermal=Thermal(**part["thermal"], fans=tuple(part_of(fields, "fans").values())),
        ecc=Ecc(**part["ecc"]) if part["ecc"].keys() - {"sram_over_threshold"} else None,
        retired=Retired(**retired) if retired else None,
        fabric=Fabric(**part["fabric"]) if part["fabric"] else None,
        slowed_by=tuple(sorted(name for name, on in given.items() if on)) if given else None,
        slowed_s=tuple(part_of(fields, "slowed").items()) or None,
        **more,
    )


def part_of(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The fields of one inner record."""
    return {key.partition(".")[2]: value for key, value in fields.items() if key.startswith(f"{name}.")}
