"""What runs on the machine: system, kernel, drivers, containers, Python, events. None is not observed."""

from __future__ import annotations

from rigright.base.record import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One loaded kernel module."""

    name: str
    version: str | None = None
    users: tuple[str, ...] = ()
    signer: str | None = None
    open_source: bool | None = None  # NVIDIA's open kernel modules


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """Board, firmware, kernel and its settings."""

    host: str | None = None
    os_id: str | None = None  # "ubuntu"
    os_version: str | None = None  # "22.04"
    os_name: str | None = None  # "Ubuntu 22.04.4 LTS"
    kernel: str | None = None
    kernels: tuple[str, ...] = ()  # installed ones
    arch: str | None = None
    cmdline: str | None = None
    board: str | None = None
    product: str | None = None
    maker: str | None = None
    bios: str | None = None
    bios_date: str | None = None
    virtual: str | None = None  # "kvm", "vmware", "wsl2", ...; "none" on bare metal
    container: str | None = None  # "docker", "podman", "kubernetes", "lxc"; "none"
    as_root: bool | None = None
    up_s: float | None = None
    now_s: float | None = None  # its clock when it was read, seconds since 1970
    secure_boot: bool | None = None
    lockdown: str | None = None
    iommu: str | None = None  # "on", "off", "passthrough"
    modules: tuple[Module, ...] | None = None
    blacklisted: tuple[str, ...] = ()  # modules that modprobe.d keeps out
    module_options: tuple[tuple[str, str], ...] = ()  # "nvidia NVreg_..." -> value
    settings: tuple[tuple[str, str], ...] = ()  # sysctls: ("vm.swappiness", "60")
    limits: tuple[tuple[str, float], ...] = ()  # ("nofile", 1024); inf: none
    clock_synced: bool | None = None
    clock_off_s: float | None = None
    services: tuple[tuple[str, str], ...] = ()  # ("nvidia-persistenced", "active")
    needs_reboot: bool | None = None
    stuck: tuple[str, ...] = ()  # processes that wait without end (state D)
    pressure: tuple[tuple[str, float], ...] = ()  # PSI, share of ten seconds: ("cpu", 0.0), ("io", ...)

    @property
    def is_contained(self) -> bool:
        """Whether we look from inside a container, which shows the host's kernel but not its files."""
        return self.container not in {None, "none"}

    @property
    def is_virtual(self) -> bool:
        """Whether a hypervisor lends it."""
        return self.virtual not in {None, "none"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One installed package of a system or of a Python."""

    name: str
    version: str | None = None
    state: str | None = None  # "installed", "config-files", "half-configured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A framework as one Python has it."""

    name: str  # "torch"
    version: str | None = None
    build: str | None = None  # "cu128", "cpu", "rocm6.4"
    cuda: str | None = None
    cudnn: str | None = None
    archs: tuple[str, ...] | None = None  # "sm_90", "compute_90"; None: not asked
    sees: int | None = None  # devices it finds; None: not asked
    problem: str | None = None  # what importing it said


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """One Python with what is installed in it."""

    path: str
    version: str | None = None
    kind: str | None = None  # "system", "venv", "conda"
    pip: str | None = None
    packages: tuple[Package, ...] | None = None  # those that matter here
    frameworks: tuple[Framework, ...] = ()
    index: str | None = None  # where pip is told to look, without credentials


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolkit:
    """One CUDA or ROCm toolkit on disk."""

    name: str  # "cuda", "rocm"
    path: str
    version: str | None = None
    current: bool = False  # /usr/local/cuda, or nvcc on PATH


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosed:
    """One test of NVIDIA's own diagnosis (DCGM) on one card."""

    test: str  # "memory", "pcie", "software"
    outcome: str  # "pass", "fail", "warn", "skip", "not run"
    card: int | None = None  # as DCGM counts; None: of the machine, or not stated
    says: tuple[str, ...] = ()  # why, in its own words
    code: int | None = None  # of its table of errors
    advice: str | None = None  # "monitor", "isolate", "triage", "configure", "reset": how it weighs the error


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """Drivers and what stands on them."""

    driver: str | None = None  # as the library says
    kernel_driver: str | None = None  # as the loaded module says: /proc/driver/nvidia/version
    disk_driver: str | None = None  # of the module on disk for this kernel
    library_drivers: tuple[str, ...] = ()  # versions of libnvidia-ml/libcuda found
    driver_cuda: str | None = None  # the newest CUDA the driver speaks
    driver_error: str | None = None  # what the driver said instead
    open_kernel: bool | None = None
    device_files: tuple[str, ...] | None = None  # below /dev: "nvidia0", "nvidiactl", "nvidia-uvm", "dxg"
    closed_files: tuple[str, ...] | None = None  # "kfd", "dri/renderD128": those this user may not open
    dkms: tuple[tuple[str, str], ...] = ()  # ("nvidia/550.54.15 6.8.0-40", "installed")
    packages: tuple[Package, ...] = ()  # of the system, those of drivers, toolkits, containers
    toolkits: tuple[Toolkit, ...] = ()
    pythons: tuple[Python, ...] = ()
    nccl: str | None = None
    docker: str | None = None
    docker_runtimes: tuple[str, ...] | None = None
    container_toolkit: str | None = None
    cdi: tuple[str, ...] | None = (
        None  # devices that container engines may be asked for: "nvidia.com/gpu=all"
    )
    docker_default: str | None = None  # the runtime of a container that names none
    fabric_manager: str | None = None  # version
    peermem: bool | None = None  # GPUDirect RDMA module
    diagnosed: tuple[Diagnosed, ...] | None = None  # by `dcgmi diag`; None: not asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something the kernel or a driver said happened."""

    kind: str  # of data/messages.csv: "xid", "sxid", "driver", "aer", "iommu", "mce", "oom", "disk", ...
    text: str  # the line, without secrets
    at_s: float | None = None  # seconds since 1970
    up_s: float | None = None  # or since boot
    pci: str | None = None
    code: int | None = None
    pid: int | None = None
    program: str | None = None
    earlier: bool | None = None  # the log tells that the machine was started anew since
