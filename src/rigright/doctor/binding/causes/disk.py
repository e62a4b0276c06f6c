"""Disks: the busiest has no time left, or reads what it was benched to read at most."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.base.units import MEGA
from rigright.base.words import say
from rigright.doctor.binding.means import mean_of_host, most, percent
from rigright.doctor.binding.record import FULL, WAITING, Moment
from rigright.doctor.record import Evidence, step

TITLE = say("disks")
SIDE = WAITING
REMEDIES = (
    step(
        say("more workers that read ahead; a few large shards instead of many small files"),
        takes=("cores", "main_memory"),
    ),
    step(say("cache the data set in memory, or stage it on local NVMe")),
    step(
        say("find the best DataLoader settings and the disk's real throughput"),
        "rigright bench disk dataloader",
    ),
)
_WAITED = 0.25  # of ten seconds, processes that waited for disks: as telling as a busy disk


def weigh(moment: Moment) -> float | None:
    """The fullest of three signs."""
    host = moment.host
    rate = most((host.disk_read_bytes_per_s, host.disk_write_bytes_per_s))
    signs = (
        host.disk_busy_share,
        rate / moment.disk_bytes_per_s if rate is not None and moment.disk_bytes_per_s else None,
        None if host.io_pressure is None else min(1.0, host.io_pressure / _WAITED * FULL),
    )
    return most(signs)


def tell(moments: Sequence[Moment]) -> Evidence:
    """How busy the busiest was."""
    busy = percent(mean_of_host(moments, lambda host: host.disk_busy_share))
    read = mean_of_host(moments, lambda host: host.disk_read_bytes_per_s) or 0.0
    write = mean_of_host(moments, lambda host: host.disk_write_bytes_per_s) or 0.0
    shows = say(
        "busiest disk {busy} utilised; {read} MB/s read, {write} MB/s written",
        busy=busy, read=f"{read / MEGA:.0f}", write=f"{write / MEGA:.0f}",
    )  # fmt: skip
    return Evidence(shows=shows, command="iostat -x 1")
