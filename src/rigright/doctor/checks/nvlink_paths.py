"""Whether the cards of a board with NVLink reach each other over it.

The topology the driver tells names the path between each two cards: NV18 means eighteen links. With
switches every pair has all links of its model (A100 NV12, H100 NV18); on boards of four cards without
switches they are shared out over the three others (NV4, NV6). Either way every pair has the same: a pair
that goes over PCIe or the processors, or over fewer links than another, is a fault of the board, of a
switch or of its manager.

Fault; where no pair has NVLink in a virtual machine, a warning. Sources: NVIDIA DGX and HGX data sheets;
nvidia-smi topo -m.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import FABRIC_LOG, answering, reboot
from rigright.doctor.record import Case, Evidence, Finding, Fine, NotSeen, Severity, Verdict, step
from rigright.facts.fabrics import fabric_of
from rigright.machine.host import Path

TITLE = say("cards of a board reach each other over NVLink")
_LINKS = re.compile(r"NV(\d{1,18})\Z")
_COMMAND = "nvidia-smi topo -m"
MOST_SHOWN = 4


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the machine, where it is such a board."""
    linked = {
        device.index
        for device, chip in answering(case, vendor="nvidia")
        if chip is not None and not device.mig and fabric_of(chip).kind == "switch"
    }
    if len(linked) < 2:
        return
    paths = [one for one in case.machine.paths or () if {one.a, one.b} <= linked]
    if not paths:
        yield NotSeen(why=say("the driver does not tell how cards reach each other"), see=_COMMAND)
        return
    most = max(map(_links, paths))
    told = {
        device.index
        for device, _ in answering(case)
        if any(link.active is False for link in device.links or ())
    }
    bad = [one for one in paths if _links(one) < max(most, 1) and not {one.a, one.b} & told]
    if bad:
        rented = case.machine.system.is_virtual and not most
        yield _finding(bad, most=most, severity="warning" if rented else "fault")
    else:
        yield Fine(says=say("{count} pairs over {kind}", count=len(paths), kind=f"NV{most}"))


def _links(path: Path) -> int:
    match = _LINKS.match(path.kind)
    return int(match[1]) if match else 0


def _finding(bad: list[Path], *, most: int, severity: Severity) -> Finding:
    counts: dict[int, int] = {}
    for path in bad:
        for end in (path.a, path.b):
            counts[end] = counts.get(end, 0) + 1
    worst = max(counts, key=lambda end: counts[end])
    return Finding(
        severity=severity,
        title=say("cards do not reach each other over all of NVLink"),
        evidence=tuple(
            Evidence(
                shows=say(
                    "gpu {a} - gpu {b}: {kind}; others: {other}",
                    a=path.a,
                    b=path.b,
                    kind=path.kind,
                    other=f"NV{most}" if most else "-",
                ),
                command=_COMMAND,
            )
            for path in bad[:MOST_SHOWN]
        ),
        why=say("collectives go the slowest of these ways; over PCIe they are ten times slower"),
        fix=(
            FABRIC_LOG,
            step(say("see which links are down"), "nvidia-smi nvlink -s"),
            reboot(),
        ),
        verify=_COMMAND,
        about=f"gpu {worst}" if counts[worst] == len(bad) and len(bad) > 1 else None,
    )
