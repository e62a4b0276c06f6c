"""Checks of driver, frameworks, settings, variables, the kernel's log and benchmarks: the same four."""

from __future__ import annotations

from dataclasses import replace

from ledger import COMPARED, EVERY, NO_KEEPER, NOW_S, UNSET, Row, told_by, whole

from healthy_systems import DRIVER, KERNEL
from rigright.base.units import TERA
from rigright.doctor.advice import advise
from rigright.doctor.record import Wanted
from rigright.facts.launching import FlagCheck
from rigright.machine.bench.record import Result
from rigright.machine.nvml.codes import MISMATCH, why
from rigright.machine.running.log_lines import event_of
from rigright.machine.running.messages import FIELD, TEXT, message_patterns, values_of
from rigright.machine.system import Diagnosed, Event, Module, Package, Toolkit

OFFICE, DESKTOP = {"on": "office"}, {"on": "desktop"}
INSIDE = {"system__container": "docker"}
WSL = {"on": "desktop", "system__virtual": "wsl2"}
LOCKED_LOG = {"events": None}
QUIET_LOG = {"events": ()}
(VENV,) = whole("server").software.pythons
(TORCH,) = (one for one in VENV.frameworks if one.name == "torch")
ONLY_FINDS = "it has a word for what is set, and none for the rest"


OF_TEXT = "only a text that was handed over has such lines"
NIC = "mlx5_core 0000:9c:00.0: "
SLOW_SLOT = (
    "63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 link at 0000:9b:01.0 "
    "(capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)"
)


def said(line, kind="message"):
    """A line of a text that was handed over."""
    return {"events": (Event(kind=kind, text=line),)}


def told_of(row):
    """An example of a row of the table of messages, how bad it is, and of what."""
    values = values_of(row, row.pattern.search(row.example))
    finding = advise(row.finding, values)
    place = f"gpu {values['gpu']}" if "gpu" in values else values.get("name")
    return said(row.example), finding.severity, place


ROWS = [row for scope in (TEXT, FIELD) for row in message_patterns(scope)]


def log(*lines, times=1):
    """What the kernel wrote an hour ago."""
    told = [event_of(line) for line in lines * times]
    assert None not in told
    return {"events": tuple(replace(one, at_s=NOW_S - 3600.0) for one in told)}


def serves(context):
    """A server that was given some context, where 8,192 tokens were planned."""
    held = FlagCheck(flag="--max-model-len", planned="8192", running=context)
    return {
        "wanted": Wanted(chips=(), engine="vllm", servers=((4242, (held,)),), target="vllm", file="plan.json")
    }


def python(**changed):
    """The environment, changed."""
    return {"software__pythons": (replace(VENV, **changed),)}


def torch(**changed):
    """Its PyTorch, changed."""
    return python(frameworks=(replace(TORCH, **changed),))


def packed(*names):
    """What pip lists."""
    return python(packages=tuple(Package(name=name, version=version) for name, version in names))


def system_packages(*told):
    """What dpkg lists."""
    return {"software__packages": tuple(Package(name=n, version=v, state=state) for n, v, state in told)}


def driver(version, **told):
    """Another driver, all of a piece."""
    names = ("driver", "kernel_driver", "disk_driver")
    said = {f"software__{name}": version for name in names} | {"software__library_drivers": (version,)}
    return said | {"software__driver_cuda": None} | told


def diagnosed(**told):
    """What DCGM says of the fourth card."""
    return {"software__diagnosed": (Diagnosed(**{"test": "memory", "card": 3, **told}),)}


def env(**variables):
    """Variables of the shell."""
    return {"environment": tuple(sorted(variables.items()))}


def settings(**changed):
    """Sysctls, a dot written as two underscores."""
    now = dict(whole("server").system.settings) | {key.replace("__", "."): v for key, v in changed.items()}
    return {"system__settings": tuple(now.items())}


def kit(version):
    """A CUDA toolkit."""
    path = f"/usr/local/cuda-{version.rpartition('.')[0]}"
    return {"software__toolkits": (Toolkit(name="cuda", path=path, version=version, current=True),)}


