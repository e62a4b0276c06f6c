"""Main memory: enough of it that nothing is swapped and files stay cached."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.build.change import Change, Fit, Standing, part_usd
from rigright.facts.parts import parts

_NO_SWAP = 20.0  # times as fast as swapping: memory against a disk, kept low on purpose
_CACHED = 2.0  # where files that are read each epoch stay in memory


def propose(standing: Standing) -> Iterator[Change]:
    """Twice the memory, in modules of the kind that is there."""
    if not standing.mem_bytes or standing.mem_kind is None:
        return
    word = "rdimm" if standing.mem_registered else "udimm"
    part = next(
        (
            part_kind
            for part_kind in parts("memory")
            if part_kind.id.startswith(f"{standing.mem_kind.lower()}-{word}")
        ),
        None,
    )
    if part is None or not part.rate:
        return
    count = max(1, round(standing.mem_bytes / part.rate))
    free = standing.mem_places_free
    yield Change(
        kind="memory",
        title=say("{count}x {part}: double the system memory", count=count, part=part.name),
        helps={"main_memory": _NO_SWAP, "disk": _CACHED},
        usd=part_usd(part, count),
        fits=(
            Fit(
                says=say("{count} free DIMM slots, evenly across channels", count=count),
                holds=None if free is None else free >= count,
            ),
        ),
        more_w=count * (part.power_w or 0.0),
        source=part.source,
    )
