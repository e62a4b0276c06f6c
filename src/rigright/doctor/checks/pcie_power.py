"""Cards that the kernel has put to sleep (D3), and take time to wake.

Laptops and some desktops let an idle card lose power between jobs. Waking takes a second or more, clears
clocks and persistence, and some drivers lose the card over it. Where jobs come often, keep it awake.

Note. Source: Linux runtime power management of PCI; NVIDIA driver README, chapter on PCI-Express runtime
D3.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import label
from rigright.doctor.record import Case, Finding, Fine, Verdict, as_root, seen
from rigright.doctor.wires import function_of, is_real
from rigright.machine.device import Device

TITLE = say("cards are awake")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card whose state is told."""
    if not is_real(case):
        return
    for device in case.machine.devices:
        one = function_of(case, device)
        if one is None or one.power_state is None:
            continue
        if one.power_state.startswith("D3"):
            yield _asleep(device, address=one.address, state=one.power_state)
        else:
            yield Fine(says=say("awake ({state})", state=one.power_state), about=label(device))


def _asleep(device: Device, *, address: str, state: str) -> Finding:
    folder = shlex.quote(f"/sys/bus/pci/devices/{address}")
    return Finding(
        severity="note",
        title=say("the kernel has put the card to sleep ({state})", state=state),
        evidence=seen(say("its power state is {state}", state=state), f"cat {folder}/power_state"),
        why=say("the first job after a pause waits for it to wake, and counters start anew"),
        fix=(as_root(say("keep it awake until the next reboot"), f"echo on > {folder}/power/control"),),
        verify=f"cat {folder}/power/control",
        about=label(device),
    )
