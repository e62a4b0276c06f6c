"""The program itself: the accelerators wait, and nothing of the machine is full."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.base.words import say
from rigright.doctor.binding.means import mean_of_host, percent
from rigright.doctor.binding.record import FULL, WAITING, Moment
from rigright.doctor.record import Evidence, step

TITLE = say("the application itself")
SIDE = WAITING
REMEDIES = (
    step(say("larger batches; more concurrent requests")),
    step(
        say("load data ahead in worker processes: num_workers, prefetch_factor, persistent_workers"),
        takes=("cores", "main_memory"),
    ),
    step(say("fewer GPU synchronisations in the loop; asynchronous checkpoints and logging")),
)


def weigh(moment: Moment) -> float | None:  # noqa: ARG001 - the shape all causes share
    """All that is left."""
    return FULL


def tell(moments: Sequence[Moment]) -> Evidence:
    """What was at rest."""
    share = percent(mean_of_host(moments, lambda host: host.cpu_share))
    disk = percent(mean_of_host(moments, lambda host: host.disk_busy_share))
    shows = say("CPU {share}, disks {disk}: no resource was saturated", share=share, disk=disk)
    return Evidence(shows=shows, command="py-spy top --pid PID")
