"""Environment variables: which cards and libraries programs get, what slows them or their collectives."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.advice import advise, label
from rigright.doctor.gfx import OVERRIDE, generation, override_of
from rigright.doctor.gpus import answering
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Severity, Verdict, check
from rigright.doctor.stack import frameworks, variable
from rigright.machine.amd.isa import shares_memory
from rigright.machine.device import Device

CUDA = re.compile(r"cuda-(\d+\.\d+)")
VISIBLE = {"CUDA_VISIBLE_DEVICES": "nvidia", "HIP_VISIBLE_DEVICES": "amd", "ROCR_VISIBLE_DEVICES": "amd"}
GIVEN_OUT_BY = ("SLURM_JOB_ID", "KUBERNETES_SERVICE_HOST", "RAY_JOB_ID")
ON = {"1", "true", "yes"}
MANY_THREADS = 8
SLOW: tuple[tuple[str, str, Severity, Sentence], ...] = (
    ("CUDA_LAUNCH_BLOCKING", "1", "warning", say("the processor waits for each kernel")),
    ("PYTORCH_NO_CUDA_MEMORY_CACHING", "1", "warning", say("every tensor is allocated anew by the driver")),
    ("NVIDIA_TF32_OVERRIDE", "0", "warning", say("32-bit matrix products leave the fast units")),
    ("CUDA_CACHE_DISABLE", "1", "warning", say("kernels are translated anew at every start")),
    ("TORCH_DISTRIBUTED_DEBUG", "DETAIL", "warning", say("every collective is compared among all ranks")),
    (
        "CUDA_DEVICE_MAX_CONNECTIONS",
        "1",
        "note",
        say("right for Megatron's overlap on chips before Blackwell; elsewhere it serialises streams"),
    ),
    ("TF_FORCE_GPU_ALLOW_GROWTH", "false", "note", say("TensorFlow takes all memory of the card at once")),
)


@check(say("the library path leads to the right libraries"))
def library_path(case: Case) -> Iterator[Verdict]:
    """Whether LD_LIBRARY_PATH and LD_PRELOAD lead programs to the libraries that they were built with.

    A framework's wheel brings its CUDA libraries and finds them by itself; LD_LIBRARY_PATH goes before.
    Folders of two CUDAs there, or one of another major version than the framework's, load a library that it
    was not tested with. A `stubs` folder holds an empty libcuda that is only for linking: with it no card is
    found (error 34). A `compat` folder replaces the driver's library, which helps datacentre cards alone.

    Stubs: fault. Two CUDAs, compat on other cards: warning. Source: NVIDIA CUDA compatibility guide; cudart
    error cudaErrorStubLibrary.
    """
    path = variable(case, "LD_LIBRARY_PATH")
    if not path or not case.machine.devices:
        return
    folders = [one for one in path.split(":") if one]
    stubs = [one for one in folders if one.rstrip("/").endswith("/stubs")]
    cudas = sorted({match[1] for one in folders if (match := CUDA.search(one)) and "compat" not in one})
    compat = [one for one in folders if "/compat" in one]
    served = any(chip is not None and chip.segment == "datacenter" for chip in case.chips)
    found: list[Finding] = []
    if stubs:
        found.append(advise("variables.stubs", folders=":".join(stubs)[:300]))
    if len(cudas) > 1:
        found.append(advise("variables.cudas", folders=":".join(folders)[:300], versions=", ".join(cudas)))
    if compat and any(case.chips) and not served:
        found.append(advise("variables.compat", folders=":".join(compat)[:300]))
    yield from found
    if not found:
        yield Fine(says=say("{count} folders", count=len(folders)))


@check(say("visible devices name cards that are here"))
def visible_devices(case: Case) -> Iterator[Verdict]:
    """Whether CUDA_VISIBLE_DEVICES (or HIP_..., ROCR_...) names cards that are here, and what it hides.

    CUDA stops reading the list at the first entry it does not know, and hides all after it without a word:
    "0,1,8" on eight cards shows two, an empty value or -1 shows none. Entries may be numbers, unique
    beginnings of UUIDs, or the UUID of a MIG slice; on a card in MIG mode a number means its first slice
    alone. HIP counts the cards that ROCR_VISIBLE_DEVICES left: with 1 in both it sees none.

    An entry that names nothing: warning. Cards hidden outside of a batch system: note. Source: CUDA
    programming guide, environment variables; MIG user guide; HIP documentation, GPU isolation.
    """
    for name, vendor in VISIBLE.items():
        value = variable(case, name)
        # how many devices programs count it as: AMD's cards that are cut are as many as their parts
        devices = [
            one
            for one in case.machine.devices
            if one.vendor == vendor
            for _ in range(len(one.slices) or 1 if one.vendor == "amd" else 1)
        ]
        if name == "HIP_VISIBLE_DEVICES":
            # how many cards the runtime below HIP shows it; None where it shows all
            told = variable(case, "ROCR_VISIBLE_DEVICES")
            devices = devices[: (None if told is None or not told.strip() else len(set(told.split(","))))]
        if value is not None and devices:
            yield _shown(case, name, value=value, devices=devices)


def _shown(case: Case, name: str, *, value: str, devices: list[Device]) -> Verdict:
    """What one variable shows of the cards: an entry that names none ends the list."""
    count = len(devices)
    entries = [one.strip() for one in value.split(",")] if value.strip() else []
    bad = next((place for place, entry in enumerate(entries) if not _names(entry, devices)), None)
    shown = len(set(entries[:bad]))
    if bad is not None and entries[bad] not in {"-1", "NoDevFiles", "none", "void"}:
        return advise("variables.unknown", name=name, value=value, shown=bad, count=count, entry=entries[bad])
    if shown >= count:
        return Fine(says=say("{name}={value}", name=name, value=value))
    if any(variable(case, one) for one in GIVEN_OUT_BY):
        says = say("{shown} of {count} cards, as the batch system gave out", shown=shown, count=count)
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
    uuids = {one.uuid.removeprefix("GPU-").lower() for one in devices if one.uuid}
    slices = [part.uuid for one in devices for part in one.slices if part.uuid]
    if entry.startswith("MIG-"):
        return any(uuid.startswith(entry) for uuid in slices) or entry.startswith("MIG-GPU-")
    wanted = entry.removeprefix("GPU-").lower()
    return entry.startswith("GPU-") and sum(uuid.startswith(wanted) for uuid in uuids) == 1


@check(say("programs and nvidia-smi count cards alike"))
def device_order(case: Case) -> Iterator[Verdict]:
    """Whether programs and nvidia-smi count unlike cards in the same order.

    CUDA counts the fastest card first; nvidia-smi counts by place on the bus. With unlike cards "card 0" is
    then another card for a program than for nvidia-smi, and CUDA_VISIBLE_DEVICES=0 picks one that nobody
    meant. With like cards both count alike.

    Unlike cards and CUDA_DEVICE_ORDER not PCI_BUS_ID: note. Source: CUDA programming guide,
    CUDA_DEVICE_ORDER.
    """
    names = [one.name for one in case.machine.devices if one.vendor == "nvidia" and one.name]
    order = variable(case, "CUDA_DEVICE_ORDER")
    if len(names) < 2:
        return
    if len(set(names)) == 1:
        yield Fine(says=say("cards alike"))
    elif order == "PCI_BUS_ID":
        yield Fine(says=say("{name}={value}", name="CUDA_DEVICE_ORDER", value=order))
    else:
        yield advise("variables.order", names=", ".join(names), order=order or say("not set"))


@check(say("no variable holds collectives back"))
def nccl_variables(case: Case) -> Iterator[Verdict]:
    """Whether variables that once helped now hold collectives back.

    NCCL and its kin choose well by themselves. Variables copied from old posts switch off what makes them
    fast: peer copies, shared memory, InfiniBand, GPUDirect; or fill logs at every step.

    A path switched off that this machine has: warning. Debug output at every call: note. Source: NCCL
    environment variables documentation.
    """
    told = {name: value for name, value in case.machine.environment if name.startswith(("NCCL_", "RCCL_"))}
    if not told or len(case.machine.devices) < 2:
        return
    found = list(_hurting(case))
    for name, severity, why in found:
        yield advise("variables.nccl", severity=severity, name=name, value=told[name], why=why)
    if not found:
        yield Fine(says=say("{count} variables looked at", count=len(told)))


def _hurting(case: Case) -> Iterator[tuple[str, Severity, Sentence]]:
    infiniband = any(
        port.kind in {"infiniband", "roce"} and port.state == "up" for port in case.machine.ports or ()
    )
    linked = any(any(link.active for link in device.links or ()) for device in case.machine.devices)
    if _is_on(case, "NCCL_P2P_DISABLE"):
        why = (
            say("cards of one machine then exchange through main memory, past their NVLink")
            if linked
            else say("cards of one machine then exchange through main memory")
        )
        yield "NCCL_P2P_DISABLE", "warning" if linked else "note", why
    if variable(case, "NCCL_P2P_LEVEL") in {"LOC", "0"}:
        yield "NCCL_P2P_LEVEL", "warning" if linked else "note", say("the same as switching peer copies off")
    if _is_on(case, "NCCL_SHM_DISABLE"):
        yield "NCCL_SHM_DISABLE", "warning", say("processes of one machine then speak through the network")
    if infiniband and _is_on(case, "NCCL_IB_DISABLE"):
        yield "NCCL_IB_DISABLE", "warning", say("InfiniBand is up and not used: traffic goes over Ethernet")
    if infiniband and variable(case, "NCCL_NET_GDR_LEVEL") in {"LOC", "0"}:
        yield "NCCL_NET_GDR_LEVEL", "warning", say("network cards then go through main memory")
    if (variable(case, "NCCL_DEBUG") or "").upper() == "TRACE":
        yield "NCCL_DEBUG", "note", say("every call writes a line: slow, and logs without end")
    if variable(case, "NCCL_ALGO") or variable(case, "NCCL_PROTO"):
        name = "NCCL_ALGO" if variable(case, "NCCL_ALGO") else "NCCL_PROTO"
        yield name, "note", say("one way for all sizes: its own choice differs by size, and is measured")


def _is_on(case: Case, name: str) -> bool:
    return (variable(case, name) or "").lower() in ON


@check(say("no variable for finding errors is left on"))
def slow_variables(case: Case) -> Iterator[Verdict]:
    """Whether variables for finding errors, or for one core, are left on.

    CUDA_LAUNCH_BLOCKING=1 waits for each kernel; PYTORCH_NO_CUDA_MEMORY_CACHING=1 allocates anew each time;
    NVIDIA_TF32_OVERRIDE=0 takes the fast matrix units away; TORCH_DISTRIBUTED_DEBUG=DETAIL compares every
    collective. OMP_NUM_THREADS=1 leaves preparation of data one core: torchrun sets it by itself for each
    process and says so.

    Left on: warning, since runs are several times slower and nothing else tells; OMP_NUM_THREADS=1 on a
    machine with many cores: note. Source: PyTorch and CUDA documentation of these variables.
    """
    if not case.machine.devices:
        return
    for name, value, severity, why in SLOW:
        if (variable(case, name) or "").upper() == value.upper():
            yield advise("variables.slow", severity=severity, name=name, value=value, why=why)
    threads = case.machine.cpu.usable or case.machine.cpu.threads or 0
    if variable(case, "OMP_NUM_THREADS") == "1" and threads >= MANY_THREADS:
        why = say("preparation of data and work on the processor use one core of {threads}", threads=threads)
        yield advise("variables.slow", severity="note", name="OMP_NUM_THREADS", value="1", why=why)


@check(say("cards run code of their own kind"))
def amd_override(case: Case) -> Iterator[Verdict]:
    """Whether HSA_OVERRIDE_GFX_VERSION makes cards run code that they can run.

    The variable makes ROCm take every card for another chip. It is the way to run the kernels of gfx1030 on
    its kin (gfx1031, gfx1032), and spreads from there into shell profiles, where it does harm: it holds for
    all cards of a machine and for all programs, it outlives the card it was meant for, and it keeps kernels
    that were made for a card from being used. Kernels of another generation are wrong code: page faults,
    hangs, wrong results. Graphics inside processors (gfx1103, gfx1150) hang when they are taken for the card
    gfx1100.

    Another generation, or a value that is no version: fault. A chip inside a processor taken for a card, or
    an override of a card that an installed PyTorch knows by itself: warning. Source: ROCm/rocBLAS#1339,
    ROCm/rocm-libraries#6320, ROCm/TheRock#1184.
    """
    told = variable(case, OVERRIDE)
    cards = [device for device, _ in answering(case, vendor="amd")]
    if not told or not cards:
        return
    claimed = override_of(case)
    if claimed is None:
        yield advise("variables.no_version", about=OVERRIDE, value=told)
        return
    for device in cards:
        if device.isa is None:
            why = say("its instruction set is not told")
            yield NotSeen(why=why, see="amd-smi static --asic", about=label(device))
        else:
            yield _claimed(case, device, isa=device.isa, other=claimed)


def _claimed(case: Case, device: Device, *, isa: str, other: str) -> Verdict:
    """How bad it is for one card."""
    seen = {"value": variable(case, OVERRIDE), "isa": isa, "other": other}
    if isa != other and generation(isa) != generation(other):
        return advise("variables.other_generation", seen, device=device)
    if isa != other and any(isa in (torch.archs or ()) for _, torch in frameworks(case, "torch")):
        return advise("variables.needless", seen, device=device)
    if shares_memory(isa) and not shares_memory(other) and generation(isa) == "11":
        return advise("variables.integrated", seen, device=device)
    return Fine(says=say("{isa} runs as {other}", isa=isa, other=other), about=label(device))
