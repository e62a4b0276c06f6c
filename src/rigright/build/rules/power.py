"""Power: watts with their spikes, plugs, the voltage and the breaker of the room."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from rigright.base.words import say
from rigright.build.judge import DOUBT, IMPOSSIBLE, BuildRule, Ruling, doubt, fine, impossible
from rigright.build.machine import SAFE_SHARE, Cards, Rig

WHOLE = {"closed", "modules"}  # machines that come with what they hold
BASE_W = 60.0  # board, memory, drives and fans
IDLE_CPU_SHARE = 0.5  # of a processor's power while the cards work
EFFICIENCY = 0.9
_HARD_W = 1.05  # how far over its rating a supply is loaded before it cannot be
_TOLERATES = {True: 1.8, False: 1.35, None: 1.35}  # spikes over the rating: ATX 3 and before
_SPIKE = {"Ampere (GA10x)": 1.9, "Ada Lovelace": 1.5, "Blackwell (GB20x)": 1.6, "RDNA2": 1.8, "RDNA3": 1.6}
_LOW_VOLTS, _LOW_VOLTS_MOST_W = 150.0, 1650.0  # what one supply gives on a 15 A outlet of 110-127 V
_ADAPTER = (
    (300.0, 2),
    (450.0, 3),
    (10_000.0, 4),
)  # 8-pin plugs an adapter to a 12V plug takes, by card watts


def load_w(rig: Rig) -> float | None:
    """What the parts draw at full load."""
    return None if rig.cards_w is None else rig.cards_w + rig.cpu_w + BASE_W


def watts(rig: Rig) -> Iterator[Ruling]:
    """The supplies carry the load, and the cards' spikes."""
    given = [supply.watts for supply in rig.supplies]
    if rig.machine is not None:  # its own: none of what comes with its modules, or takes no cards
        given = [rig.machine.psu_w] if rig.machine.cards_max and rig.machine.kind not in WHOLE else []
    need = load_w(rig)
    if not given or None in given or need is None:
        return
    have = sum(value or 0.0 for value in given)
    least = (rig.cards_w or 0.0) + IDLE_CPU_SHARE * rig.cpu_w + BASE_W - 10
    names = {"have": f"{have:,.0f}", "need": f"{need:,.0f}"}
    if least > have * _HARD_W:
        yield impossible(
            "psu gpu",
            say("the parts draw {need} W at full load; the power supply gives {have} W", **names),
            do=say(
                'use {watts} W or more, or add a power limit to the card: "(250 W)"',
                watts=f"{-(-need * 1.2 // 50) * 50:,.0f}",
            ),
        )
        return
    if need > have:
        room = have - rig.cpu_w * IDLE_CPU_SHARE - BASE_W
        share = room / rig.cards_w if rig.cards_w else 1.0
        yield doubt(
            "psu gpu",
            say("the parts draw {need} W at full load; the power supply gives {have} W", **names),
            do=say(
                "limit the cards to {share} of their power, or use a larger power supply",
                share=f"{min(share, 0.9):.0%}",
            ),
        )
        return
    peak = need + max((_spike_w(cards) for cards in rig.cards), default=0.0)
    new = all(supply.atx3 for supply in rig.supplies)
    if peak > have * _TOLERATES[new]:
        yield doubt(
            "psu gpu",
            say(
                "power spikes of the cards reach about {peak} W; a {have} W supply may shut down",
                peak=f"{peak:,.0f}",
                **names,
            ),
            do=say("use an ATX 3 or larger power supply, or limit the cards' power"),
        )
    else:
        yield fine("psu", say("{need} of {have} W at full load", **names))


def _spike_w(cards: Cards) -> float:
    """How far cards of one kind jump above their power together; those of one instant add as squares."""
    if cards.limit_w or cards.chip.segment != "consumer":
        return 0.0
    return (cards.watts or 0.0) * (_SPIKE.get(cards.chip.architecture, 1.4) - 1) * sqrt(cards.count)


def plugs(rig: Rig) -> Iterator[Ruling]:
    """There is a plug for each socket of each card; a 12V plug may be fed by two or more of 8 pins."""
    cards = () if rig.machine is not None else tuple((card, card.shape.plugs) for card in rig.cards)
    native = [supply.h12v for supply in rig.supplies]
    old = [supply.pcie for supply in rig.supplies]
    if not cards or not rig.supplies or None in old:
        return
    have, new = sum(filter(None, old)), sum(item.count * plug.h12v for item, plug in cards if plug)
    short = max(0, new - sum(filter(None, native)))
    eight = sum(item.count * (plug.pcie + 2 * plug.eps) for item, plug in cards if plug)
    hungry = max((item.chip.tdp_w or 0.0 for item, plug in cards if plug and plug.h12v), default=0.0)
    adapter = next(count for most, count in _ADAPTER if hungry <= most)
    names = {"new": new, "eight": eight, "native": sum(filter(None, native)), "old": have}
    if short * 2 + eight > have and None not in native:
        yield impossible(
            "psu gpu",
            say(
                "the cards need {new} 12V-2x6 and {eight} 8-pin connectors; the power supply has "
                "{native} and {old}",
                **names,
            ),
            do=say("use a power supply with more connectors, or a second one; no splitters"),
        )
    elif short * adapter + eight > have:
        yield doubt(
            "psu gpu",
            say("the cards need {new} 12V-2x6 connectors: this power supply may have fewer", **names),
            do=say(
                "look for 12V-2x6 cables of its vendor; adapters use {count} 8-pin connectors each",
                count=adapter,
            ),
        )


