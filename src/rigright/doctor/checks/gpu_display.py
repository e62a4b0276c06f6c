"""Whether a screen hangs on a card that should compute.

A desktop takes some hundred MiB of a card, more with a browser, and a long kernel freezes it. With one card
there is no choice; with several, the screen belongs on the processor's own graphics or on the smallest
card.

Note. Source: what drivers show of used memory on desktops.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering, label, query
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step

TITLE = say("no screen on a card that computes")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card, where there are several."""
    found = answering(case)
    if len(found) < 2:
        return
    for device, _ in found:
        if device.display is False:
            yield Fine(says=say("no screen"), about=label(device))
        elif device.display:
            yield Finding(
                severity="note",
                title=say("a screen hangs on the card"),
                evidence=seen(say("its display is active"), query(device, "display_active")),
                why=say("the desktop takes memory of it, and long kernels make the screen stutter"),
                fix=(step(say("plug the screen into the processor's graphics or into the smallest card")),),
                about=label(device),
            )
