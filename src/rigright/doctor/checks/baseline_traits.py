"""Whether this node is as the baseline of its type says: cards, links, ports, firmware, driver, clocks.

Only with `--baseline FILE`, which `rigright baseline --save` writes from a good node. Other cards, links,
memory, disks or ports are a fault, another firmware, driver or setting a warning, other software a note. What
this node does not show is not held against it.

Source: the baseline.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.baseline import TraitHeld, compared
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Verdict, seen, step

TITLE = say("the node is as its baseline says")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each trait of the baseline."""
    if case.baseline is None:
        return
    right = 0
    for one in compared(case.machine, case.baseline):
        if one.differs:
            yield _differs(one, file=case.baseline.file)
        elif one.here is None:
            yield NotSeen(
                why=say("the baseline names {trait}; this node does not show it", trait=one.trait.name),
                see="rigright probe",
            )
        else:
            right += 1
    if right:
        yield Fine(says=say("{count} traits are as in {file}", count=right, file=case.baseline.file))


def _differs(one: TraitHeld, *, file: str) -> Finding:
    return Finding(
        severity=one.trait.weight,
        title=say("{trait} unlike the baseline", trait=one.trait.name),
        evidence=seen(
            say("here {value}, there {right}", value=one.here, right=" / ".join(one.right)), "rigright probe"
        ),
        why=say("nodes of one type should be alike: jobs that span them run as the weakest does"),
        fix=(
            step(say("see what the other findings say of it")),
            step(say("if this is the new standard, edit its line in {file}", file=file)),
        ),
        verify=f"rigright baseline --check {shlex.quote(file)}",
    )
