"""Whether the kernel module is of the kind that these chips need: open or closed.

NVIDIA ships its kernel module twice. Blackwell and Grace run on the open one alone; Maxwell, Pascal and
Volta on the closed one alone; Turing to Hopper on both. With the wrong kind the driver loads and finds no
card.

Wrong kind: fault. Source: NVIDIA driver installation guide, kernel modules.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step
from rigright.doctor.stack import capabilities, capabilities_on_bus, module
from rigright.facts.drivers import OPEN_FROM, OPEN_ONLY_FROM

TITLE = say("the kernel module is of the kind that the cards need")
_SHOW = "cat /proc/driver/nvidia/version"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a kind of chip."""
    nvidia = module(case, "nvidia")
    is_open = case.machine.software.open_kernel
    if is_open is None:
        is_open = nvidia.open_source if nvidia else None
    if is_open is None or case.machine.system.virtual == "wsl2":
        return
    for capability, name in {**capabilities_on_bus(case), **capabilities(case)}.items():
        wrong_closed = not is_open and capability >= OPEN_ONLY_FROM
        wrong_open = is_open and capability < OPEN_FROM
        if wrong_closed or wrong_open:
            yield Finding(
                severity="fault",
                title=say("{chip} needs the closed kernel module; the open one is loaded", chip=name)
                if is_open
                else say("{chip} needs the open kernel module; the closed one is loaded", chip=name),
                evidence=seen(say("open") if is_open else say("closed"), _SHOW),
                why=say("the driver loads and finds no such card"),
                fix=(step(say("install the other kind of the same branch"), "rigright setup --script"),),
                about=name,
            )
        else:
            yield Fine(says=say("open") if is_open else say("closed"), about=name)
