"""Main memory: pages go to and from swap, or processes wait for memory."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.base.units import MEGA
from rigright.base.words import say
from rigright.doctor.binding.means import mean_of_host, most, percent
from rigright.doctor.binding.record import WAITING, Moment
from rigright.doctor.record import Evidence, step

TITLE = say("system memory")
SIDE = WAITING
REMEDIES = (
    step(say("fewer workers, smaller prefetch, memory-mapped files")),
    step(say("more memory, populated in every channel"), "rigright doctor --only memory"),
)
_MUCH_SWAP_BYTES_PER_S = 20 * MEGA
_WAITED = 0.1  # of ten seconds
_SURE = 1.5  # a machine that swaps is slow in all else too


def weigh(moment: Moment) -> float | None:
    """By swapping and by waiting."""
    swap, pressure = moment.host.swap_bytes_per_s, moment.host.mem_pressure
    return most(
        (
            None if swap is None else min(_SURE, swap / _MUCH_SWAP_BYTES_PER_S),
            None if pressure is None else min(_SURE, pressure / _WAITED),
        )
    )


def tell(moments: Sequence[Moment]) -> Evidence:
    """How much was swapped and waited."""
    swap = mean_of_host(moments, lambda host: host.swap_bytes_per_s) or 0.0
    waited = percent(mean_of_host(moments, lambda host: host.mem_pressure))
    shows = say(
        "swapping {swap} MB/s; processes stalled on memory {waited} of the time",
        swap=f"{swap / MEGA:.0f}",
        waited=waited,
    )
    return Evidence(shows=shows, command="vmstat 1")
