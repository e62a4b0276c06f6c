"""What stands around the accelerators: bus, CPU, memory, disks, network, power. None is not observed."""

from __future__ import annotations

from rigright.base.record import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PciDevice:
    """One function on the bus: accelerators, bridges above them, NVMe disks, network cards."""

    address: str  # "0000:19:00.0"
    id: str  # "10de:2330"
    board_id: str | None = None
    pci_class: str | None = None  # "0x030200"
    name: str | None = None
    driver: str | None = None  # of the kernel; None: none bound
    parents: tuple[str, ...] = ()  # bridges from the root down to it
    gen: int | None = None
    gen_max: int | None = None
    lanes: int | None = None
    lanes_max: int | None = None
    numa_node: int | None = None
    iommu_group: int | None = None
    bars_bytes: tuple[float, ...] = ()
    rebar_max_bytes: float | None = None  # the largest first BAR it could take
    acs: bool | None = None  # whether a bridge sends peer traffic up to the root
    errors: tuple[tuple[str, int], ...] = ()  # AER: ("correctable", 0), ("fatal", 0), ("nonfatal", 0)
    power_state: str | None = None  # "D0", "D3cold"
    is_gone: bool | None = None  # it answers with ones alone, lspci's "rev ff": off the bus, or without power


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One slot of the board, as its firmware lists it."""

    name: str
    kind: str | None = None  # "x16 PCI Express 5"
    lanes: int | None = None
    gen: int | None = None
    in_use: bool | None = None
    address: str | None = None
    length: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """How two devices reach each other: "NV12", "PIX", "PXB", "PHB", "NODE", "SYS", "C2C"."""

    a: int
    b: int
    kind: str
    peer: bool | None = None  # whether the driver allows peer copies


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaNode:
    """One memory domain."""

    index: int
    cpus: str = ""  # "0-15,32-47"
    mem_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """The processors."""

    name: str | None = None
    vendor: str | None = None
    arch: str | None = None  # "x86_64", "aarch64"
    sockets: int | None = None
    cores: int | None = None
    threads: int | None = None
    usable: int | None = None  # threads this process may use: affinity and container
    allowed: str | None = None  # its affinity: "0-15,32-47"
    max_hz: float | None = None
    now_hz: float | None = None
    governors: tuple[str, ...] = ()  # distinct ones
    driver: str | None = None  # "intel_pstate", "amd-pstate-epp"
    preference: str | None = None  # energy_performance_preference
    boost: bool | None = None
    flags: tuple[str, ...] = ()  # those that matter here: "avx512f", "amx_tile", "avx2", ...
    nodes: tuple[NumaNode, ...] = ()
    pcie_lanes: int | None = None
    throttled: int | None = None  # times a core was slowed by heat since boot
    microcode: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryModule:
    """One memory module, or an empty place for one."""

    slot: str
    channel: str | None = None
    size_bytes: float | None = None  # None: empty
    kind: str | None = None  # "DDR5"
    rated_mt_s: float | None = None
    set_mt_s: float | None = None
    ecc: bool | None = None
    maker: str | None = None
    part: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Main memory and what backs it."""

    total_bytes: float | None = None
    available_bytes: float | None = None
    limit_bytes: float | None = None  # of this container
    swap_total_bytes: float | None = None
    swap_used_bytes: float | None = None
    huge_total: int | None = None
    huge_bytes: float | None = None  # of one page
    transparent_huge: str | None = None  # "always", "madvise", "never"
    shm_bytes: float | None = None  # size of /dev/shm
    locked_limit_bytes: float | None = None  # RLIMIT_MEMLOCK; inf: none
    modules: tuple[MemoryModule, ...] | None = None
    corrected_errors: int | None = None  # EDAC
    uncorrected_errors: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """One block device."""

    name: str  # "nvme0n1"
    kind: str | None = None  # "nvme", "ssd", "hdd", "virtual"
    model: str | None = None
    size_bytes: float | None = None
    pci: str | None = None
    gen: int | None = None
    gen_max: int | None = None
    lanes: int | None = None
    lanes_max: int | None = None
    sata_bytes_per_s: float | None = None
    scheduler: str | None = None
    worn_share: float | None = None
    spare_share: float | None = None
    temperature_c: float | None = None
    warnings: tuple[str, ...] = ()  # what SMART says is wrong
    unsafe_shutdowns: int | None = None
    media_errors: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One mounted file system that data may lie on."""

    path: str
    source: str
    kind: str  # "ext4", "xfs", "nfs4", "overlay"
    options: tuple[str, ...] = ()
    disk: str | None = None  # name of a Disk below it
    size_bytes: float | None = None
    free_bytes: float | None = None
    files_free_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """One port of a network card; InfiniBand's too."""

    name: str  # "eth0", "mlx5_0/1"
    kind: str  # "ethernet", "infiniband", "roce", "iwarp", "rdma", "wifi", "virtual"
    model: str | None = None  # "MT4129"
    board: str | None = None  # the board's own number: "MT_0000000838"
    state: str | None = None  # "up", "down", "polling", "init"
    bytes_per_s: float | None = None
    max_bytes_per_s: float | None = None
    lanes: int | None = None
    driver: str | None = None
    pci: str | None = None
    mtu: int | None = None
    firmware: str | None = None
    numa_node: int | None = None
    counters: tuple[tuple[str, int], ...] = ()  # "symbol_error", "link_downed", "rx_errors", ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensor:
    """One sensor of the board, a power supply or a disk."""

    name: str
    kind: str  # "volt", "temperature", "fan", "power", "current", "supply"
    value: float | None = None  # volts, degrees Celsius, turns a minute, watts, amperes
    low: float | None = None  # below it somebody should look
    high: float | None = None
    status: str | None = None  # "ok", or what it says is wrong
    source: str | None = None  # "ipmi", "hwmon", "redfish"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePower:
    """Watts of the whole node, and who says so."""

    watts: float
    source: str  # "dcmi", "sensor", "supplies"
