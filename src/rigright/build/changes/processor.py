"""The processor: more cores in the same socket."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.build.change import Change, Fit, Standing
from rigright.cost.estimate import Estimate
from rigright.facts.cpus import CpuModel, cpus
from rigright.money.prices import price_width

_LEAST_MORE = 1.25


def propose(standing: Standing) -> Iterator[Change]:
    """Every processor of this socket with many more or much faster cores."""
    old = standing.cpu
    if old is None:
        return
    sockets = standing.sockets or 1
    for new in cpus():
        if new.socket != old.socket or new.max_sockets < sockets or new.id == old.id:
            continue
        # all cores and one core, by cores and clocks
        clock = (new.boost_hz or 0.0) / (old.boost_hz or float("inf"))
        base = (new.base_hz or 0.0) / (old.base_hz or float("inf"))
        all_cores, one_core = new.cores / old.cores * (base or 1.0), clock or 1.0
        usd = _price(new, sockets=sockets, standing=standing)
        if usd is None or max(all_cores, one_core) < _LEAST_MORE:
            continue
        yield Change(
            kind="processor",
            title=say("{count}x {new} instead of {old}", count=sockets, new=new.name, old=old.name),
            helps={"cores": max(1.0, all_cores), "one_thread": max(1.0, one_core)},
            usd=usd,
            fits=(
                Fit(says=say("BIOS support: check the board's CPU list"), holds=None),
                Fit(
                    says=say("cooling for {watts} W", watts=f"{new.tdp_w:.0f}"),
                    holds=True if new.tdp_w <= old.tdp_w else None,
                ),
            ),
            more_w=sockets * (new.tdp_w - old.tdp_w),
            source=new.source,
        )


def _price(cpu: CpuModel, *, sockets: int, standing: Standing) -> Estimate | None:
    usd, as_of = (
        (cpu.street_price_usd, cpu.street_as_of) if cpu.street_price_usd else (cpu.list_price_usd, None)
    )
    if usd is None:
        return None
    width = price_width(as_of, standing.today)
    value = usd * sockets
    return Estimate(
        value=value,
        low=value * (1 - width),
        high=value * (1 + width),
        mark="stated",
        as_of=as_of or cpu.as_of,
    )
