"""GPU memory: complete, free, unified."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import MIB, show_bytes
from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering, query, unread
from rigright.doctor.record import CheckInput, Evidence, Fine, NotSeen, Verdict, check
from rigright.machine.device import Device

LEAST_BYTES, LEAST_SHARE = 600 * MIB, 0.02
_MUCH_SHARE = 0.1
MOST_NAMED = 4
_SOLD_SHARE = 0.90
FREE_SHARE = 0.25


@check(say("GPU memory is free"))
def gpu_memory_held(case: CheckInput) -> Iterator[Verdict]:
    """GPU memory in use without a visible process, and memory that a plan will miss.

    An idle GPU uses next to nothing (operators allow 15 MiB; a display takes some hundred). More than 2 % and
    600 MiB without any process, or a tenth of the GPU beyond what its processes hold: warning, likely:
    leftovers of a crashed program, or a process hidden in another container; inside a container, or from text
    that may come from one: note, maybe. With `doctor --for PLAN`, processes that hold more than a tenth:
    warning, because the plan has only the rest. Without a plan, running processes are normal.

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
            why = say("GPU processes not reported by the driver")
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
        elif case.wanted is not None and device.programs and used > _MUCH_SHARE * total:
            largest = sorted(device.programs, key=lambda program: -(program.mem_bytes or 0))[:MOST_NAMED]
            see = "nvidia-smi" if device.vendor == "nvidia" else None
            programs = tuple(
                Evidence(
                    shows=say(
                        "{name} ({pid}): {size}",
                        name=program.name or "?",
                        pid=program.pid,
                        size="?" if program.mem_bytes is None else show_bytes(program.mem_bytes),
                    ),
                    command=see,
                )
                for program in largest
            )
            yield advise("gpu_memory.programs", device=device, programs=programs)
        else:
            yield Fine(says=say("{size} in use", size=show_bytes(used)), about=label(device))


def unowned_bytes(device: Device, *, used: float, total: float) -> float | None:
    """What is in use beyond all that programs hold, where it is much."""
    values = [program.mem_bytes for program in device.programs or ()]
    if not values:
        return used if used > max(LEAST_BYTES, LEAST_SHARE * total) else None
    if any(value is None for value in values):
        return None
    rest = used - sum(value for value in values if value is not None)
    return rest if rest > max(LEAST_BYTES, _MUCH_SHARE * total) else None


@check(say("GPU memory size"))
def gpu_memory_total(case: CheckInput) -> Iterator[Verdict]:
    """Whether a GPU has all the memory its model is sold with.

    The GPU disables memory channels that fail and carries on with less (XID 160, 168). The driver's total is
    a little below the advertised size, up to 6 % where GDDR keeps ECC data in the same memory: less than 90 %
    is a warning. Another check compares identical GPUs with each other.

    Source: data/chips.csv (memory as drivers report it).
    """
    for device, chip in answering(case):
        if chip is None or chip.unified_memory or device.unified_memory:
            continue
        total, sold = device.mem_total_bytes, chip.mem_bytes / chip.devices
        if total is None:
            yield unread(device, query(device, "memory.total"))
        elif total < _SOLD_SHARE * min((sold, *chip.mem_options_bytes)):
            sizes = {"here": show_bytes(total), "there": show_bytes(sold)}
            yield advise("gpu_memory.less", sizes, device=device, chip=chip.name)
        else:
            yield Fine(says=say("{text}", text=show_bytes(total)), about=label(device))


@check(say("unified memory"))
def gpu_unified(case: CheckInput) -> Iterator[Verdict]:
    """Unified memory of CPU and GPU (GB10, Grace, Jetson, Apple, Strix Halo).

    GPU memory is system memory there: the driver may report no total, the page cache counts as used, and a
    model that is too large makes the whole machine swap or hang instead of failing. Less than a quarter
    available before your own job starts: note. PCIe links are not checked: these machines report Gen1 x1
    whatever they have.

    Source: /proc/meminfo; NVIDIA's DGX Spark user guide; reports to gpustat, nvtop and nvitop.
    """
    memory = case.machine.memory
    for device, chip in answering(case):
        if not (device.unified_memory or (chip is not None and chip.unified_memory)):
            continue
        if memory.total_bytes is None or memory.available_bytes is None:
            yield NotSeen(why=say("host memory could not be read"), see="free -h", about=label(device))
            continue
        sizes = {"free": show_bytes(memory.available_bytes), "total": show_bytes(memory.total_bytes)}
        if memory.available_bytes >= FREE_SHARE * memory.total_bytes:
            yield Fine(says=say("{free} of {total} available to CPU and GPU", **sizes), about=label(device))
        else:
            yield advise("gpu_memory.unified", sizes, device=device)
