"""How many of the processor's threads this process may use, for each card.

A container's quota or an affinity mask may leave a few threads on a machine with many. Each card wants its
own process, a thread that drives it, and workers that load data; below four threads a card, loading starves
it.

Warning: fewer than two threads a card. Note: fewer than four, or less than half the machine's threads while
cards are here. Source: PyTorch DataLoader's own warning (workers above the usable cores); the guides' rule
of 16 to 32 cores for a machine of one to four cards.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Finding, Fine, Severity, Verdict, seen, step

TITLE = say("processor threads for the cards")
FEW, LEAST = 4, 2


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the machine, where it has cards."""
    cpu, cards = case.machine.cpu, len(case.machine.devices)
    if not cards or cpu.usable is None or case.machine.devices[0].vendor == "apple":
        return
    each = cpu.usable / cards
    held = cpu.threads is not None and cpu.usable * 2 < cpu.threads
    if each >= FEW and not held:
        yield Fine(says=say("threads: {usable}, cards: {cards}", usable=cpu.usable, cards=cards))
        return
    title = say("threads: {usable}, cards: {cards}", usable=cpu.usable, cards=cards)
    if held:
        title = say(
            "this process may use {usable} of {threads} threads", usable=cpu.usable, threads=cpu.threads
        )
    yield _finding("warning" if each < LEAST else "note", title, held=held)


def _finding(severity: Severity, title: Sentence, *, held: bool) -> Finding:
    lift = step(say("raise the container's limit (docker run --cpus, a pod's limits), or drop taskset"))
    fewer = step(say("use fewer loader workers than threads, or prepare the data before"))
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(say("what the mask and the control group allow"), "nproc; cat /sys/fs/cgroup/cpu.max"),
        why=say("loading and preparing data runs on these threads; too few, and the cards wait"),
        fix=(lift, fewer) if held else (fewer,),
        verify="nproc",
    )