def gemm(*rates, on="gpu {}"):
    """What each card reached in the same product."""
    return {
        "results": tuple(
            Result(
                part="gemm",
                what="bf16 square",
                on=on.format(index),
                value=rate * TERA,
                low=rate * TERA,
                high=rate * TERA,
                unit="flops_per_s",
                repeats=5,
                chip="NVIDIA H100 80GB HBM3",
            )
            for index, rate in enumerate(rates)
        )
    }


def wrong(count):
    """An exchange of all cards, compared value by value."""
    one = Result(
        part="nccl_tests",
        what="all_reduce 1 GiB",
        on="gpu all",
        value=4e11,
        low=4e11,
        high=4e11,
        unit="bytes_per_s",
        repeats=20,
        settings=(("wrong", str(count)),),
    )
    return {"results": (one,)}


DOCKER = {"software__docker": "29.0", "software__container_toolkit": "1.18"}
UNKNOWN = {"name": "NVIDIA Nonesuch 9000", "pci_id": None}
BLACKWELL = {"name": "NVIDIA GeForce RTX 5090", "pci_id": "10de:2b85", "isa": "12.0"}
NO_MANAGER = {"software__fabric_manager": None, "system__services": (("chrony", "active"),)}
LEFT_LOADED = driver(None) | {
    "devices": (),
    "pci": (),
    "software__disk_driver": DRIVER,
    "system__modules": (),
}
NVIDIA = tuple(one for one in whole("server").system.modules if one.name.startswith("nvidia"))
CARD = "0000:4c:00"
XID = f"NVRM: Xid (PCI:{CARD}): {{}}, pid={{}}, name=python, some words"
BLIND_LINKS = "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer0's postRxDetLinkMask failed!"
TORN = (
    "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing"
)
FLAP = "mlx5_core 0000:1a:00.0 mlx5_0: Link down"

