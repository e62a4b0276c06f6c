"""Whether the kernel moves memory between processors by itself while cards work.

With kernel.numa_balancing on, the kernel takes pages away from programs for a moment to see who uses
them, and moves them. For programs pinned to the memory next to their card that is work for nothing;
memory that network cards and GPUs reach directly is disturbed. Guides for large training switch it off.

On, with several memory domains and several cards: note. Source: AMD Instinct and NVIDIA DGX tuning
guides; Linux documentation, admin-guide/sysctl/kernel.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen
from rigright.doctor.stack import is_contained, set_sysctl, setting

TITLE = say("the kernel does not move memory about")
_NAME = "kernel.numa_balancing"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for a machine with several memory domains and cards."""
    value = setting(case, _NAME)
    if (
        len(case.machine.devices) < 2
        or len(case.machine.cpu.nodes) < 2
        or value is None
        or is_contained(case)
    ):
        return
    if value == "0":
        yield Fine(says=say("{name} = {value}", name=_NAME, value=value))
        return
    yield Finding(
        severity="note",
        title=say("the kernel moves memory between processors by itself"),
        evidence=seen(say("{name} = {value}", name=_NAME, value=value), f"sysctl {_NAME}"),
        why=say("steps jitter: pages of pinned programs are taken away to be looked at"),
        fix=(set_sysctl(_NAME, "0"),),
        confidence="maybe",
    )
