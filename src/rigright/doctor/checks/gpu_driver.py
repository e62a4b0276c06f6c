"""Whether the driver as a whole answers.

A driver that hangs makes every tool and every job on the machine wait, and monitors die with it; a driver
that ends the process that asks it has damaged files or a card in a bad state. It is asked through a child
process under a time limit, so that this tool goes on; without persistence many cards may take longer
than that to wake, so that a hang is likely, not sure. A library of another version than the kernel's module
has a check of its own.

Fault; not observed where we lack the right or a package to ask. Source: NVML's return codes; reports of
hung NVML (NVSentinel issue 1748).
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import reboot, see_denied, see_kernel_log
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Step, Verdict, as_root, seen, step
from rigright.doctor.stack import has_no_driver, refuses_mismatch
from rigright.machine.nvml.asking import NvmlTrouble
from rigright.machine.nvml.codes import HUNG, NO_PERMISSION, as_sentence
from rigright.machine.nvml.full import trouble_of

TITLE = say("NVIDIA's driver answers")
_SHOW = "timeout 10 nvidia-smi"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the driver."""
    error = case.machine.software.driver_error
    if error is None:
        if any(device.vendor == "nvidia" and device.state == "ok" for device in case.machine.devices):
            yield Fine(says=say("it does"))
    elif error == _told(NO_PERMISSION):
        yield NotSeen(why=say("the driver refuses to tell us"), see=see_denied(case.machine))
    elif error == _told(0, missing=True):
        yield NotSeen(why=say("{text}", text=as_sentence(error)), see="python -m pip install nvidia-ml-py")
    elif not refuses_mismatch(case.machine.software) or case.machine.software.kernel_driver is None:
        yield _silent(error, fix=_bring() if has_no_driver(case.machine.software) else _wake(error))


def _told(code: int, *, missing: bool = False) -> str:
    """What a reading of the driver says of one trouble."""
    return str(trouble_of(NvmlTrouble(code=code, missing=missing)))


def _silent(error: str, *, fix: tuple[Step, ...]) -> Finding:
    hangs = error == _told(HUNG)
    return Finding(
        severity="fault",
        title=say("NVIDIA's driver hangs") if hangs else say("NVIDIA's driver does not work"),
        evidence=seen(as_sentence(error), _SHOW),
        why=say("no card can be used or watched: programs wait without end, or fail at their start"),
        fix=fix,
        confidence="likely" if hangs else "sure",
    )


def _bring() -> tuple[Step, ...]:
    """There is none: load it, or install it."""
    return (
        as_root(say("if it is installed, load it and read what it says"), "modprobe nvidia"),
        step(say("see whether it is built for this kernel"), "dkms status"),
        see_kernel_log(),
        step(say("install the driver that goes with this card and system"), "rigright setup"),
    )


def _wake(error: str) -> tuple[Step, ...]:
    """It is there and does not answer."""
    slow = step(
        say("see whether it only takes long: without persistence it wakes every card first"),
        "time timeout 90 nvidia-smi -L",
    )
    return (
        *((slow,) if error == _told(HUNG) else ()),
        see_kernel_log(),
        step(
            say("see which processes wait for it (state D)"),
            "ps -eo pid,stat,wchan:32,comm | awk '$2 ~ /D/'",
        ),
        reboot(),
        step(
            say("if it comes again, change the driver to the newest of its branch; `rigright setup` names it")
        ),
    )
