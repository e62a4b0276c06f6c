"""GPUs: on the bus, listed by their driver, responding, accessible, genuine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, first, label
from rigright.doctor.gpus import answering, see_denied
from rigright.doctor.record import CheckInput, Fine, NotSeen, Severity, Verdict, check
from rigright.doctor.stack import NVIDIA, frameworks, has_no_driver, is_contained, refuses_mismatch
from rigright.doctor.wires import HANDED_ON, accelerators, functions, left_out, silent_places
from rigright.facts.chips import by_id, chips
from rigright.facts.fabrics import fabric_of
from rigright.machine.host import PciDevice
from rigright.machine.nvml.codes import DIED, HUNG, NO_PERMISSION, as_sentence
from rigright.machine.nvml.codes import why as nvml_reason
from rigright.machine.nvml.full import trouble_of
from rigright.machine.nvml.process import NvmlTrouble

_DEADLY = nvml_reason(DIED)
_BLOCKED = "blocked by the operating system"  # by Windows, of what runs in WSL
_UNKNOWN = "initialize nvml: unknown error"
LEAST = 3  # cards, for one to be missing
BOX_CHIPS = 16  # a rack's domain tells nothing of one box
LEAST_SHARE = 0.97  # of the multiprocessors
_MAKERS = {"nvidia": "10de", "amd": "1002", "intel": "8086"}


@check(say("every GPU responds"))
def gpu_answers(case: CheckInput) -> Iterator[Verdict]:
    """Whether each GPU responds to its driver.

    A lost GPU has fallen off the bus (XID 79), or its firmware died (XID 119, 120): programs on it are
    gone, and new ones fail. On the bus such a GPU answers with ones alone: lspci shows it as "rev ff", and
    so it shows the GPU that a laptop has switched off. A hung GPU blocks every tool that queries it; this
    check queries it from a child process under a timeout. A query that crashes the process is reported as
    such.

    Fault; a warning for "rev ff" alone, unless the GPU is one for servers. Sources: NVML's return codes 15
    (GPU is lost) and 10 (timeout); NVIDIA's XID catalog; PCI specification (reads that nobody answers are
    ones).
    """
    places = {device.index: place.address for device, place in silent_places(case)}
    for device in case.machine.devices:
        place = device.pci or places.get(device.index)
        if device.state == "lost":
            on_windows = (case.machine.system.os_id or "").startswith("windows")
            name = "presence.no_handle" if on_windows else "presence.lost"
            yield advise(name, device=device, pci=place or label(device), at=place)
        elif device.state == "hung":
            # the question about this card that ended the process that asked it
            own = f"devices.{device.index}."
            asked = next(
                (gap for gap in case.machine.unseen if gap.what.startswith(own) and gap.why == _DEADLY), None
            )
            if asked is None:
                yield advise("presence.hung", device=device, at=place)
            else:
                what = asked.what.removeprefix(own)
                yield advise(
                    "presence.deadly", device=device, at=place, what=what, why=asked.why, see=asked.see
                )
        elif device.state == "denied":
            why = say("no permission to query the driver")
            yield NotSeen(why=why, see=see_denied(case.machine), about=label(device))
        elif device.state == "slow":
            why = say("the driver is too slow to read completely; persistence mode makes it faster")
            yield NotSeen(why=why, see="nvidia-smi", about=label(device))
        elif device.state == "ok":
            yield Fine(says=say("responds"), about=label(device))
    lost = {
        device.pci or places.get(device.index) for device in case.machine.devices if device.state == "lost"
    }
    known = {number: chip for chip in chips() for number in chip.pci_ids}
    for item in _gone(case):
        if item.address not in lost:
            chip = known.get(item.id)
            is_server = chip is not None and chip.segment == "datacenter"
            yield advise(
                "presence.gone",
                severity="fault" if is_server else "warning",
                about=item.address,
                name=chip.name if chip is not None else item.name or item.id,
                at=item.address,
            )


def _gone(case: CheckInput) -> list[PciDevice]:
    """Cards that answer on the bus with ones alone; one that was suspended is asleep."""
    return [
        device
        for device in accelerators(case)
        if device.is_gone and not (device.power_state or "").startswith("D3")
    ]


@check(say("GPU count per baseboard"))
def gpu_count(case: CheckInput) -> Iterator[Verdict]:
    """Whether an eight-GPU baseboard shows all of its GPUs.

    NVSwitch baseboards carry two, four, eight or sixteen GPUs. Any other count means that GPUs are
    missing: fallen off the bus, not started, or hidden from the driver. Containers and virtual machines
    usually get a share of the GPUs and are skipped. GPUs that are on the bus and not in the driver have
    a check of their own.

    Warning, likely: on bare metal, GPUs of an NVSwitch baseboard whose count is no power of two. Source:
    NVIDIA HGX and DGX data sheets.
    """
    system = case.machine.system
    if system.is_contained or system.is_virtual:
        return
    kinds = Counter(chip for chip in case.chips if chip is not None and fabric_of(chip).kind == "switch")
    silent = case.chips.count(None)
    for chip, answer in kinds.items():
        count = answer + silent  # a card that does not say what it is, is there, and has a check of its own
        boxed = fabric_of(chip).domain <= BOX_CHIPS
        if boxed and count >= LEAST and count & (count - 1):
            yield advise("presence.missing", chip=chip.name, count=count, whole=1 << count.bit_length())
        elif boxed:
            yield Fine(says=say("{count}x {chip}", count=count, chip=chip.name))


def trouble(code: int, *, missing: bool = False) -> str:
    """What a reading of the driver says of one trouble."""
    return str(trouble_of(NvmlTrouble(code=code, missing=missing)))


@check(say("NVIDIA driver responds"))
def gpu_driver(case: CheckInput) -> Iterator[Verdict]:
    """Whether the NVIDIA driver as a whole responds.

    A hung driver blocks every tool and job on the machine, and monitoring dies with it; a driver that
    crashes the process that queries it has damaged files or a GPU in a bad state. It is queried from a
    child process under a timeout; without persistence mode many GPUs may take longer than that to
    initialise, so a hang is likely, not sure. A library version that does not match the kernel module
    has a check of its own.

    Fault; skipped without the permission or package to query it. Source: NVML's return codes; reports of
    hung NVML (NVSentinel issue 1748).
    """
    software = case.machine.software
    error = software.driver_error
    if error is None:
        if any(device.vendor == "nvidia" and device.state == "ok" for device in case.machine.devices):
            yield Fine(says=say("responds"))
    elif error == trouble(NO_PERMISSION):
        yield NotSeen(why=say("no permission to query the driver"), see=see_denied(case.machine))
    elif error == trouble(0, missing=True):
        yield NotSeen(why=say("{text}", text=as_sentence(error)), see="python -m pip install nvidia-ml-py")
    elif not refuses_mismatch(software) or software.kernel_driver is None:
        hangs = error == trouble(HUNG)
        names = {
            "messages.blocked_by_system": _BLOCKED in error.lower(),
            "messages.nvml_unknown": _UNKNOWN in error.lower(),
            "messages.version_mismatch": refuses_mismatch(software),
            "presence.driver_missing": has_no_driver(software),
            "presence.driver_hangs": hangs,
        }
        yield advise(first(names) or "presence.driver_silent", error=as_sentence(error), hangs=hangs)


@check(say("access to AMD and Intel GPU device files"))
def gpu_files(case: CheckInput) -> Iterator[Verdict]:
    """Whether the current user can open AMD and Intel GPUs.

    ROCm opens /dev/kfd and /dev/dri/renderD*, Intel's compute runtime the latter. They belong to group
    render (on some systems video). A user outside that group sees the GPU in amd-smi and lspci, but no
    program finds it: "Unable to open /dev/kfd read-write: Permission denied", "No HIP GPUs are
    available", "No XPU devices are available". A container sees none of them unless started with them.
    Without /dev/kfd there is no ROCm at all: the driver did not accept the GPU for compute.

    Inaccessible or missing: fault if ROCm or a framework for such GPUs is installed, else note. Source:
    ROCm installation guide, prerequisites; Intel's installation guide for GPUs.
    """
    vendors = {
        device.vendor
        for device, chip in answering(case)
        if device.vendor in {"amd", "intel"} and (chip is not None or not device.unified_memory)
    }
    software = case.machine.software
    if not vendors or case.machine.system.virtual == "wsl2":
        return
    # whether something is installed that would open them
    builds = [(torch.build or "") for _, torch in frameworks(case, "torch")]
    used = any(kit.name == "rocm" for kit in software.toolkits) or any(
        build.startswith(("rocm", "xpu")) for build in builds
    )
    severity: Severity = "fault" if used else "note"
    if software.device_files is None or software.closed_files is None:
        why = say("device files and their permissions were not read")
        yield NotSeen(why=why, see="ls -l /dev/kfd /dev/dri")
    elif "amd" in vendors and "kfd" not in software.device_files:
        yield advise("presence.no_kfd", severity=severity, inside=is_contained(case))
    elif software.closed_files:
        files = ", ".join(f"/dev/{name}" for name in software.closed_files)
        yield advise("presence.closed", severity=severity, files=files, inside=is_contained(case))
    else:
        yield Fine(says=say("this user has access"))


@check(say("GPU matches its model"))
def gpu_genuine(case: CheckInput) -> Iterator[Verdict]:
    """Whether a GPU is genuine: SMs and memory bus against its model.

    GPUs are sold under the name of a larger model with modified firmware, and driver names can be wrong.
    The SM count and memory bus width that the driver reports are compared with the data of the model
    that name and PCI ID mean. vGPUs and MIG instances are skipped.

    Warning, likely: fewer than 97 % of the SMs, or a narrower bus. Source: data/chips.csv, each row with
    its source.
    """
    for device, chip in answering(case, vendor="nvidia"):
        if chip is None:
            why = say("model not in the chip tables: {name}", name=device.name or device.pci_id or "?")
            yield NotSeen(why=why, see="rigright look-up chips", about=label(device))
            continue
        sms, bits, whole = device.sms, device.bus_bits, not device.mig
        few = whole and sms and chip.sms and sms < LEAST_SHARE * chip.sms / chip.devices
        narrow = whole and bits and chip.bus_bits and bits < chip.bus_bits / chip.devices
        if few or narrow:
            here = {"sms": sms, "chip_sms": chip.sms, "bits": bits, "chip_bits": chip.bus_bits}
            yield advise(
                "presence.not_genuine", here, device=device, chip=chip.name, few_sms=few, narrow=narrow
            )
        elif sms is not None or bits is not None:
            yield Fine(says=say("matches {chip}", chip=chip.name), about=label(device))


@check(say("GPUs the plan needs"))
def gpu_wanted(case: CheckInput) -> Iterator[Verdict]:
    """Whether the machine has the GPUs a plan was made for.

    Only with `doctor --for PLAN`. A plan's figures, memory and layout hold for its GPU model only.

    Fault: fewer GPUs than planned, or other ones. Source: the plan.
    """
    if case.wanted is None:
        return
    here = Counter(chip.id for _, chip in answering(case) if chip is not None)
    for wanted, count in Counter(case.wanted.chips).items():
        name = by_id()[wanted].name
        if here[wanted] >= count:
            yield Fine(says=say("{count}x {chip} found", count=here[wanted], chip=name))
        else:
            there = Counter(device.name or device.vendor for device, _ in answering(case))
            cards = ", ".join(f"{number}x {kind}" for kind, number in there.items())
            yield advise("presence.not_planned", chip=name, wanted=count, here=here[wanted], cards=cards)


@check(say("every GPU on the PCI bus has a working driver"))
def pcie_driver(case: CheckInput) -> Iterator[Verdict]:
    """GPUs on the PCI bus without a working driver.

    Such a GPU cannot be used: the driver is not installed or not loaded, too old for it, failed to
    initialise it (GSP firmware, power cables), or the GPU is passed through to a virtual machine
    (vfio-pci), which is intended. A GPU that its driver lists and that does not respond, not even with
    its address, has a check of its own (gpu_answers).

    Fault: no driver is bound, or the driver does not list the GPU. Source: guides' `lspci | grep -i
    nvidia` compared with NVML; NVIDIA XID 143 (initialisation failed), 54 (power cable).
    """
    known = {number: chip.name for chip in chips() for number in chip.pci_ids}
    silent = {place.address for _, place in silent_places(case)}
    silent |= {entry.address for entry in _gone(case)}
    missing = [
        entry for entry in left_out(case) if entry.address not in silent and entry.driver not in HANDED_ON
    ]
    container = case.machine.system.is_contained
    makers = {_MAKERS.get(device.vendor) for device in case.machine.devices}
    flag = any(
        function.driver is not None for function in functions(case).values()
    )  # lspci -nn tells of no driver
    unasked = [
        entry for entry in missing if not flag or (entry.driver is not None and entry.id[:4] not in makers)
    ]
    if unasked and not container:
        why = say("{count} on the PCI bus could not be matched with a driver", count=len(unasked))
        yield NotSeen(why=why, see="nvidia-smi -L")
    for item in missing:
        has_driver, is_nvidia = item.driver is not None, item.id.startswith(NVIDIA)
        # a driver that is missing as a whole has a check of its own (gpu_driver)
        is_told = not has_driver and is_nvidia and has_no_driver(case.machine.software)
        if item not in unasked and not (container and has_driver) and not is_told:
            yield advise(
                "presence.left_out" if has_driver else "presence.without_driver",
                vendor="nvidia" if is_nvidia else None,
                about=item.address,
                at=item.address,
                name=known.get(item.id) or item.name or item.id,
                nvidia=is_nvidia,
            )
    if accelerators(case) and not missing and not silent:
        yield Fine(says=say("all listed by the driver; on the bus: {count}", count=len(accelerators(case))))
