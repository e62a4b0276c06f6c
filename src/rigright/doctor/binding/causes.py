"""What can bind a machine: how full each thing is, and what was seen of it.

How each is called, what is said of it and what helps is a table of data/binding.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from rigright.base.tables import DATA, read_toml
from rigright.base.units import GIGA, MEGA
from rigright.doctor.advice import Writer
from rigright.doctor.binding.moments import drawn, mean, mean_of, mean_of_host, most, percent, slowed_share
from rigright.doctor.binding.record import FULL, Cause, LimitedMoment
from rigright.doctor.record import Evidence
from rigright.facts.faults import words_of
from rigright.machine.tick import DeviceTick, HostTick

# a card that says why it is slow is believed first; heat comes before a power cap that stands beside it
_SURE_OF = {"cooling": 3.0, "brake": 2.5, "power": 2.0}
_SURE_OF_SWAP = 1.5  # a machine that swaps is slow in all else too
_SURE_OF_SMALL = 0.9
_WAITED_FOR_DISKS, _WAITED_FOR_MEMORY = 0.25, 0.1  # of ten seconds; the former as telling as a busy disk
_MUCH_SWAP_BYTES_PER_S = 20 * MEGA
NEARLY_ALL = 0.9  # of one core: below it a thread still has time
_REACHED = 0.85  # of a PCIe line: what copies reach at best (55.4 of 64, 26.2 of 32 GB/s)
_LITTLE_POWER, _LITTLE_MEMORY = 0.4, 0.25  # shares of the limit and of time; by experience, no law


@cache
def causes() -> tuple[Cause, ...]:
    """Every cause of the table."""
    plain = Writer({})
    return tuple(
        Cause(
            name=name,
            title=plain.sentence(row["title"]),
            side=row["side"],
            weigh=WEIGHED[name],
            tell=partial(_tell, name=name, row=row),
            remedies=tuple(plain.steps(row["fix"])),
        )
        for name, row in read_toml(DATA / "binding.toml").items()
    )


def _tell(moments: Sequence[LimitedMoment], *, name: str, row: Mapping[str, Any]) -> Evidence:
    """What was seen of a cause while it bound."""
    value = mean(slowed_share(moment, words_of(name)) for moment in moments)
    values = {**seen(moments), "held": percent(value)}
    (evidence,) = Writer(values).evidence(row.get("seen", (row,)))
    return evidence


def seen(moments: Sequence[LimitedMoment]) -> dict[str, object]:
    """What sentences may name, on average."""

    def card(read: Callable[[DeviceTick], float | None]) -> str:
        return percent(mean_of(moments, read))

    def host(read: Callable[[HostTick], float | None]) -> str:
        return percent(mean_of_host(moments, read))

    def rate(read: Callable[[HostTick], float | None]) -> str:
        return f"{(mean_of_host(moments, read) or 0.0) / MEGA:.0f}"

    def link(read: Callable[[DeviceTick], float | None]) -> str:
        return f"{(mean_of(moments, read) or 0.0) / GIGA:.1f}"

    clock = mean_of(moments, lambda tick: tick.sm_hz)
    heat = mean(most(tick.gpu_c for tick in moment.devices) for moment in moments)  # of the hottest card
    draw = mean_of(moments, drawn)
    return {
        "working": percent(sum(moment.busy_share for moment in moments) / len(moments)),
        "busy": card(lambda tick: tick.busy_share),
        "memory": card(lambda tick: tick.mem_busy_share),
        "draw": percent(draw),
        "has_draw": draw is not None,
        "clock": f"{(clock or 0.0) / MEGA:.0f}",
        "has_clock": clock is not None,
        "heat": "?" if heat is None else f"{heat:.0f}",
        "to_card": link(lambda tick: tick.pcie_rx_bytes_per_s),
        "from_card": link(lambda tick: tick.pcie_tx_bytes_per_s),
        "cpu": host(lambda tick: tick.cpu_share),
        "core": host(lambda tick: tick.busiest_core_share),
        "disk": host(lambda tick: tick.disk_busy_share),
        "read": rate(lambda tick: tick.disk_read_bytes_per_s),
        "written": rate(lambda tick: tick.disk_write_bytes_per_s),
        "swap": rate(lambda tick: tick.swap_bytes_per_s),
        "waited": host(lambda tick: tick.mem_pressure),
        "received": rate(lambda tick: tick.net_rx_bytes_per_s),
        "sent": rate(lambda tick: tick.net_tx_bytes_per_s),
    }


def _by_driver(cause: str, moment: LimitedMoment) -> float | None:
    """By the driver's own word."""
    share = slowed_share(moment, words_of(cause))
    return None if share is None else share * _SURE_OF[cause]


