"""GPUs that are there: on the bus, offered by their driver, answering, open to programs, genuine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, first, label
from rigright.doctor.gpus import answering, see_denied
from rigright.doctor.record import Case, Fine, NotSeen, Severity, Verdict, check
from rigright.doctor.stack import NVIDIA, frameworks, has_no_driver, is_contained, refuses_mismatch
from rigright.doctor.wires import accelerators, functions, left_out, silent_places
from rigright.facts.chips import by_id, chips
from rigright.facts.fabrics import fabric_of
from rigright.machine.nvml.asking import NvmlTrouble
from rigright.machine.nvml.codes import DIED, HUNG, NO_PERMISSION, as_sentence
from rigright.machine.nvml.codes import why as told
from rigright.machine.nvml.full import trouble_of

DEADLY = told(DIED)
LEAST = 3  # cards, for one to be missing
BOX_CHIPS = 16  # a rack's domain tells nothing of one box
LEAST_SHARE = 0.97  # of the multiprocessors
MAKERS = {"nvidia": "10de", "amd": "1002", "intel": "8086"}
HANDED_ON = {"vfio-pci", "pci-stub", "xen-pciback"}


@check(say("every accelerator answers"))
def gpu_answers(case: Case) -> Iterator[Verdict]:
    """Whether each accelerator answers its driver.

    A card that is lost has fallen off the bus (XID 79), or its firmware has died (XID 119, 120): programs on
    it are gone, and new ones fail. A card that hangs makes every tool that asks it wait; this one asks
    through a child process under a time limit, and says so. A question that ends the process that asks is
    told as that.

    Any such state is a fault. Sources: NVML's return codes 15 (GPU is lost) and 10 (timeout); NVIDIA's XID
    catalog.
    """
    places = {device.index: place.address for device, place in silent_places(case)}
    for device in case.machine.devices:
        place = device.pci or places.get(device.index)
        if device.state == "lost":
            yield advise("presence.lost", device=device, pci=place or "?", at=place)
        elif device.state == "hung":
            # the question about this card that ended the process that asked it
            own = f"devices.{device.index}."
            asked = next(
                (one for one in case.machine.unseen if one.what.startswith(own) and one.why == DEADLY), None
            )
            if asked is None:
                yield advise("presence.hung", device=device, at=place)
            else:
                what = asked.what.removeprefix(own)
                yield advise(
                    "presence.deadly", device=device, at=place, what=what, why=asked.why, see=asked.see
                )
        elif device.state == "denied":
            why = say("the driver refuses to tell us")
            yield NotSeen(why=why, see=see_denied(case.machine), about=label(device))
        elif device.state == "slow":
            why = say("the driver was so slow that not all was read of it; persistence mode makes it faster")
            yield NotSeen(why=why, see="nvidia-smi", about=label(device))
        elif device.state == "ok":
            yield Fine(says=say("it answers"), about=label(device))


@check(say("all cards of a board are there"))
def gpu_count(case: Case) -> Iterator[Verdict]:
    """Whether a board that bears eight cards shows all of them.

    Boards with NVSwitch bear two, four, eight or sixteen cards. Any other count on such a board means that
    cards are missing: fallen off the bus, not started, or kept from the driver. In a container or a virtual
    machine a share of the cards is normal, and nothing is said. Cards that the bus shows and the driver does
    not have a check of their own.

    Warning, likely: on a real machine, cards of a board with switches, a count that is no power of two.
    Source: NVIDIA HGX and DGX data sheets.
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
            yield Fine(says=say("{count} of {chip}", count=count, chip=chip.name))


def trouble(code: int, *, missing: bool = False) -> str:
    """What a reading of the driver says of one trouble."""
    return str(trouble_of(NvmlTrouble(code=code, missing=missing)))


@check(say("NVIDIA's driver answers"))
def gpu_driver(case: Case) -> Iterator[Verdict]:
    """Whether the driver as a whole answers.

    A driver that hangs makes every tool and every job on the machine wait, and monitors die with it; a
    driver that ends the process that asks it has damaged files or a card in a bad state. It is asked through
    a child process under a time limit, so that this tool goes on; without persistence many cards may take
    longer than that to wake, so that a hang is likely, not sure. A library of another version than the
    kernel's module has a check of its own.

    Fault; not observed where we lack the right or a package to ask. Source: NVML's return codes; reports of
    hung NVML (NVSentinel issue 1748).
    """
    software = case.machine.software
    error = software.driver_error
    if error is None:
        if any(device.vendor == "nvidia" and device.state == "ok" for device in case.machine.devices):
            yield Fine(says=say("it does"))
    elif error == trouble(NO_PERMISSION):
        yield NotSeen(why=say("the driver refuses to tell us"), see=see_denied(case.machine))
    elif error == trouble(0, missing=True):
        yield NotSeen(why=say("{text}", text=as_sentence(error)), see="python -m pip install nvidia-ml-py")
    elif not refuses_mismatch(software) or software.kernel_driver is None:
        hangs = error == trouble(HUNG)
        names = {"presence.driver_missing": has_no_driver(software), "presence.driver_hangs": hangs}
        yield advise(first(names) or "presence.driver_silent", error=as_sentence(error), hangs=hangs)


