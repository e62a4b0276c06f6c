"""One moment of a running machine: what `watch`, `measure` and the history keep. None is not observed."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.machine.device import Fabric, Program, Slice


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkTick:
    """One direct link of a device; the rest are counters, since the driver was loaded."""

    index: int
    is_up: bool | None = None
    rx_bytes: float | None = None
    tx_bytes: float | None = None
    errors: tuple[tuple[str, int], ...] = ()  # kind -> how many


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What a device, or one of its MIG instances, did since the reading before; from Hopper on."""

    gpu_instance: int | None = None  # None: the whole device
    sm_share: float | None = None  # of the SMs, that worked
    occupied_share: float | None = None  # of the warps that the SMs can hold
    tensor_share: float | None = None  # of the time, in which tensor cores worked
    dram_share: float | None = None  # of the memory's bandwidth
    nvlink_rx_bytes_per_s: float | None = None  # over all links
    nvlink_tx_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTick:
    """One device at one moment."""

    index: int
    uuid: str | None = None
    name: str | None = None
    state: str = "ok"  # "ok", "lost", "hung", "stale"
    busy_share: float | None = None
    mem_busy_share: float | None = None
    mem_used_bytes: float | None = None
    mem_total_bytes: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    energy_j: float | None = None  # counter
    gpu_c: float | None = None
    mem_c: float | None = None
    fan_share: float | None = None
    sm_hz: float | None = None
    mem_hz: float | None = None
    pcie_gen: int | None = None
    pcie_lanes: int | None = None
    pcie_rx_bytes_per_s: float | None = None
    pcie_tx_bytes_per_s: float | None = None
    pcie_replays: int | None = None  # counter
    slowed_by: tuple[str, ...] | None = None
    ecc_corrected: int | None = None  # since the last reset
    ecc_uncorrected: int | None = None
    rows_pending: bool | None = None
    rows_failed: bool | None = None
    recovery: str | None = None
    links_active: int | None = None
    links: tuple[LinkTick, ...] | None = None
    fabric: Fabric | None = None
    slices: tuple[Slice, ...] | None = None  # MIG instances
    activity: tuple[Activity, ...] | None = None  # where somebody asked for it
    last_xid: int | None = None
    programs: tuple[Program, ...] | None = None
    vendor: str | None = None  # "nvidia", "amd", "intel"
    pci: str | None = None  # "0000:19:00.0"
    age_s: float | None = None  # how old the readings are; None: of this moment

    @property
    def card(self) -> str:
        """The device in one word: "gpu0" (NVIDIA's), "amd1"."""
        kind = "gpu" if self.vendor in {None, "nvidia"} else self.vendor
        return f"{kind}{self.index}"


def card_parts(card: str) -> tuple[str, int]:
    """Its kind and number: "gpu12" -> "gpu", 12."""
    kind = card.rstrip("0123456789")
    return kind, int(card[len(kind) :] or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTick:
    """The rest of the machine at one moment; rates are since the tick before."""

    cpu_share: float | None = None  # of all cores
    busiest_core_share: float | None = None
    wait_share: float | None = None  # cores that wait for disks
    mem_used_bytes: float | None = None
    mem_total_bytes: float | None = None
    swap_used_bytes: float | None = None
    swap_bytes_per_s: float | None = None
    disk_read_bytes_per_s: float | None = None
    disk_write_bytes_per_s: float | None = None
    disk_busy_share: float | None = None  # of the busiest disk
    net_rx_bytes_per_s: float | None = None
    net_tx_bytes_per_s: float | None = None
    cpu_pressure: float | None = None
    mem_pressure: float | None = None
    io_pressure: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeTick:
    """A command and all it started, at one moment."""

    n_processes: int
    cpu_share: float | None = None  # 1.0 is one core
    mem_bytes: float | None = None
    gpu_mem_bytes: tuple[tuple[int, float], ...] = ()  # device index -> bytes
    read_bytes: float | None = None  # counters
    write_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """The whole machine at one moment."""

    at_s: float  # seconds since 1970
    clock_s: float  # a clock that never jumps
    devices: tuple[DeviceTick, ...] = ()
    host: HostTick = HostTick()
    tree: TreeTick | None = None
    on_bus: int | None = None  # accelerators that the bus shows, whatever their drivers say
