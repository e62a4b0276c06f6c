"""Sizes of pages: huge ones reserved, and transparent ones.

Reserved huge pages are lost to everything that does not ask for them; few frameworks do. Transparent huge
pages set to `always` help most training, and now and then make a service stall while pages are put
together; `madvise` leaves the choice to each program; `never` takes a little from loaders that map large
files.

Warning: more than a quarter of memory is reserved and free. Note: transparent pages are off. Source: Linux
documentation of hugetlbpage and transparent hugepages.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import show_bytes
from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, as_root, seen

TITLE = say("huge pages")
SHARE = 0.25


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the machine, where it has cards."""
    memory = case.machine.memory
    if not case.machine.devices or memory.total_bytes is None or memory.transparent_huge is None:
        return
    reserved = (memory.huge_total or 0) * (memory.huge_bytes or 0.0)
    if reserved > SHARE * memory.total_bytes:
        yield Finding(
            severity="warning",
            title=say("{size} of memory is reserved as huge pages", size=show_bytes(reserved)),
            evidence=seen(say("{count} pages", count=memory.huge_total), "grep Huge /proc/meminfo"),
            why=say("programs that do not ask for them cannot use it, and run out of memory earlier"),
            fix=(
                as_root(
                    say("reserve none, unless a program here asks for them"), "sysctl -w vm.nr_hugepages=0"
                ),
            ),
        )
    elif memory.transparent_huge == "never":
        command = "cat /sys/kernel/mm/transparent_hugepage/enabled"
        yield Finding(
            severity="note",
            title=say("transparent huge pages are off"),
            evidence=seen(say("the setting is never"), command),
            why=say(
                "loaders that map large files spend more time on page tables; madvise leaves the "
                "choice to programs"
            ),
            fix=(
                as_root(
                    say("let programs ask for them"),
                    "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
                ),
            ),
        )
    else:
        yield Fine(says=say("transparent ones: {setting}", setting=memory.transparent_huge))