@check(say("programs may open AMD's and Intel's cards"))
def gpu_files(case: Case) -> Iterator[Verdict]:
    """Whether programs may open the cards of AMD and Intel.

    ROCm opens /dev/kfd and /dev/dri/renderD*, Intel's compute runtime the latter. They belong to the group
    render (on some systems video). A user outside of it sees the card in amd-smi, lspci and on the screen,
    and no program finds it: "Unable to open /dev/kfd read-write: Permission denied", "No HIP GPUs are
    available", "No XPU devices are available". A container is shown none of them unless it was started with
    them. Without /dev/kfd there is no ROCm at all: the driver did not take the card for compute.

    Closed or missing: fault where ROCm or a framework for such cards is installed, else note. Source: ROCm
    installation guide, prerequisites; Intel's installation guide for GPUs.
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
        why = say("which files there are, and who may open them, was not looked at")
        yield NotSeen(why=why, see="ls -l /dev/kfd /dev/dri")
    elif "amd" in vendors and "kfd" not in software.device_files:
        yield advise("presence.no_kfd", severity=severity, inside=is_contained(case))
    elif software.closed_files:
        files = ", ".join(f"/dev/{name}" for name in software.closed_files)
        yield advise("presence.closed", severity=severity, files=files, inside=is_contained(case))
    else:
        yield Fine(says=say("this user may open them"))


@check(say("a card is what it says"))
def gpu_genuine(case: Case) -> Iterator[Verdict]:
    """Whether a card is what it says: cores and memory bus against the chip of that name.

    Cards are sold under the name of a larger one with changed firmware, and names in drivers can be wrong.
    What the driver counts (multiprocessors, width of the memory bus) is held against the facts of the chip
    that name and PCI id mean. Fewer than 97 % of the multiprocessors, or a narrower bus: warning, likely. A
    virtual share of a card (vGPU) and MIG slices are left out.

    Source: data/chips.csv, each row with its source.
    """
    for device, chip in answering(case, vendor="nvidia"):
        if chip is None:
            why = say("no such chip is in our tables: {name}", name=device.name or device.pci_id or "?")
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
            yield Fine(says=say("as {chip} should be", chip=chip.name), about=label(device))


@check(say("the cards of the plan"))
def gpu_wanted(case: Case) -> Iterator[Verdict]:
    """Whether the machine has the cards a plan was made for.

    Only with `doctor --for PLAN`. Fewer cards than planned, or other ones: fault, the plan does not hold
    here. Figures of a plan are for its very chip, and so are memory and layout.

    Source: the plan.
    """
    if case.wanted is None:
        return
    here = Counter(chip.id for _, chip in answering(case) if chip is not None)
    for wanted, count in Counter(case.wanted.chips).items():
        name = by_id()[wanted].name
        if here[wanted] >= count:
            yield Fine(says=say("{count} of {chip} are here", count=here[wanted], chip=name))
        else:
            there = Counter(device.name or device.vendor for device, _ in answering(case))
            cards = ", ".join(f"{number}x {kind}" for kind, number in there.items())
            yield advise("presence.not_planned", chip=name, wanted=count, here=here[wanted], cards=cards)


@check(say("every accelerator on the bus is offered by its driver"))
def pcie_driver(case: Case) -> Iterator[Verdict]:
    """Accelerators that the bus shows and no driver offers.

    A card on the bus without a driver, or one whose driver does not list it, cannot be used: the driver is
    not installed or not loaded, does not know the card (too old), failed to start it (GSP firmware, power
    cables), or the card was handed to a virtual machine (vfio-pci), which is meant. A card that its driver
    lists and that does not answer, not even with its address, has a check of its own (gpu_answers).

    Fault where no driver is bound or the driver leaves the card out. Source: guides' `lspci | grep -i
    nvidia` held against NVML; NVIDIA XID 143 (initialisation failed), 54 (power cable).
    """
    known = {number: chip.name for chip in chips() for number in chip.pci_ids}
    silent = {place.address for _, place in silent_places(case)}
    missing = [one for one in left_out(case) if one.address not in silent and one.driver not in HANDED_ON]
    container = case.machine.system.is_contained
    makers = {MAKERS.get(device.vendor) for device in case.machine.devices}
    told = any(one.driver is not None for one in functions(case).values())  # lspci -nn tells of no driver
    unasked = [one for one in missing if not told or (one.driver is not None and one.id[:4] not in makers)]
    if unasked and not container:
        why = say("the driver of {count} on the bus lists nothing, or was not asked", count=len(unasked))
        yield NotSeen(why=why, see="nvidia-smi -L")
    for one in missing:
        has_driver, is_nvidia = one.driver is not None, one.id.startswith(NVIDIA)
        # a driver that is missing as a whole has a check of its own (gpu_driver)
        is_told = not has_driver and is_nvidia and has_no_driver(case.machine.software)
        if one not in unasked and not (container and has_driver) and not is_told:
            yield advise(
                "presence.left_out" if has_driver else "presence.without_driver",
                vendor="nvidia" if is_nvidia else None,
                about=one.address,
                at=one.address,
                name=known.get(one.id) or one.name or one.id,
                nvidia=is_nvidia,
            )
    if accelerators(case) and not missing and not silent:
        yield Fine(says=say("all offered; on the bus: {count}", count=len(accelerators(case))))
