"""What happened between two moments, where only the driver tells."""

from __future__ import annotations

from rigright.machine.system import Event
from rigright.machine.tick import Tick


def from_driver(before: Tick | None, now: Tick) -> tuple[Event, ...]:
    """An XID for each card whose last one is another than before; the same one again cannot be stated."""
    if before is None:
        return ()
    known = {tick.card: tick.last_xid for tick in before.devices}
    return tuple(
        Event(
            kind="xid",
            code=device.last_xid,
            pci=device.pci,
            at_s=now.at_s,
            text=f"{device.card}: the driver's last XID",
        )
        for device in now.devices
        if device.last_xid is not None and device.last_xid != known.get(device.card, device.last_xid)
    )
