"""The network: the fastest port carries nearly what it can."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.base.units import MEGA
from rigright.base.words import say
from rigright.doctor.binding.means import mean_of_host, most
from rigright.doctor.binding.record import WAITING, Moment
from rigright.doctor.record import Evidence, step

TITLE = say("network")
SIDE = WAITING
REMEDIES = (
    step(say("stage data on local disks; exchange gradients less often or in 16 bit")),
    step(say("check that traffic uses the fast port"), "ip -s link"),
)


def weigh(moment: Moment) -> float | None:
    """Of the fastest port that is up."""
    rate = most((moment.host.net_rx_bytes_per_s, moment.host.net_tx_bytes_per_s))
    return rate / moment.net_bytes_per_s if rate is not None and moment.net_bytes_per_s else None


def tell(moments: Sequence[Moment]) -> Evidence:
    """What it carried."""
    come = mean_of_host(moments, lambda host: host.net_rx_bytes_per_s) or 0.0
    gone = mean_of_host(moments, lambda host: host.net_tx_bytes_per_s) or 0.0
    shows = say(
        "{come} MB/s received, {gone} MB/s sent", come=f"{come / MEGA:.0f}", gone=f"{gone / MEGA:.0f}"
    )
    return Evidence(shows=shows, command="sar -n DEV 1")
