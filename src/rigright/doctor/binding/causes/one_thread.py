"""One core: a single thread has no time left while others rest; of Python it is often the main process."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.base.words import say
from rigright.doctor.binding.means import mean_of_host, percent
from rigright.doctor.binding.record import FULL, WAITING, Moment
from rigright.doctor.record import Evidence, step

TITLE = say("CPU (single core)")
SIDE = WAITING
REMEDIES = (
    step(
        say("load data in worker processes: DataLoader num_workers above 0"),
        "rigright bench dataloader",
        takes=("cores", "main_memory"),
    ),
    step(say("CUDA graphs or torch.compile: fewer kernel launches from the host")),
    step(say("profile the process"), "py-spy top --pid PID"),
)
_NEARLY_ALL = 0.9  # of one core: below it a thread still has time


def weigh(moment: Moment) -> float | None:
    """One full core among others that are not; many full ones are another matter."""
    busiest, all_cores = moment.host.busiest_core_share, moment.host.cpu_share
    if busiest is None:
        return None
    full = busiest >= _NEARLY_ALL and (all_cores is None or all_cores < FULL)
    return busiest - 0.1 if full else 0.0


def tell(moments: Sequence[Moment]) -> Evidence:
    """The busiest against all."""
    busiest = percent(mean_of_host(moments, lambda host: host.busiest_core_share))
    share = percent(mean_of_host(moments, lambda host: host.cpu_share))
    shows = say("one core {busiest} busy, all cores {share}", busiest=busiest, share=share)
    return Evidence(shows=shows, command="mpstat -P ALL 1")
