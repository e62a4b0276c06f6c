"""Environment variables: visible GPUs, libraries, and what slows programs or collectives."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering
from rigright.doctor.nic import rdma_ports
from rigright.doctor.record import CheckInput, Finding, Fine, NotSeen, Verdict, check
from rigright.doctor.stack import OVERRIDE, frameworks, generation, override_of, variable
from rigright.facts.software import SlowVariable, slowing_variables
from rigright.machine.amd.kernel import shares_memory
from rigright.machine.device import Device

CUDA = re.compile(r"cuda-(\d+\.\d+)")
_VISIBLE = {"CUDA_VISIBLE_DEVICES": "nvidia", "HIP_VISIBLE_DEVICES": "amd", "ROCR_VISIBLE_DEVICES": "amd"}
_GIVEN_OUT_BY = ("SLURM_JOB_ID", "KUBERNETES_SERVICE_HOST", "RAY_JOB_ID")
_ON = {"TRUE": "1", "YES": "1"}
_MANY_THREADS = 8


@check(say("LD_LIBRARY_PATH and LD_PRELOAD"))
def library_path(case: CheckInput) -> Iterator[Verdict]:
    """Whether LD_LIBRARY_PATH and LD_PRELOAD load the libraries that programs were built with.

    A framework's wheel ships its CUDA libraries and finds them by itself; LD_LIBRARY_PATH takes
    precedence. Directories of two CUDA versions, or of another major version than the framework's, load
    a library that it was not tested with. A `stubs` directory holds an empty libcuda that is only for
    linking: with it no GPU is found (error 34). A `compat` directory replaces the driver's library,
    which works on data center GPUs only.

    Fault: stubs. Warning: two CUDA versions, or compat on other GPUs. Source: NVIDIA CUDA compatibility
    guide; cudart error cudaErrorStubLibrary.
    """
    path = variable(case, "LD_LIBRARY_PATH")
    if not path or not case.machine.devices:
        return
    folders = [text for text in path.split(":") if text]
    stubs = [folder for folder in folders if folder.rstrip("/").endswith("/stubs")]
    cudas = sorted(
        {match[1] for folder in folders if (match := CUDA.search(folder)) and "compat" not in folder}
    )
    compat = [folder for folder in folders if "/compat" in folder]
    served = any(chip is not None and chip.segment == "datacenter" for chip in case.chips)
    findings: list[Finding] = []
    if stubs:
        findings.append(advise("variables.stubs", folders=":".join(stubs)[:300]))
    if len(cudas) > 1:
        findings.append(advise("variables.cudas", folders=":".join(folders)[:300], versions=", ".join(cudas)))
    if compat and any(case.chips) and not served:
        findings.append(advise("variables.compat", folders=":".join(compat)[:300]))
    yield from findings
    if not findings:
        yield Fine(says=say("{count} directories checked", count=len(folders)))


@check(say("CUDA_VISIBLE_DEVICES and similar variables"))
def visible_devices(case: CheckInput) -> Iterator[Verdict]:
    """Whether CUDA_VISIBLE_DEVICES (or HIP_..., ROCR_...) names existing GPUs, and what it hides.

    CUDA stops reading the list at the first entry it does not know and silently hides everything after
    it: "0,1,8" on eight GPUs shows two, an empty value or -1 shows none. Entries may be indexes, unique
    UUID prefixes, or the UUID of a MIG instance; on a GPU in MIG mode an index means its first instance
    only. HIP counts the GPUs that ROCR_VISIBLE_DEVICES left: with 1 in both it sees none.

    Warning: an entry that does not exist. Note: GPUs hidden outside of a scheduler. Source: CUDA
    programming guide, environment variables; MIG user guide; HIP documentation, GPU isolation.
    """
    for name, vendor in _VISIBLE.items():
        value = variable(case, name)
        # how many devices programs count it as: AMD's cards that are cut are as many as their parts
        devices = [
            device
            for device in case.machine.devices
            if device.vendor == vendor
            for _ in range(len(device.slices) or 1 if device.vendor == "amd" else 1)
        ]
        if name == "HIP_VISIBLE_DEVICES":
            # how many cards the runtime below HIP shows it; None where it shows all
            text = variable(case, "ROCR_VISIBLE_DEVICES")
            devices = devices[: (None if text is None or not text.strip() else len(set(text.split(","))))]
        if value is not None and devices:
            yield _shown(case, name, value=value, devices=devices)


def _shown(case: CheckInput, name: str, *, value: str, devices: list[Device]) -> Verdict:
    """What one variable shows of the cards: an entry that names none ends the list."""
    count = len(devices)
    entries = [text.strip() for text in value.split(",")] if value.strip() else []
    bad = next((place for place, entry in enumerate(entries) if not _names(entry, devices)), None)
    shown = len(set(entries[:bad]))
    if bad is not None and entries[bad] not in {"-1", "NoDevFiles", "none", "void"}:
        return advise("variables.unknown", name=name, value=value, shown=bad, count=count, entry=entries[bad])
    if shown >= count:
        return Fine(says=say("{name}={value}", name=name, value=value))
    if any(variable(case, text) for text in _GIVEN_OUT_BY):
        says = say("{shown} of {count} GPUs, allocated by the scheduler", shown=shown, count=count)
        return Fine(says=says)
    return advise(
        "variables.hidden",
        severity="note" if shown else "warning",
        name=name,
        value=value or '""',
        shown=shown,
        count=count,
        missing=count - shown,
    )


def _names(entry: str, devices: list[Device]) -> bool:
    """Whether an entry means one card or slice."""
    if entry.isdecimal():
        return int(entry[:6]) < len(devices)
    uuids = {device.uuid.removeprefix("GPU-").lower() for device in devices if device.uuid}
    slices = [part.uuid for device in devices for part in device.slices if part.uuid]
    if entry.startswith("MIG-"):
        return any(uuid.startswith(entry) for uuid in slices) or entry.startswith("MIG-GPU-")
    wanted = entry.removeprefix("GPU-").lower()
    return entry.startswith("GPU-") and sum(uuid.startswith(wanted) for uuid in uuids) == 1


@check(say("GPU numbering (CUDA_DEVICE_ORDER)"))
def device_order(case: CheckInput) -> Iterator[Verdict]:
    """Whether CUDA and nvidia-smi number mixed GPUs in the same order.

    CUDA numbers the fastest GPU first; nvidia-smi numbers by PCI bus ID. With mixed GPUs "GPU 0" means
    different GPUs, and CUDA_VISIBLE_DEVICES=0 picks one that nobody meant. With identical GPUs both
    agree.

    Note: mixed GPUs and CUDA_DEVICE_ORDER not PCI_BUS_ID. Source: CUDA programming guide,
    CUDA_DEVICE_ORDER.
    """
    names = [device.name for device in case.machine.devices if device.vendor == "nvidia" and device.name]
    order = variable(case, "CUDA_DEVICE_ORDER")
    if len(names) < 2:
        return
    if len(set(names)) == 1:
        yield Fine(says=say("identical GPUs"))
    elif order == "PCI_BUS_ID":
        yield Fine(says=say("{name}={value}", name="CUDA_DEVICE_ORDER", value=order))
    else:
        yield advise("variables.order", names=", ".join(names), order=order or say("not set"))


@check(say("NCCL and RCCL variables"))
def nccl_variables(case: CheckInput) -> Iterator[Verdict]:
    """NCCL and RCCL variables that slow down collectives.

    NCCL chooses well by itself. Variables copied from old posts disable what makes it fast (P2P, shared
    memory, InfiniBand, GPUDirect) or flood the log at every step.

    Warning: a path is disabled that this machine has. Note: debug output at every call. Source: NCCL
    environment variables documentation.
    """
    fields = {name: value for name, value in case.machine.environment if name.startswith(("NCCL_", "RCCL_"))}
    if not fields or (len(case.machine.devices) < 2 and not case.is_fragment):
        return
    linked = any(any(link.active for link in device.links or ()) for device in case.machine.devices)
    rdma = any(port.state == "up" for port in rdma_ports(case))
    holds = {"cards": True, "nvlink": linked, "no_nvlink": not linked, "rdma": rdma}
    rows = [row for row in _set(case) if holds.get(row.where)]
    for row in rows:
        value = fields[row.name]
        yield advise("variables.nccl", severity=row.severity, name=row.name, value=value, why=row.why)
    if not rows:
        yield Fine(says=say("{count} variables checked", count=len(fields)))


def _set(case: CheckInput) -> Iterator[SlowVariable]:
    """Those of the table that have a value that slows; "*": any."""
    for row in slowing_variables():
        value = (variable(case, row.name) or "").upper()
        if _ON.get(value, value) == row.value.upper() or (value and row.value == "*"):
            yield row


@check(say("debug variables left on"))
def slow_variables(case: CheckInput) -> Iterator[Verdict]:
    """Debug variables left on.

    CUDA_LAUNCH_BLOCKING=1 waits for every kernel; PYTORCH_NO_CUDA_MEMORY_CACHING=1 allocates every
    tensor from the driver; NVIDIA_TF32_OVERRIDE=0 disables TF32 tensor cores;
    TORCH_DISTRIBUTED_DEBUG=DETAIL cross-checks every collective. OMP_NUM_THREADS=1 leaves preprocessing
    a single core: torchrun sets it for each process and says so.

    Warning: left on, because runs get several times slower without any other sign. Note:
    OMP_NUM_THREADS=1 on a machine with many cores. Source: data/slow_variables.csv.
    """
    if not case.machine.devices and not case.is_fragment:
        return
    for row in (row for row in _set(case) if row.where == "programs"):
        yield advise("variables.slow", severity=row.severity, name=row.name, value=row.value, why=row.why)
    threads = case.machine.cpu.usable or case.machine.cpu.threads or 0
    if variable(case, "OMP_NUM_THREADS") == "1" and threads >= _MANY_THREADS:
        why = say("data preprocessing and CPU work use one of {threads} threads", threads=threads)
        yield advise("variables.slow", severity="note", name="OMP_NUM_THREADS", value="1", why=why)


@check(say("HSA_OVERRIDE_GFX_VERSION"))
def amd_override(case: CheckInput) -> Iterator[Verdict]:
    """Whether HSA_OVERRIDE_GFX_VERSION makes GPUs run kernels they can execute.

    The variable makes ROCm treat every GPU as another chip. It is the way to run gfx1030 kernels on
    close relatives (gfx1031, gfx1032), and spreads from there into shell profiles, where it does harm:
    it applies to every GPU and program, outlives the GPU it was meant for, and keeps native kernels from
    being used. Kernels of another generation are wrong code: page faults, hangs, wrong results.
    Integrated GPUs (gfx1103, gfx1150) hang when treated as gfx1100.

    Fault: another generation, or a value that is not a version. Warning: an integrated GPU treated as a
    discrete one, or an override on a GPU that an installed PyTorch supports natively. Source:
    ROCm/rocBLAS#1339, ROCm/rocm-libraries#6320, ROCm/TheRock#1184.
    """
    text = variable(case, OVERRIDE)
    cards = [device for device, _ in answering(case, vendor="amd")]
    if not text or not cards:
        return
    claimed = override_of(case)
    if claimed is None:
        yield advise("variables.no_version", about=OVERRIDE, value=text)
        return
    for device in cards:
        if device.isa is None:
            why = say("instruction set not reported")
            yield NotSeen(why=why, see="amd-smi static --asic", about=label(device))
        else:
            yield _claimed(case, device, isa=device.isa, other=claimed)


def _claimed(case: CheckInput, device: Device, *, isa: str, other: str) -> Verdict:
    """How bad it is for one card."""
    seen = {"value": variable(case, OVERRIDE), "isa": isa, "other": other}
    if isa != other and generation(isa) != generation(other):
        return advise("variables.other_generation", seen, device=device)
    if isa != other and any(isa in (torch.archs or ()) for _, torch in frameworks(case, "torch")):
        return advise("variables.needless", seen, device=device)
    if shares_memory(isa) and not shares_memory(other) and generation(isa) == "11":
        return advise("variables.integrated", seen, device=device)
    return Fine(says=say("{isa} runs as {other}", isa=isa, other=other), about=label(device))
