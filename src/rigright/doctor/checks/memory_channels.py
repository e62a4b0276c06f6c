"""Memory channels: how many are filled, and evenly.

Each filled channel adds its full rate; an empty one is rate thrown away. A processor of eight channels with
two modules reads at a quarter of its rate, which slows loading, offloading, preprocessing and every part of
a model that runs on the processor. Unequal channels let part of the memory run without interleaving.

Warning: fewer than half the channels of this processor are filled; note: fewer than all, or unevenly. The
number of channels comes from the facts of the very processor. Source: the makers' data sheets; guide 2
(channels before capacity).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rigright.base.units import KILO, show_short
from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Severity, Verdict, seen, step
from rigright.doctor.wires import is_real
from rigright.facts.cpu_names import cpu_named
from rigright.facts.cpus import CHANNEL_BYTES
from rigright.machine.host import MemoryModule

TITLE = say("memory channels filled")
SEE = "sudo dmidecode -t memory | grep -E 'Locator|Size|Speed'"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the machine."""
    if not is_real(case):
        return
    modules = case.machine.memory.modules
    if modules is None:
        closed = next((one for one in case.machine.unseen if one.what == "memory.modules"), None)
        if closed is not None:
            yield NotSeen(why=closed.why, see=closed.see)
        return
    filled = [one for one in modules if one.size_bytes]
    named = cpu_named(case.machine.cpu.name)
    if not filled or named is None or named.mem_channels is None:
        return
    channels = {one.channel for one in filled}
    if None in channels:  # each may have one of its own
        channels = set()
    most = named.mem_channels * (case.machine.cpu.sockets or 1)
    used = min(len(channels) or len(filled), most)
    if used < most:
        severity: Severity = "warning" if used * 2 < most else "note"
        yield _finding(
            severity, say("{used} of {most} memory channels are filled", used=used, most=most), filled=filled
        )
    elif channels and len(set(_sizes(filled).values())) > 1:
        yield _finding("note", say("memory channels hold unequal amounts"), filled=filled)
    else:
        yield Fine(says=say("all of them, evenly; channels: {count}", count=most))


def _sizes(filled: list[MemoryModule]) -> dict[str | None, float]:
    """Bytes in each channel."""
    sizes: Counter[str | None] = Counter()
    for one in filled:
        sizes[one.channel] += int(one.size_bytes or 0)
    return {channel: float(size) for channel, size in sizes.items()}


def _finding(severity: Severity, title: Sentence, *, filled: list[MemoryModule]) -> Finding:
    named = ", ".join(one.slot for one in filled[:16])
    speed = max((one.set_mt_s or one.rated_mt_s or 0.0 for one in filled), default=0.0)
    gained = show_short(speed * CHANNEL_BYTES / KILO) if speed else "?"
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(say("modules in {places}", places=named), SEE),
        why=say(
            "each channel carries {rate} GB/s; loading, offloading and work on the processor run "
            "on what is filled",
            rate=gained,
        ),
        fix=(
            step(
                say("put one module of the same kind in every channel, as the board's manual orders them"),
                disturbs=True,
            ),
        ),
    )