def _eps_cards(rig: Rig) -> Iterator[Ruling]:
    """Cards of servers that take a processor's plug."""
    odd = [cards for cards in rig.cards if cards.shape.plugs is not None and cards.shape.plugs.eps]
    if odd and rig.supplies and rig.machine is None:
        yield doubt(
            "psu gpu",
            say("{chip} uses an 8-pin EPS connector, not PCIe power", chip=odd[0].chip.name),
            do=say("use the adapter from two PCIe to one EPS connector, never a PCIe cable directly"),
        )


def _processor_plugs(rig: Rig) -> Iterator[Ruling]:
    """Two processors need two EPS plugs."""
    if rig.cpu_count > 1 and rig.supplies and all(supply.eps is not None for supply in rig.supplies):
        have = sum(supply.eps or 0 for supply in rig.supplies)
        if have < rig.cpu_count:
            yield doubt(
                "psu cpu",
                say(
                    "{count} CPUs need {count} EPS connectors; the power supply has {have}",
                    count=rig.cpu_count,
                    have=have,
                ),
                do=say("use a power supply with more EPS connectors"),
            )


def breaker(rig: Rig) -> Iterator[Ruling]:
    """The room's breaker carries the machine for hours."""
    need = load_w(rig)
    if rig.machine is not None and rig.machine.psu_w:
        need = max(need or 0.0, 0.8 * rig.machine.psu_w) if rig.machine.kind == "modules" else need
    if rig.room is None or rig.room.rated_w is None or need is None:
        return
    wall, rated = need / EFFICIENCY, rig.room.rated_w
    names = {"wall": f"{wall:,.0f}", "rated": f"{rated:,.0f}", "safe": f"{rated * SAFE_SHARE:,.0f}"}
    if wall > rated:
        yield impossible(
            "room psu",
            say(
                "{wall} W at the wall; the circuit allows {safe} W continuously and trips above {rated} W",
                **names,
            ),
            do=say("use a 220-240 V circuit, two circuits with a supply each, or power limits")
            if (rig.room.volts or 0.0) < _LOW_VOLTS
            else say("use several circuits, fewer cards, or rent the machine"),
        )
    elif wall > rated * SAFE_SHARE:
        yield doubt(
            "room psu",
            say("{wall} W at the wall; the circuit allows {safe} W continuously", **names),
            do=say("limit the cards' power, or use a larger circuit"),
        )
    else:
        yield fine("room", say("{wall} of {safe} W at the wall", **names))


def voltage(rig: Rig) -> Iterator[Ruling]:
    """Large supplies give their power at 200 V and above only."""
    if rig.room is None or rig.room.volts is None or rig.room.volts > _LOW_VOLTS:
        return
    need = load_w(rig) or 0.0
    for supply in dict.fromkeys(rig.supplies):
        limited = supply.volts_min is not None and rig.room.volts < supply.volts_min
        if limited or (supply.watts or 0.0) > 1800.0:
            count = rig.supplies.count(supply)
            yield Ruling(
                verdict=IMPOSSIBLE if limited or need / count > _LOW_VOLTS_MOST_W else DOUBT,
                parts=("psu", "room"),
                reason=say(
                    "{psu} does not reach its rated power at {volts} V",
                    psu=supply.name,
                    volts=f"{rig.room.volts:.0f}",
                ),
                do=say("use 220-240 V, or two supplies of 1600 W on two circuits"),
            )


def several(rig: Rig) -> Iterator[Ruling]:
    """Several supplies start together."""
    if len(rig.supplies) > 1 and rig.machine is None:
        yield fine(
            "psu",
            say(
                "{count} power supplies: use a sync board, and power each card from one of them only",
                count=len(rig.supplies),
            ),
        )


RULES = (
    BuildRule(name="watts", judge=watts),
    BuildRule(name="plugs", judge=plugs),
    BuildRule(name="eps-cards", judge=_eps_cards),
    BuildRule(name="eps", judge=_processor_plugs),
    BuildRule(name="breaker", judge=breaker),
    BuildRule(name="voltage", judge=voltage),
    BuildRule(name="supplies", judge=several),
)
