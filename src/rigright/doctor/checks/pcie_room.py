"""Where another card can go: free slots, as the board's firmware lists them.

No fault is looked for; the free slots of eight lanes and more are told, and how many lanes and which
generation each has. The processor's lanes limit what a board can do: a slot that shares its lanes with
another halves it.

Source: the firmware's table (SMBIOS type 9), which root alone may read.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Fine, NotSeen, Verdict
from rigright.doctor.wires import is_real

TITLE = say("free slots")
WIDE = 8


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the board."""
    slots = case.machine.slots
    if not is_real(case) or (slots is not None and not slots):
        return
    if slots is None:
        closed = next((one for one in case.machine.unseen if one.what == "slots"), None)
        if closed is not None and case.machine.pci:
            yield NotSeen(why=closed.why, see=closed.see)
        return
    free = [slot for slot in slots if slot.in_use is False and (slot.lanes or 0) >= WIDE]
    if free:
        names = ", ".join(f"{slot.name} ({slot.kind})" for slot in free)
        yield Fine(says=say("free for another card: {slots}", slots=names))
    else:
        yield Fine(says=say("no free slot of {lanes} lanes or more", lanes=WIDE))
