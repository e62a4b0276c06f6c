"""Firmware of network cards of one kind in one machine.

Cards of one kind with unlike firmware behave unlike: rates, error handling and adaptive routing differ, and
faults are hard to find.

Note. Source: gpud and imbue's cluster health checks (firmware alike on all cards).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, as_root, seen
from rigright.machine.host import Port

TITLE = say("firmware of network cards is alike")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each kind of card."""
    ids = {one.address: one.id for one in case.machine.pci or ()}
    kinds: dict[tuple[str, str], list[Port]] = {}
    for port in case.machine.ports or ():
        if port.firmware is not None:
            kinds.setdefault((port.kind, ids.get(port.pci or "", "")), []).append(port)
    for alike in kinds.values():
        versions = Counter(port.firmware for port in alike)
        usual = versions.most_common(1)[0][0]
        odd = [port for port in alike if port.firmware != usual]
        if odd:
            yield _finding(odd, usual=usual or "?")
        else:
            yield Fine(says=say("all {version}; ports: {count}", count=len(alike), version=usual))


def _finding(odd: list[Port], *, usual: str) -> Finding:
    named = ", ".join(f"{port.name}: {port.firmware}" for port in odd[:8])
    return Finding(
        severity="note",
        title=say("network cards of one kind have different firmware"),
        evidence=seen(
            say("{odd}; the others {usual}", odd=named, usual=usual),
            "grep -H . /sys/class/infiniband/*/fw_ver",
        ),
        why=say("unlike firmware behaves unlike, and faults are hard to find"),
        fix=(as_root(say("bring all to one version with the maker's tool"), "mlxfwmanager --query"),),
    )
