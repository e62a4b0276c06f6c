"""Whether every NVLink link of a card is up, by the number its very model has.

On boards with switches, and where cards are wired to each other (SXM), all links must be up: fewer is a
fault, for collectives run at the pace of the slowest link or fall back to PCIe. Cards with a slot take a
bridge: without one no link is up, and that is no finding; with one, some links up and some down is a
warning. A card that stands alone needs none; that all links of a card of a board are inactive is told on
metal even where it is the only one seen. Chips without NVLink, and GB10, are not asked.

Source of links by model: data/link_rates.csv and data/chips.csv (H100 SXM 18, A100 SXM 12, H100 PCIe 12,
A800 8, V100 6).
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.gpus import FABRIC_LOG, answering, label, reboot, reset
from rigright.doctor.record import Case, Evidence, Finding, Fine, NotSeen, Verdict, seen, step
from rigright.doctor.wires import is_real
from rigright.facts.chips import Chip
from rigright.facts.fabrics import fabric_of
from rigright.facts.link_counts import link_count
from rigright.machine.device import Device

TITLE = say("every NVLink link is up")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card whose model has links."""
    found = answering(case, vendor="nvidia")
    for device, chip in found:
        count = None if chip is None else link_count(chip)
        if chip is None or not count or device.mig:
            continue
        together = sum(other is not None and other.id == chip.id for _, other in found) > 1
        bridged = fabric_of(chip, bridged=True).kind == "bridge"
        if device.links is None:
            if together and not bridged:
                yield NotSeen(
                    why=say("the driver does not tell it"), see=_command(device), about=label(device)
                )
            continue
        active = sum(link.active is True for link in device.links)
        untold = sum(link.active is None for link in device.links)
        # seen alone, on metal, and all its links inactive: its board has switches or others
        is_dark = bool(device.links) and not active and not untold and is_real(case)
        if active < count <= active + untold and together:
            yield NotSeen(why=say("the driver does not tell it"), see=_command(device), about=label(device))
        elif active >= count or (not together and not is_dark) or (bridged and not active):
            yield Fine(says=_fine(active, count, together=together), about=label(device))
        else:
            yield _down(device, chip, active=active, bridged=bridged)


def _fine(active: int, count: int, *, together: bool) -> Sentence:
    if active >= count:
        return say("{count} of {count} up", count=count)
    return say("no bridge is on it") if together else say("it stands alone")


def _command(device: Device) -> str:
    return f"nvidia-smi nvlink -s -i {device.index}"


def _down(device: Device, chip: Chip, *, active: int, bridged: bool) -> Finding:
    links = device.links or ()
    count = link_count(chip)
    down = ", ".join(str(link.index) for link in links if not link.active)
    return Finding(
        severity="warning" if bridged else "fault",
        title=say("NVLink is down") if not active else say("NVLink is down in part"),
        evidence=(
            Evidence(
                shows=say(
                    "{active} of {count} links of {chip} are up", active=active, count=count, chip=chip.name
                ),
                command=_command(device),
            ),
            *(seen(say("down: {links}", links=down)) if down else ()),
        ),
        why=say(
            "cards that exchange fall back to PCIe, or all run at the pace of this one: "
            "collectives become several times slower"
        )
        if not active
        else say("collectives run at the pace of the card with the fewest links"),
        fix=(
            *(
                (step(say("seat the bridge anew, with the machine switched off"), disturbs=True),)
                if bridged
                else (
                    FABRIC_LOG,
                    reset(device),
                    reboot(),
                )
            ),
            step(say("if a link stays down, have the card or its board replaced")),
        ),
        about=label(device),
    )