def disk(moment: LimitedMoment) -> float | None:
    """The fullest of three signs: no time left, as much read as was benched, processes that wait."""
    host = moment.host
    rate = most((host.disk_read_bytes_per_s, host.disk_write_bytes_per_s))
    signs = (
        host.disk_busy_share,
        rate / moment.disk_bytes_per_s if rate is not None and moment.disk_bytes_per_s else None,
        None if host.io_pressure is None else min(1.0, host.io_pressure / _WAITED_FOR_DISKS * FULL),
    )
    return most(signs)


def gpu_memory(moment: LimitedMoment) -> float | None:
    """The driver's share of time in which memory was read or written, of the time it had work at all."""
    return mean(
        tick.mem_busy_share / tick.busy_share
        for tick in moment.devices
        if tick.mem_busy_share is not None and tick.busy_share
    )


def main_memory(moment: LimitedMoment) -> float | None:
    """Pages go to and from swap, or processes wait for memory."""
    swap, pressure = moment.host.swap_bytes_per_s, moment.host.mem_pressure
    return most(
        (
            None if swap is None else min(_SURE_OF_SWAP, swap / _MUCH_SWAP_BYTES_PER_S),
            None if pressure is None else min(_SURE_OF_SWAP, pressure / _WAITED_FOR_MEMORY),
        )
    )


def network(moment: LimitedMoment) -> float | None:
    """Of the fastest port that is up."""
    rate = most((moment.host.net_rx_bytes_per_s, moment.host.net_tx_bytes_per_s))
    return rate / moment.net_bytes_per_s if rate is not None and moment.net_bytes_per_s else None


def one_thread(moment: LimitedMoment) -> float | None:
    """One full core among others that are not, of Python often the main process; many are another matter."""
    busiest, all_cores = moment.host.busiest_core_share, moment.host.cpu_share
    if busiest is None:
        return None
    full = busiest >= NEARLY_ALL and (all_cores is None or all_cores < FULL)
    return busiest - 0.1 if full else 0.0


def pcie(moment: LimitedMoment) -> float | None:
    """The fullest link to the host of all cards."""
    if not moment.devices:
        return 0.0
    links = dict(moment.link_bytes_per_s)
    shares = []
    for device in moment.devices:
        rate = most((device.pcie_rx_bytes_per_s, device.pcie_tx_bytes_per_s))
        if rate is not None and device.index in links:
            shares.append(rate / (links[device.index] * _REACHED))
    return most(shares)


def small_kernels(moment: LimitedMoment) -> float | None:
    """Busy by the driver's count, at rest by the meter: each kernel gives the card little to do."""
    pairs = [
        (draw, tick.mem_busy_share)
        for tick in moment.devices
        if (draw := drawn(tick)) is not None and tick.mem_busy_share is not None
    ]
    idling = [draw for draw, memory in pairs if draw < _LITTLE_POWER and memory < _LITTLE_MEMORY]
    return _SURE_OF_SMALL * len(idling) / len(pairs) if pairs else None


WEIGHED: dict[str, Callable[[LimitedMoment], float | None]] = {  # of either side one is all that is left
    "brake": partial(_by_driver, "brake"),
    "compute": lambda moment: FULL if moment.devices else None,
    "cooling": partial(_by_driver, "cooling"),
    "cores": lambda moment: moment.host.cpu_share,
    "disk": disk,
    "gpu_memory": gpu_memory,
    "main_memory": main_memory,
    "network": network,
    "one_thread": one_thread,
    "pcie": pcie,
    "power": partial(_by_driver, "power"),
    "program": lambda _: FULL,
    "small_kernels": small_kernels,
}
