"""Whether the driver stays loaded between programs (persistence).

Without it the driver starts a card anew for each first program: seconds at every start, limits and clocks
that somebody set are lost, and counters of errors begin again at zero. While a program runs the driver stays
anyway, so it is never more than a note. With a screen on the card the driver stays too. On Windows and WSL2
there is no such mode.

Source: NVIDIA's driver persistence documentation.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering, label, query
from rigright.doctor.record import Case, Finding, Fine, Verdict, as_root, seen
from rigright.machine.device import Device

TITLE = say("the driver stays loaded between programs")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card."""
    system = case.machine.system
    if system.virtual == "wsl2" or "windows" in (system.os_id or "").lower():
        return
    for device, _ in answering(case, vendor="nvidia"):
        if device.persistence is False and not device.display and not device.unified_memory:
            yield _off(device)
        elif device.persistence is not None:
            yield Fine(says=say("it does"), about=label(device))


def _off(device: Device) -> Finding:
    return Finding(
        severity="note",
        title=say("persistence is off: the driver starts the card anew for each program"),
        evidence=seen(say("persistence mode: off"), query(device, "persistence_mode")),
        why=say(
            "programs start seconds later, power limits and clocks are forgotten, "
            "counters of errors start again"
        ),
        fix=(
            as_root(
                say("keep it on through the daemon that the driver brings"),
                "systemctl enable --now nvidia-persistenced",
            ),
            as_root(say("or until the next boot"), "nvidia-smi -pm 1"),
        ),
        about=label(device),
    )
