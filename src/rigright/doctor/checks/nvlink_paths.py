"""Whether the cards of a board with NVLink reach each other over it.

The topology the driver tells names the path between each two cards: NV18 means eighteen links. On boards
with switches every pair has all links of its model; a pair that goes over PCIe or the processors instead,
or over fewer links than another, is a fault of the board, of a switch or of its manager.

Fault. Sources: NVIDIA DGX and HGX data sheets; nvidia-smi topo -m.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering, reboot
from rigright.doctor.record import Case, Evidence, Finding, Fine, NotSeen, Step, Verdict
from rigright.facts.fabrics import fabric_of
from rigright.facts.link_counts import link_count
from rigright.machine.host import Path

TITLE = say("cards of a board reach each other over NVLink")
_LINKS = re.compile(r"NV(\d+)\Z")
_COMMAND = "nvidia-smi topo -m"
MOST_SHOWN = 4


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the machine, where it is such a board."""
    wants = {
        device.index: link_count(chip)
        for device, chip in answering(case, vendor="nvidia")
        if chip is not None and not device.mig and fabric_of(chip).kind == "switch"
    }
    if len(wants) < 2:
        return
    paths = [one for one in case.machine.paths or () if one.a in wants and one.b in wants]
    if not paths:
        yield NotSeen(why=say("the driver does not tell how cards reach each other"), see=_COMMAND)
        return
    bad = [one for one in paths if _links(one) < (wants[one.a] or 0)]
    if bad:
        yield _finding(bad, want=max(count or 0 for count in wants.values()))
    else:
        yield Fine(says=say("{count} pairs", count=len(paths)))


def _links(path: Path) -> int:
    match = _LINKS.match(path.kind)
    return int(match[1]) if match else 0


def _finding(bad: list[Path], *, want: int) -> Finding:
    counts: dict[int, int] = {}
    for path in bad:
        for end in (path.a, path.b):
            counts[end] = counts.get(end, 0) + 1
    worst = max(counts, key=lambda end: counts[end])
    return Finding(
        severity="fault",
        title=say("cards do not reach each other over all of NVLink"),
        evidence=tuple(
            Evidence(
                shows=say(
                    "gpu {a} - gpu {b}: {kind}, should be NV{want}",
                    a=path.a,
                    b=path.b,
                    kind=path.kind,
                    want=want,
                ),
                command=_COMMAND,
            )
            for path in bad[:MOST_SHOWN]
        ),
        why=say("collectives go the slowest of these ways; over PCIe they are ten times slower"),
        fix=(
            Step(
                says=say("see what the fabric manager says"),
                command="systemctl status nvidia-fabricmanager --no-pager",
            ),
            Step(says=say("see which links are down"), command="nvidia-smi nvlink -s"),
            reboot(),
        ),
        verify=_COMMAND,
        about=f"gpu {worst}" if counts[worst] == len(bad) and len(bad) > 1 else None,
    )