ROWS = {
    "bench_behind": Row(
        finds=(
            (gemm(800, 802, 745, 801, 800), "note", "gpu 2"),
            (gemm(800, 802, 600, 801, 800) | {"every": UNKNOWN}, "fault", "gpu 2"),
            (gemm(800, 802, 705, 801, 800) | {"every": UNKNOWN}, "warning", "gpu 2"),
        ),
        fine=told_by("bench_slow"),
        unseen=told_by("bench_slow"),
        apart={},
    ),
    "bench_slow": Row(
        finds=((gemm(100), "fault", "gpu 0"),),
        fine=gemm(720),
        unseen={},
        apart=OFFICE,
    ),
    "bench_wrong": Row(
        finds=((wrong(3), "fault", "gpu all"),),
        fine=wrong(0),
        unseen=told_by("bench_slow"),
        apart={},
    ),
    "clock_kept": Row(
        finds=(
            ({"system__clock_synced": False}, "warning", None),
            ({"system__clock_synced": False, "system__virtual": "kvm"}, "note", None),
            ({"system__clock_off_s": 3.0}, "warning", None),
            ({"system__clock_off_s": 90.0}, "fault", None),
        ),
        fine={},
        unseen={"system__clock_synced": None},
        apart=EVERY,
    ),
    "container_cards": Row(
        finds=(
            (DOCKER | {"software__docker_runtimes": ("runc",)}, "warning", None),
            ({"software__docker": "29.0", "software__docker_runtimes": ("runc",)}, "note", None),
        ),
        fine=DOCKER | {"software__docker_runtimes": ("nvidia", "runc")},
        unseen=DOCKER | {"software__docker_runtimes": None},
        apart={},
    ),
    "cuda_toolkit": Row(
        finds=(
            (kit("13.2.0"), "note", "/usr/local/cuda-13.2"),
            (kit("13.0.1") | {"software__driver_cuda": "12.9"}, "warning", "/usr/local/cuda-13.0"),
        ),
        fine=kit("12.9.1"),
        unseen=told_by("gpu_driver"),
        apart={},
    ),
    "device_order": Row(
        finds=(({"cards": {0: {"name": "NVIDIA L4"}}}, "note", None),),
        fine={"cards": {0: {"name": "NVIDIA L4"}}} | env(CUDA_DEVICE_ORDER="PCI_BUS_ID"),
        unseen=COMPARED,
        apart={"count": 1},
    ),
    "driver_chip": Row(
        finds=(
            (DESKTOP | driver("470.256.02"), "fault", "NVIDIA GeForce RTX 4090"),
            (
                {
                    "cards": {0: {"name": "Tesla V100-SXM2-16GB", "pci_id": "10de:1db1", "isa": "7.0"}},
                    "count": 1,
                }
                | driver("595.10"),
                "fault",
                "Tesla V100-SXM2-16GB",
            ),
        ),
        fine={},
        unseen=told_by("gpu_driver"),
        apart=WSL,
    ),
    "driver_dkms": Row(
        finds=(
            ({"software__dkms": ((f"nvidia/{DRIVER} 6.5.0-1-generic", "installed"),)}, "warning", KERNEL),
            ({"software__dkms": ((f"nvidia/{DRIVER}", "added"),)}, "warning", KERNEL),
            (
                driver(None) | {"software__dkms": ((f"nvidia/{DRIVER}", "added"),)},
                "fault",
                KERNEL,
            ),
        ),
        fine={"software__dkms": ((f"nvidia/{DRIVER} {KERNEL}", "installed"),)},
        unseen="where DKMS keeps nothing, packages bring the module ready",
        apart={},
    ),
    "driver_ended": Row(
        finds=(
            (driver("550.144.03"), "note", None),
            (driver("525.60.13"), "note", None),
            (driver("384.81"), "note", None),
            (driver("340.108"), "note", None),
        ),
        fine={},
        unseen=told_by("gpu_driver"),
        apart=WSL,
    ),
    "driver_files": Row(
        finds=(
            ({"software__device_files": ("nvidia0", "nvidiactl", "nvidia-uvm")}, "warning", None),
            (DESKTOP | {"software__device_files": ("nvidia0", "nvidia1", "nvidiactl")}, "warning", None),
        ),
        fine={},
        unseen="a closed /dev would leave no driver to speak of",
        apart=OFFICE,
    ),
    "driver_loaded": Row(
        finds=((LEFT_LOADED, "warning", None),),
        fine={},
        unseen=told_by("pcie_driver"),
        apart=OFFICE,
    ),
    "driver_mismatch": Row(
        finds=(
            ({"software__library_drivers": ("580.126.09",)}, "fault", None),
            (
                {"software__driver_error": "Failed to initialize NVML: Driver/library version mismatch"},
                "fault",
                None,
            ),
            (
                {"software__driver_error": str(why(MISMATCH))},
                "fault",
                None,
            ),
            ({"software__disk_driver": "580.126.09"}, "note", None),
        ),
        fine={},
        unseen={"software__kernel_driver": None},
        apart=WSL,
    ),
    "driver_nouveau": Row(
        finds=(({"system__modules": (Module(name="nouveau"),)}, "fault", None),),
        fine={},
        unseen={"system__modules": None},
        apart=OFFICE,
    ),
    "driver_open": Row(
        finds=(
            (
                DESKTOP | {"cards": {0: BLACKWELL}, "software__open_kernel": False, "count": 1, "pci": ()},
                "fault",
                "NVIDIA GeForce RTX 5090",
            ),
            (
                {"cards": {0: {"name": "Tesla V100-SXM2-16GB", "isa": "7.0"}}, "count": 1, "pci": ()},
                "fault",
                "Tesla V100-SXM2-16GB",
            ),
        ),
        fine={},
        unseen=told_by("driver_mismatch"),
        apart=OFFICE,
    ),
    "driver_packages": Row(
        finds=(
            (
                system_packages(
                    ("nvidia-driver-580-open", "580.95.05-1", "installed"),
                    ("libnvidia-compute-535", "535.1-0", "installed"),
                ),
                "warning",
                None,
            ),
            (system_packages(("nvidia-dkms-580-open", "580.1-1", "half-configured")), "warning", None),
            (
                system_packages(
                    ("nvidia-driver-580-open", "580.95.05-1", "installed"),
                    ("nvidia-utils-470", "470.1-0", "config-files"),
                ),
                "note",
                None,
            ),
        ),
        fine={},
        unseen="a system without a list of packages has none of them",
        apart={"software__packages": ()},
    ),
    "driver_signing": Row(
        finds=(({"system__secure_boot": True, "system__modules": ()}, "fault", None),),
        fine={"system__secure_boot": True},
        unseen={"system__secure_boot": None},
        apart=OFFICE,
    ),
    "fabric_service": Row(
        finds=(
            (NO_MANAGER, "fault", None),
            ({"software__fabric_manager": "570.10"}, "fault", None),
            ({"system__services": (("nvidia-fabricmanager", "failed"),)}, "fault", None),
        ),
        fine={},
        unseen={"software__fabric_manager": None, "system__services": ()},
        apart=DESKTOP,
    ),
    "kernel_options": Row(
        finds=(
            ({"system__cmdline": "ro pci=nommconf"}, "warning", "pci=nommconf"),
            ({"system__cmdline": "ro pci=nomsi"}, "fault", "pci=nomsi"),
            ({"system__cmdline": "ro maxcpus=4"}, "note", "maxcpus=4"),
        ),
        fine={},
        unseen="every Linux shows its command line to everybody",
        apart=INSIDE,
    ),
    "library_path": Row(
        finds=(
            (env(LD_LIBRARY_PATH="/usr/local/cuda/lib64/stubs"), "fault", None),
            (env(LD_LIBRARY_PATH="/usr/local/cuda-12.8/lib64:/usr/local/cuda-11.8/lib64"), "warning", None),
            (DESKTOP | env(LD_LIBRARY_PATH="/usr/local/cuda/compat"), "warning", None),
        ),
        fine=env(LD_LIBRARY_PATH="/usr/local/cuda-12.8/lib64"),
        unseen=UNSET,
        apart={},
    ),
    "log_bus": Row(
        finds=(
            (
                log(f"pcieport 0000:48:01.0: AER: Uncorrected (Fatal) error received: {CARD}.0"),
                "fault",
                f"{CARD}.0",
            ),
            (
                log("pcieport 0000:48:01.0: AER: Corrected error received: 0000:48:01.0", times=200),
                "note",
                "0000:48:01.0",
            ),
        ),
        fine=QUIET_LOG,
        unseen=LOCKED_LOG,
        apart=OFFICE | QUIET_LOG,
    ),
    "log_disks": Row(
        finds=(
            (log("blk_update_request: I/O error, dev nvme0n1, sector 1"), "fault", None),
            (log("nvme nvme0: I/O 12 QID 3 timeout, aborting"), "warning", None),
        ),
        fine=QUIET_LOG,
        unseen=LOCKED_LOG,
        apart=EVERY,
    ),
    "log_driver": Row(
        finds=(
            (log("NVRM: GPU 0000:4c:00.0: RmInitAdapter failed! (0x26:0x56:1474)"), "fault", "0000:4c:00.0"),
            (log("NVRM: API mismatch: the client has the version 1, but"), "warning", None),
        ),
        fine=QUIET_LOG,
        unseen=LOCKED_LOG,
        apart=OFFICE | QUIET_LOG,
    ),
    "messages": Row(
        finds=tuple(told_of(row) for row in ROWS if not row.follows),
        fine=OF_TEXT,
        unseen=OF_TEXT,
        apart=QUIET_LOG,
    ),
    "secondary_errors": Row(
        finds=tuple(told_of(row) for row in ROWS if row.follows),
        fine=OF_TEXT,
        unseen=OF_TEXT,
        apart=QUIET_LOG,
    ),
    "unknown_lines": Row(
        finds=((said("flux capacitor: ERROR", kind="unknown"), "note", None),),
        fine=OF_TEXT,
        unseen=OF_TEXT,
        apart=QUIET_LOG,
    ),
    "log_links": Row(
        finds=((log(FLAP, times=5), "warning", "mlx5_0"),),
        fine=log(FLAP),
        unseen=LOCKED_LOG,
        apart={"ports": ()},
    ),
    "log_nics": Row(
        finds=(
            (log(NIC + "device's health compromised - reached miss count"), "fault", "0000:9c:00.0"),
            (log(NIC + "Detected insufficient power on the PCIe slot (27W)."), "warning", "0000:9c:00.0"),
            (
                log(NIC + "temp_warn:122: High temperature on sensors with bit set 0 1"),
                "warning",
                "0000:9c:00.0",
            ),
            (
                log(NIC + "Port module event[error]: module 0, Cable error, Bus stuck"),
                "warning",
                "0000:9c:00.0",
            ),
            (log("infiniband mlx5_4: dump_cqe:272:(pid 6312): dump error cqe"), "note", None),
            (log("infiniband mlx5_4: dump_cqe:272:(pid 6312): dump error cqe", times=12), "warning", None),
            (log(NIC + SLOW_SLOT), "warning", "0000:9c:00.0"),
        ),
        fine=QUIET_LOG,
        unseen=LOCKED_LOG,
        apart={"ports": (), "pci": ()},
    ),
    "log_memory": Row(
        finds=(
            (log("EDAC MC0: 1 UE memory read error on CPU_SrcID#0"), "fault", None),
            (log("EDAC MC0: 1 CE memory read error on CPU_SrcID#0", times=12), "warning", None),
            (log("EDAC MC0: 1 CE memory read error on CPU_SrcID#0"), "note", None),
            (log("Out of memory: Killed process 3 (python) total-vm"), "warning", None),
        ),
        fine=QUIET_LOG,
        unseen=LOCKED_LOG,
        apart=EVERY,
    ),
    "log_heat": Row(
        finds=(
            (
                log("CPU45: Core temperature above threshold, cpu clock throttled (total events = 4)"),
                "warning",
                None,
            ),
            (log("thermal thermal_zone0: critical temperature reached, shutting down"), "fault", None),
        ),
        fine=QUIET_LOG,
        unseen=LOCKED_LOG,
        apart=OFFICE | QUIET_LOG,
    ),
    "log_nvlink": Row(
        finds=(
            (log(BLIND_LINKS, times=64), "warning", None),
            (log("NVRM: knvlinkUpdateLinkConfig: NVLink training failed"), "warning", None),
        ),
        fine=log("NVRM: knvlinkSendInbandData_IMPL: Failed to send inband data: 0"),
        unseen=LOCKED_LOG,
        apart=OFFICE | log(BLIND_LINKS),
    ),
    "nccl_variables": Row(
        finds=(
            (env(NCCL_SHM_DISABLE="1"), "warning", None),
            (env(NCCL_P2P_DISABLE="1"), "warning", None),
            (DESKTOP | env(NCCL_P2P_DISABLE="1"), "note", None),
            (env(NCCL_IB_DISABLE="1"), "warning", None),
        ),
        fine=env(NCCL_DEBUG="INFO"),
        unseen=UNSET,
        apart={},
    ),
    "numa_balancing": Row(
        finds=((settings(kernel__numa_balancing="1"), "note", None),),
        fine={},
        unseen=NO_KEEPER,
        apart=DESKTOP,
    ),
    "files_all": Row(
        finds=(
            (settings(**{"fs__file-nr": "950000\t0\t1000000", "fs__file-max": "1000000"}), "warning", None),
            (log("VFS: file-max limit 1000000 reached"), "warning", None),
        ),
        fine=settings(
            **{"fs__file-nr": "15232\t0\t9223372036854775807", "fs__file-max": "9223372036854775807"}
        ),
        unseen=NO_KEEPER,
        apart={"system__settings": ()},
    ),
    "log_crashes": Row(
        finds=(
            (
                log("python[31]: segfault at 7f79 ip 7f7c sp 7f7c error 4 in libnccl.so.2[7f7c+d3d3000]"),
                "warning",
                None,
            ),
            (
                log("traps: vllm[7] general protection fault ip:7f sp:7f error:0 in libcuda.so.570.1[7f+2]"),
                "warning",
                None,
            ),
        ),
        fine=QUIET_LOG,
        unseen=LOCKED_LOG,
        apart=OFFICE | QUIET_LOG,
    ),
    "log_peermem": Row(
        finds=(
            (log(TORN), "note", None),
            (log(TORN, times=12), "warning", None),
        ),
        fine=QUIET_LOG | {"software__peermem": True},
        unseen="a log that is closed is xid_events' word, and the module is peer_memory's",
        apart=OFFICE | QUIET_LOG | {"software__peermem": None},
    ),
    "open_files": Row(
        finds=(
            ({"system__limits": (("nofile", 1024.0),)}, "warning", None),
            (DESKTOP | {"system__limits": (("nofile", 1024.0),)}, "note", None),
        ),
        fine={},
        unseen=NO_KEEPER,
        apart=OFFICE,
    ),
    "overcommit": Row(
        finds=((settings(vm__overcommit_memory="2"), "warning", None),),
        fine={},
        unseen={"system__settings": ()},
        apart=OFFICE,
    ),
    "packages_outdated": Row(
        finds=(
            (packed(("pynvml", "13.0.1")), "note", VENV.path),
            (packed(("tensorflow-gpu", "2.12.0")), "warning", VENV.path),
        ),
        fine={},
        unseen="a Python whose packages cannot be listed is left out",
        apart={"software__pythons": ()},
    ),
    "packages_twice": Row(
        finds=(
            (packed(("onnxruntime", "1.20"), ("onnxruntime-gpu", "1.20")), "warning", VENV.path),
            (packed(("numpy", "1.26"), ("numpy", "2.1")), "warning", VENV.path),
            (packed(("nvidia-cudnn-cu12", "9"), ("nvidia-cudnn-cu13", "9")), "note", VENV.path),
        ),
        fine={},
        unseen="a Python whose packages cannot be listed is left out",
        apart={"software__pythons": ()},
    ),
    "peer_memory": Row(
        finds=(({"software__peermem": False, "software__open_kernel": False}, "warning", None),),
        fine={},
        unseen={"software__peermem": None, "software__open_kernel": None},
        apart=DESKTOP,
    ),
    "pip_index": Row(
        finds=((python(index="https://download.pytorch.org/whl/cu122"), "warning", VENV.path),),
        fine=python(index="https://download.pytorch.org/whl/cu128"),
        unseen="an index that is not set is the usual one",
        apart={},
    ),
    "processes_stuck": Row(
        finds=(
            ({"system__stuck": ("nvidia-smi (7)",)}, "fault", None),
            ({"system__stuck": ("python (7)",)}, "warning", None),
            (INSIDE | log("INFO: task python:7 blocked for more than 120 seconds."), "warning", None),
        ),
        fine={},
        unseen="every Linux shows the state of processes to everybody",
        apart=INSIDE,
    ),
    "reboot_pending": Row(
        finds=(
            ({"system__needs_reboot": True}, "note", None),
            ({"system__kernels": (KERNEL, "6.8.0-90-generic")}, "note", None),
        ),
        fine={},
        unseen="a system that keeps no mark of it is judged by its kernels",
        apart=INSIDE,
    ),
    "server_flags": Row(
        finds=((serves("4096"), "warning", "pid 4242"),),
        fine=serves("8192"),
        unseen="servers are looked for where their plan is named; those of a file are not told",
        apart={},
    ),
    "slow_variables": Row(
        finds=(
            (env(CUDA_LAUNCH_BLOCKING="1"), "warning", None),
            (env(OMP_NUM_THREADS="1"), "note", None),
        ),
        fine=ONLY_FINDS,
        unseen=UNSET,
        apart=OFFICE | env(CUDA_LAUNCH_BLOCKING="1"),
    ),
    "swappiness": Row(
        finds=(
            (settings(vm__swappiness="100"), "warning", None),
            (settings(vm__swappiness="60"), "note", None),
        ),
        fine={},
        unseen={"system__settings": ()},
        apart={"memory__swap_total_bytes": 0.0},
    ),
    "sxid_events": Row(
        finds=(
            (
                log("nvidia-nvswitch3: SXid (PCI:0000:83:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"),
                "fault",
                "0000:83:00.0",
            ),
            (
                log("nvidia-nvswitch3: SXid (PCI:0000:83:00.0): 12028, Non-fatal, Link 32 egress"),
                "note",
                "0000:83:00.0",
            ),
        ),
        fine=ONLY_FINDS,
        unseen=told_by("xid_events"),
        apart=QUIET_LOG,
    ),
    "torch_chip": Row(
        finds=((torch(archs=("sm_50", "sm_60")), "fault", f"{VENV.path}, NVIDIA H100 80GB HBM3"),),
        fine={},
        unseen=torch(version="9.9.9", build="cu990", archs=None),
        apart={"software__pythons": ()},
    ),
    "torch_cpu_only": Row(
        finds=(
            (torch(build="cpu", cuda=None), "warning", VENV.path),
            (torch(build="rocm6.4", cuda=None), "warning", VENV.path),
        ),
        fine={},
        unseen="a build that is not told is believed",
        apart=OFFICE,
    ),
    "dcgm_diagnosis": Row(
        finds=(
            (diagnosed(outcome="fail"), "fault", "gpu 3"),
            (diagnosed(outcome="fail", advice="isolate"), "fault", "gpu 3"),
            (diagnosed(outcome="fail", advice="configure"), "warning", "gpu 3"),
            (diagnosed(outcome="fail", test="persistence mode"), "warning", "gpu 3"),
            (diagnosed(outcome="fail", advice="monitor"), "warning", "gpu 3"),
            (diagnosed(outcome="warn"), "warning", "gpu 3"),
        ),
        fine=diagnosed(outcome="pass"),
        unseen=diagnosed(outcome="skip"),
        apart={"software__diagnosed": None},
    ),
    "torch_blind": Row(
        finds=(
            (torch(sees=0), "fault", VENV.path),
            (torch(sees=0) | env(CUDA_VISIBLE_DEVICES=""), "fault", VENV.path),
            (torch(sees=0) | INSIDE, "fault", VENV.path),
            (torch(sees=0) | {"on": "desktop"}, "fault", VENV.path),
        ),
        fine=torch(sees=8),
        unseen=torch(sees=0)
        | {f"software__{name}": None for name in ("driver", "kernel_driver", "disk_driver")}
        | {"software__library_drivers": ()},
        apart=torch(sees=0, build="cpu", cuda=None),
    ),
    "torch_driver": Row(
        finds=((driver("535.183.01"), "fault", f"torch, {VENV.path}"),),
        fine={},
        unseen=told_by("gpu_driver"),
        apart=WSL,
    ),
    "torch_python": Row(
        finds=((python(version="3.8.10"), "warning", f"torch, {VENV.path}"),),
        fine={},
        unseen="a release that our table does not hold is left out",
        apart={"software__pythons": ()},
    ),
    "upgrades_unattended": Row(
        finds=(({"system__services": (("unattended-upgrades", "active"),)}, "note", None),),
        fine={"system__services": (("unattended-upgrades", "active"),)}
        | system_packages(("nvidia-driver-580-server-open", "580.95.05-1", "held")),
        unseen="without systemd no such service runs",
        apart={},
    ),
    "visible_devices": Row(
        finds=(
            (env(CUDA_VISIBLE_DEVICES="0,9"), "warning", None),
            (env(CUDA_VISIBLE_DEVICES="0,1"), "note", None),
            (env(CUDA_VISIBLE_DEVICES=""), "warning", None),
        ),
        fine=env(CUDA_VISIBLE_DEVICES="0,1,2,3,4,5,6,7"),
        unseen=UNSET,
        apart={},
    ),
    "wsl_driver": Row(
        finds=(
            (WSL, "fault", None),
            (WSL | {"software__packages": (), "software__device_files": ()}, "fault", None),
            (DESKTOP | {"system__virtual": "wsl1"}, "warning", None),
        ),
        fine=WSL | {"software__packages": (), "software__device_files": ("dxg",)},
        unseen=WSL | {"software__packages": (), "software__device_files": None},
        apart={},
    ),
    "xid_events": Row(
        finds=(
            (log(XID.format(79, "'<unknown>'")), "fault", "gpu 2"),
            (log(XID.format(13, 4242)), "note", "gpu 2"),
            (log(XID.format(13, 4242), times=3), "warning", "gpu 2"),
        ),
        fine=QUIET_LOG,
        unseen=LOCKED_LOG,
        apart=OFFICE | QUIET_LOG,
    ),
    "xid_repeated": Row(
        finds=((log(*(XID.format(13, pid) for pid in (4242, 5151, 6161))), "warning", "gpu 2"),),
        fine=told_by("xid_events"),
        unseen=told_by("xid_events"),
        apart=QUIET_LOG,
    ),
}
