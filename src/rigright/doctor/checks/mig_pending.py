"""Whether switching MIG on or off waits for a reset.

The mode changes only when the card is reset, which fails silently while something holds the card, even a
monitor. Until then tools show one mode and the next boot brings the other.

Note. Source: NVIDIA's MIG user guide.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering, label, query, reset
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step

TITLE = say("no change of MIG waits")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card that has the mode."""
    for device, _ in answering(case, vendor="nvidia"):
        if device.mig is None:
            continue
        if device.mig_after_reset in {None, device.mig}:
            yield Fine(says=say("none waits"), about=label(device))
            continue
        command = query(device, "mig.mode.current", "mig.mode.pending")
        yield Finding(
            severity="note",
            title=say("MIG will be switched on at the next reset")
            if device.mig_after_reset
            else say("MIG will be switched off at the next reset"),
            evidence=seen(say("the mode now and the mode that waits differ"), command),
            why=say("the next reset or reboot changes what programs find here, maybe when nobody expects it"),
            fix=(step(say("stop monitors and services that hold the card")), reset(device)),
            about=label(device),
        )
