"""Memory of a card that is in use though no program is seen, and memory that a plan will miss.

Without a program a card uses next to nothing (operators allow 15 MiB; a screen takes some hundred). More
than 2 % and 600 MiB without any program, or a tenth of the card beyond what its programs hold: warning,
likely: the rest of a program that died, or a program that is hidden from us in another container; in a
container, or told by a text that may be from one: note, maybe.
With `doctor --for PLAN`, programs that hold more than a tenth:
warning, for a plan must do with what is free. Without a plan, programs at work are what cards are for.

Source: gcm (15 MiB at idle); limits widened for screens and for what drivers count as used.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import MIB, show_bytes
from rigright.base.words import say
from rigright.doctor.gpus import answering, label, query
from rigright.doctor.record import Case, Evidence, Finding, Fine, NotSeen, Verdict, as_root, seen, step
from rigright.machine.device import Device, Program
from rigright.machine.record import Machine

TITLE = say("memory of a card is free")
LEAST_BYTES, LEAST_SHARE = 600 * MIB, 0.02
MUCH_SHARE = 0.1
MOST_NAMED = 4


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card with memory of its own."""
    for device, _ in answering(case):
        used, total = device.mem_used_bytes, device.mem_total_bytes
        if used is None or not total or device.unified_memory or device.mig:
            continue
        if device.programs is None:
            yield NotSeen(
                why=say("the driver does not tell which programs use it"),
                see="sudo fuser -v /dev/nvidia*",
                about=label(device),
            )
        elif (unowned := _unowned_bytes(device, used=used, total=total)) is not None:
            yield _unowned(case, device, unowned_bytes=unowned)
        elif case.wanted is not None and device.programs and used > MUCH_SHARE * total:
            yield _held(device, programs=device.programs)
        else:
            yield Fine(says=say("{size} in use", size=show_bytes(used)), about=label(device))


def _unowned_bytes(device: Device, *, used: float, total: float) -> float | None:
    """What is in use beyond all that programs hold, where it is much."""
    held = [one.mem_bytes for one in device.programs or ()]
    if not held:
        return used if used > max(LEAST_BYTES, LEAST_SHARE * total) else None
    if any(one is None for one in held):
        return None
    rest = used - sum(one for one in held if one is not None)
    return rest if rest > max(LEAST_BYTES, MUCH_SHARE * total) else None


def _unowned(case: Case, device: Device, *, unowned_bytes: float) -> Finding:
    unowned, used = show_bytes(unowned_bytes), show_bytes(device.mem_used_bytes or 0.0)
    contained = case.machine.system.is_contained or _is_pasted(case.machine)
    return Finding(
        severity="note" if contained else "warning",
        title=say("memory is in use, and no program is seen that holds it"),
        evidence=seen(
            say("{size} in use, no program", size=unowned)
            if unowned == used
            else say("{used} in use, {size} of it by no program", used=used, size=unowned),
            query(device, "memory.used", "memory.total"),
        ),
        why=say("a model that should fit will not; the memory comes back only when its holder is gone"),
        fix=(
            as_root(say("see who has the card open, in other containers too"), "fuser -v /dev/nvidia*"),
            step(say("end what is left of a dead program, then look again")),
            as_root(
                say("if nobody holds it, reset the card once nothing runs on it"),
                f"nvidia-smi --gpu-reset -i {device.index}" if device.vendor == "nvidia" else None,
                disturbs=True,
            ),
        ),
        verify=query(device, "memory.used"),
        confidence="maybe" if contained else "likely",
        about=label(device),
    )


def _is_pasted(machine: Machine) -> bool:
    """Whether it is a text of cards alone, that may have been written inside a container."""
    return machine.origin != "live" and machine.system.kernel is None


def _held(device: Device, *, programs: tuple[Program, ...]) -> Finding:
    largest = sorted(programs, key=lambda one: -(one.mem_bytes or 0))[:MOST_NAMED]
    return Finding(
        severity="warning",
        title=say("programs hold memory of the card"),
        evidence=tuple(
            Evidence(
                shows=say(
                    "{name} ({pid}): {size}",
                    name=one.name or "?",
                    pid=one.pid,
                    size="?" if one.mem_bytes is None else show_bytes(one.mem_bytes),
                ),
                command="nvidia-smi" if device.vendor == "nvidia" else None,
            )
            for one in largest
        ),
        why=say("a plan must do with what is free, and programs on one card slow each other"),
        fix=(step(say("end them, or plan with what is free"), "rigright fit --on here"),),
        verify=query(device, "memory.used"),
        about=label(device),
    )
