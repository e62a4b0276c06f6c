"""Swap: there, large enough, and not at work.

Some swap turns a moment of too much into slowness, where without it the kernel ends a program. On machines
with little memory it saves loads of large models; with hundreds of GiB it hardly matters, and Kubernetes
wants it off. Much swap in use means memory is short now.

Note: none on a machine below 64 GiB. Warning: more than a tenth of memory lies in swap. Rule of size for
small machines (guide 2): up to 2 GiB of memory twice as much, up to 8 GiB as much, above at least 4 GiB.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from rigright.base.units import GIB, show_bytes
from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, as_root, seen, step
from rigright.doctor.stack import is_contained

TITLE = say("swap")
LARGE_BYTES = 64 * GIB
USED_SHARE = 0.1
_MAKE = "sh -c 'fallocate -l {gib}G /swapfile && chmod 600 /swapfile && mkswap /swapfile && swapon /swapfile'"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the machine."""
    memory = case.machine.memory
    if memory.total_bytes is None or memory.swap_total_bytes is None:
        return
    used = memory.swap_used_bytes or 0.0
    if used > USED_SHARE * memory.total_bytes:
        yield Finding(
            severity="warning",
            title=say("{used} of memory lie in swap", used=show_bytes(used)),
            evidence=seen(say("{used} in use", used=show_bytes(used)), "free -h; vmstat 1 5"),
            why=say("what lies there is read back from disk when it is needed: everything waits"),
            fix=(
                step(say("find what holds memory, and end or move it"), "ps aux --sort=-rss | head"),
                step(say("fewer loader workers, smaller prefetch, or more memory")),
            ),
            verify="free -h",
        )
    elif memory.swap_total_bytes == 0 and memory.total_bytes < LARGE_BYTES and not is_contained(case):
        size = show_bytes(_wanted(memory.total_bytes))
        yield Finding(
            severity="note",
            title=say("there is no swap"),
            evidence=seen(
                say("no swap, {memory} of memory", memory=show_bytes(memory.total_bytes)),
                "free -h; swapon --show",
            ),
            why=say("a moment of too much ends a program at once; with swap it is slow and goes on"),
            fix=(
                as_root(
                    say("make a swap file of at least {size}, unless Kubernetes runs here", size=size),
                    _MAKE.format(gib=math.ceil(_wanted(memory.total_bytes) / GIB)),
                ),
            ),
            verify="swapon --show",
        )
    else:
        yield Fine(
            says=say("{size}, {used} in use", size=show_bytes(memory.swap_total_bytes), used=show_bytes(used))
        )


def _wanted(total: float) -> float:
    if total <= 2 * GIB:
        return 2 * total
    return total if total <= 8 * GIB else 4 * GIB
