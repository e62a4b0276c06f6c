"""Memory of a GPU: all there, free, or shared with the processor."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import MIB, show_bytes
from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering, query, unread
from rigright.doctor.record import Case, Evidence, Fine, NotSeen, Verdict, check
from rigright.machine.device import Device

LEAST_BYTES, LEAST_SHARE = 600 * MIB, 0.02
MUCH_SHARE = 0.1
MOST_NAMED = 4
SOLD_SHARE = 0.90
FREE_SHARE = 0.25


@check(say("memory of a card is free"))
def gpu_memory_held(case: Case) -> Iterator[Verdict]:
    """Memory of a card that is in use though no program is seen, and memory that a plan will miss.

    Without a program a card uses next to nothing (operators allow 15 MiB; a screen takes some hundred). More
    than 2 % and 600 MiB without any program, or a tenth of the card beyond what its programs hold: warning,
    likely: the rest of a program that died, or a program that is hidden from us in another container; in a
    container, or told by a text that may be from one: note, maybe. With `doctor --for PLAN`, programs that
    hold more than a tenth: warning, for a plan must do with what is free. Without a plan, programs at work
    are what cards are for.

    Source: gcm (15 MiB at idle); limits widened for screens and for what drivers count as used.
    """
    system = case.machine.system
    # a text of cards alone may have been written inside a container
    hidden = system.is_contained or (case.machine.origin != "live" and system.kernel is None)
    for device, _ in answering(case):
        used, total = device.mem_used_bytes, device.mem_total_bytes
        if used is None or not total or device.unified_memory or device.mig:
            continue
        if device.programs is None:
            why = say("the driver does not tell which programs use it")
            yield NotSeen(why=why, see="sudo fuser -v /dev/nvidia*", about=label(device))
        elif (unowned := unowned_bytes(device, used=used, total=total)) is not None:
            sizes = {"size": show_bytes(unowned), "used": show_bytes(used)}
            yield advise(
                "gpu_memory.unowned",
                sizes,
                device=device,
                severity="note" if hidden else "warning",
                confidence="maybe" if hidden else "likely",
                all_of_it=sizes["size"] == sizes["used"],
            )
        elif case.wanted is not None and device.programs and used > MUCH_SHARE * total:
            largest = sorted(device.programs, key=lambda one: -(one.mem_bytes or 0))[:MOST_NAMED]
            see = "nvidia-smi" if device.vendor == "nvidia" else None
            programs = tuple(
                Evidence(
                    shows=say(
                        "{name} ({pid}): {size}",
                        name=one.name or "?",
                        pid=one.pid,
                        size="?" if one.mem_bytes is None else show_bytes(one.mem_bytes),
                    ),
                    command=see,
                )
                for one in largest
            )
            yield advise("gpu_memory.programs", device=device, programs=programs)
        else:
            yield Fine(says=say("{size} in use", size=show_bytes(used)), about=label(device))


def unowned_bytes(device: Device, *, used: float, total: float) -> float | None:
    """What is in use beyond all that programs hold, where it is much."""
    held = [one.mem_bytes for one in device.programs or ()]
    if not held:
        return used if used > max(LEAST_BYTES, LEAST_SHARE * total) else None
    if any(one is None for one in held):
        return None
    rest = used - sum(one for one in held if one is not None)
    return rest if rest > max(LEAST_BYTES, MUCH_SHARE * total) else None


@check(say("memory of a card is complete"))
def gpu_memory_total(case: Case) -> Iterator[Verdict]:
    """Whether a card has all the memory its chip is sold with.

    Channels that failed are switched off, and the card goes on with less (XID 160, 168). The driver's total
    lies a little below what is printed on the box, up to 6 % where GDDR keeps its error correction in the
    same memory: less than 90 % is a warning. Sister cards of the same name are compared by another check.

    Source: data/chips.csv (memory as drivers report it).
    """
    for device, chip in answering(case):
        if chip is None or chip.unified_memory or device.unified_memory:
            continue
        total, sold = device.mem_total_bytes, chip.mem_bytes / chip.devices
        if total is None:
            yield unread(device, query(device, "memory.total"))
        elif total < SOLD_SHARE * min((sold, *chip.mem_options_bytes)):
            sizes = {"here": show_bytes(total), "there": show_bytes(sold)}
            yield advise("gpu_memory.less", sizes, device=device, chip=chip.name)
        else:
            yield Fine(says=say("{text}", text=show_bytes(total)), about=label(device))


@check(say("memory shared by processor and accelerator"))
def gpu_unified(case: Case) -> Iterator[Verdict]:
    """Machines whose processor and accelerator share one memory (GB10, Grace, Jetson, Apple, Strix Halo).

    There "memory of the card" is main memory: the driver may tell no total, files that the system keeps
    cached count as used, and a model that is too large makes the whole machine swap or stop rather than
    fail. Less than a quarter available before anything of yours runs: note. Links are not judged here: these
    report Gen1 x1 whatever they are.

    Source: /proc/meminfo; NVIDIA's DGX Spark user guide; reports to gpustat, nvtop and nvitop.
    """
    memory = case.machine.memory
    for device, chip in answering(case):
        if not (device.unified_memory or (chip is not None and chip.unified_memory)):
            continue
        if memory.total_bytes is None or memory.available_bytes is None:
            yield NotSeen(why=say("main memory could not be read"), see="free -h", about=label(device))
            continue
        sizes = {"free": show_bytes(memory.available_bytes), "total": show_bytes(memory.total_bytes)}
        if memory.available_bytes >= FREE_SHARE * memory.total_bytes:
            yield Fine(says=say("{free} of {total} available to both", **sizes), about=label(device))
        else:
            yield advise("gpu_memory.unified", sizes, device=device)
