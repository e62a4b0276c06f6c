"""PCIe: a card's link to the host carries nearly what it can."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.base.units import GIGA
from rigright.base.words import say
from rigright.doctor.binding.means import mean_of, most
from rigright.doctor.binding.record import WAITING, Moment
from rigright.doctor.record import Evidence, step

TITLE = say("PCIe")
SIDE = WAITING
REMEDIES = (
    step(say("pinned memory and asynchronous copies: pin_memory=True, non_blocking=True")),
    step(say("offload less: keep weights and optimizer state in GPU memory")),
    step(say("check that each GPU runs at full PCIe width"), "rigright doctor --only pcie"),
)
_REACHED = 0.85  # of the line: what copies reach at best (55.4 of 64, 26.2 of 32 GB/s)


def weigh(moment: Moment) -> float | None:
    """The fullest link of all cards."""
    if not moment.devices:
        return 0.0
    links = dict(moment.link_bytes_per_s)
    shares = []
    for device in moment.devices:
        rate = most((device.pcie_rx_bytes_per_s, device.pcie_tx_bytes_per_s))
        if rate is not None and device.index in links:
            shares.append(rate / (links[device.index] * _REACHED))
    return most(shares)


def tell(moments: Sequence[Moment]) -> Evidence:
    """What each card's link carried."""
    come = mean_of(moments, lambda one: one.pcie_rx_bytes_per_s) or 0.0
    gone = mean_of(moments, lambda one: one.pcie_tx_bytes_per_s) or 0.0
    shows = say(
        "{come} GB/s to a GPU, {gone} GB/s from it", come=f"{come / GIGA:.1f}", gone=f"{gone / GIGA:.1f}"
    )
    return Evidence(shows=shows, command="nvidia-smi dmon -s t")
