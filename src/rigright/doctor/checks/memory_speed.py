"""Speed of the memory modules: as set, as they are rated, as the processor allows.

Desktop modules start at a slow standard speed until their profile (XMP, EXPO) is chosen in the firmware; a
board with two modules on a channel, or with mixed modules, lowers it on purpose. What the processor
officially allows is the bound: nothing is said of modules that could run faster than it.

Warning: set more than 15 % below what module and processor allow with one module a channel; note where two
share a channel or it is less. Source: JEDEC DDR4 and DDR5 speeds; the makers' memory support tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rigright.base.units import MEGA
from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Severity, Verdict, seen, step
from rigright.doctor.wires import is_real
from rigright.facts.cpu_names import cpu_named
from rigright.machine.host import MemoryModule

TITLE = say("memory runs at its speed")
FAR = 0.85
SEE = "sudo dmidecode -t memory | grep -E 'Locator|Speed'"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the machine."""
    filled = [one for one in case.machine.memory.modules or () if one.size_bytes and one.rated_mt_s]
    if not is_real(case) or not filled:
        return
    if any(one.set_mt_s is None for one in filled):
        yield NotSeen(why=say("the firmware does not tell the speed that is set"), see=SEE)
        return
    named = cpu_named(case.machine.cpu.name)
    most = named.mem_transfers_per_s / MEGA if named is not None and named.mem_transfers_per_s else None
    if len({one.rated_mt_s for one in filled}) > 1:
        speeds = ", ".join(f"{speed:g}" for speed in sorted({one.rated_mt_s or 0.0 for one in filled}))
        yield Finding(
            severity="note",
            title=say("modules of different speeds are mixed: {speeds} MT/s", speeds=speeds),
            evidence=seen(say("rated speeds: {speeds}", speeds=speeds), SEE),
            why=say("all run at the slowest one's speed, and some boards do not start reliably"),
            fix=(step(say("use modules of one kind"), disturbs=True),),
        )
    slow = [one for one in filled if (one.set_mt_s or 0.0) < _bound(one, most)]
    if slow:
        one = min(slow, key=lambda module: module.set_mt_s or 0.0)
        shared = max(Counter(module.channel or module.slot for module in filled).values()) > 1
        bound = _bound(one, most)
        severity: Severity = "warning" if (one.set_mt_s or 0.0) < FAR * bound and not shared else "note"
        larger = step(say("two modules on a channel run slower by rule; one larger module each is faster"))
        yield Finding(
            severity=severity,
            title=say("memory runs at {now} of {most} MT/s", now=f"{one.set_mt_s:g}", most=f"{bound:g}"),
            evidence=seen(
                say(
                    "{slot}: rated {rated}, set {now} MT/s",
                    slot=one.slot,
                    rated=f"{one.rated_mt_s:g}",
                    now=f"{one.set_mt_s:g}",
                ),
                SEE,
            ),
            why=say(
                "loading, offloading and work on the processor run at the memory's rate; cards do not care"
            ),
            fix=(
                step(say("choose the modules' profile (XMP, EXPO) in the board's firmware"), disturbs=True),
                *((larger,) if shared else ()),
            ),
            confidence="likely" if shared else "sure",
        )
    else:
        yield Fine(says=say("{speed} MT/s", speed=f"{filled[0].set_mt_s:g}"))


def _bound(one: MemoryModule, most: float | None) -> float:
    rated = one.rated_mt_s or 0.0
    return min(rated, most) if most is not None else rated
