"""Errors of main memory and processors that the kernel wrote down, and programs it killed for memory.

An uncorrected error of memory ends a program or the machine, and one in a checkpoint or a batch is found
by nobody. Corrected ones that come again and again announce a module that fails.

Uncorrected: fault. Corrected: warning from ten lines on, else note. Programs killed because memory ran
out, or at the limit of their own job (a control group): warning. Longer ago than a week or before the last
boot: one step less. Source: Linux RAS documentation; mm/oom_kill; Intel's and AMD's manuals on the state of
machine check banks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.happened import events
from rigright.doctor.log_lines import finding, none_told, unseen
from rigright.doctor.record import Case, Verdict, as_root, step
from rigright.machine.system import Event

TITLE = say("the log holds no errors of memory, and no program killed for it")
_MANY = 10
_ROOM = say(
    "ask for more memory for the job (Slurm --mem, docker --memory, a pod's limit), or use fewer workers"
)
_BANK = re.compile(r"bank \d+: [2367abef][0-9a-f]{15}")  # bit 61 of the state: not corrected
_WORDS = "Hardware Error|EDAC|Out of memory"
_UNCORRECTED = (
    "uncorrect",
    " ue ",
    "fatal",
    "recoverable",
    "panic",
    "memory failure",
    "machine check exception",
    "machine check: processor context corrupt",
)


def check(case: Case) -> Iterator[Verdict]:
    """A finding for errors of memory, and one for killed programs."""
    closed = unseen(case, _WORDS)
    if closed is not None:
        yield closed
        return
    fine = none_told(case, "mce")
    if fine is not None and none_told(case, "oom") is not None:
        yield fine
    yield from _errors(case)
    found = events(case, "oom") or []
    ours = [one for one in found if _of_a_job(one)]
    for own, killed in ((True, ours), (False, [one for one in found if one not in ours])):
        if killed:
            names = ", ".join(sorted({one.program for one in killed if one.program})) or "?"
            yield finding(
                case,
                killed,
                title=say("programs were killed at the memory limit of their own job: {names}", names=names)
                if own
                else say("programs were killed because main memory ran out: {names}", names=names),
                why=say(
                    "a killed DataLoader worker or server ends the run, often without any message of its own"
                ),
                fix=(
                    step(_ROOM) if own else step(say("use fewer workers, or shorter queues of batches")),
                    step(say("watch main memory while it runs"), "rigright watch"),
                ),
                severity="warning",
            )


def _of_a_job(event: Event) -> bool:
    """Whether the limit of a control group was met (Slurm, a container, a service), not the machine's end."""
    line = event.text.lower()
    return "memory cgroup" in line or "constraint_memcg" in line


def _errors(case: Case) -> Iterator[Verdict]:
    found = events(case, "mce") or []
    bad = [one for one in found if _is_bad(one.text.lower())]
    swap = as_root(say("find the module that the line names, and change it"), "ras-mc-ctl --errors")
    drain = step(say("let no new work start here until then"))
    if bad:
        why = say("results and checkpoints of that time may be wrong; the next one may end the machine")
        title = say("memory or processor made errors that could not be corrected")
        yield finding(case, bad, title=title, why=why, fix=(drain, swap), severity="fault")
    elif found:
        why = say("corrected for now; a module that fails begins so")
        title = say("memory or processor made errors that were corrected")
        yield finding(
            case,
            found,
            title=title,
            why=why,
            fix=(swap,),
            severity="warning" if len(found) >= _MANY else "note",
        )


def _is_bad(line: str) -> bool:
    return any(word in line for word in _UNCORRECTED) or _BANK.search(line) is not None
