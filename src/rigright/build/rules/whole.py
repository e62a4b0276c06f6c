"""A finished machine: the cards its chassis takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from rigright.base.units import KILO
from rigright.base.words import say
from rigright.build.judge import DOUBT, IMPOSSIBLE, BuildRule, Ruling, doubt, fine, impossible
from rigright.build.machine import Cards, Rig
from rigright.facts.shop.cards import BLOWER, OPEN, PASSIVE, SOLDERED
from rigright.facts.shop.tables import Finished

_OUTSIDE = re.compile(r"e-?gpu|oculink|thunderbolt|usb4|外置")


def cards(rig: Rig) -> Iterator[Ruling]:
    """Each kind of card, held against what the machine takes."""
    machine = rig.machine
    if machine is None:
        return
    loose = [item for item in rig.cards if not item.chip.id.startswith(tuple(machine.chips or ()))]
    if not loose:
        count = rig.n_cards
        if machine.kind == "modules" and count > machine.cards_max:
            yield impossible(
                "gpu machine",
                say(
                    "{machine} holds {most}; {count} are listed",
                    machine=machine.name,
                    most=machine.cards_max,
                    count=count,
                ),
                do=say("use several of these machines"),
            )
        else:
            yield fine("machine", say("{machine}, stock configuration", machine=machine.name))
        return
    if machine.cards_max == 0 or machine.kind == "modules":
        outside = _OUTSIDE.search(rig.remarks) is not None
        apple = "apple" in (machine.chips or frozenset())
        for item in loose:
            yield Ruling(
                verdict=DOUBT if outside and not apple and machine.kind == "closed" else IMPOSSIBLE,
                parts=("gpu", "machine"),
                reason=say("{machine} does not support {chip}", machine=machine.name, chip=item.chip.name),
                do=say("an eGPU box works over Thunderbolt, USB4 or OCuLink: slow links, one card")
                if outside and not apple
                else say("use a machine with slots, or run a second machine over the network"),
            )
        return
    count = sum(entry.count for entry in loose)
    if count > machine.cards_max:
        yield impossible(
            "gpu machine",
            say(
                "{machine} holds {most} cards; {count} are listed",
                machine=machine.name,
                most=machine.cards_max,
                count=count,
            ),
            do=say("use fewer cards, or a larger chassis"),
        )
    for item in loose:
        yield from _card(machine, item)


def _card(machine: Finished, cards: Cards) -> Iterator[Ruling]:
    """One kind of card: width, length, watts."""
    names = {"machine": machine.name, "chip": cards.shape.model or cards.chip.name}
    if cards.chip.form.startswith(SOLDERED):
        yield impossible(
            "gpu machine",
            say("{chip} is {form}: it does not fit a PCIe slot", form=cards.chip.form, **names),
            do=say("use its PCIe version, or a complete machine with these modules"),
        )
        return
    wide, long, watts = cards.least_slots, cards.length_m or cards.shape.least_m, cards.watts
    if wide is not None and machine.card_slots is not None and wide > machine.card_slots + 0.2:
        yield Ruling(
            verdict=DOUBT
            if cards.shape.blowers and cards.slots is None and wide < machine.card_slots + 1
            else IMPOSSIBLE,
            parts=("gpu", "machine"),
            reason=say(
                "{chip} is {wide} slots wide; {machine} takes {most}",
                wide=f"{wide:g}",
                most=f"{machine.card_slots:g}",
                **names,
            ),
            do=say("use a card of that width"),
        )
    if long is not None and machine.card_m is not None and long > machine.card_m + 0.005:
        yield impossible(
            "gpu machine",
            say(
                "{chip} is {long} mm long; {case} has room for {most} mm",
                long=f"{long * KILO:.0f}",
                case=machine.name,
                most=f"{machine.card_m * KILO:.0f}",
                chip=names["chip"],
            ),
            do=say("use a shorter card"),
        )
    if watts is not None and machine.card_w is not None and watts > machine.card_w:
        far = watts > 1.5 * machine.card_w
        yield Ruling(
            verdict=IMPOSSIBLE if far else DOUBT,
            parts=("gpu", "machine"),
            reason=say(
                "{chip} draws {watts} W; {machine} supports {most} W per card",
                watts=f"{watts:.0f}",
                most=f"{machine.card_w:.0f}",
                **names,
            ),
            do=say("use a card of at most {most} W", most=f"{machine.card_w:.0f}"),
        )
    yield from _fed(machine, cards)


def _fed(machine: Finished, cards: Cards) -> Iterator[Ruling]:
    """Air and plugs for one kind of card."""
    watts, names = cards.watts, {"machine": machine.name, "chip": cards.shape.model or cards.chip.name}
    if cards.shape.cooling == PASSIVE and machine.passive_ok is False and (watts or 300.0) > 75:
        yield doubt(
            "gpu machine",
            say("{chip} has no fans: it needs server airflow", chip=names["chip"]),
            do=say("add a blower or a ducted fan to each card, and add it to the list"),
        )
    if cards.shape.cooling == OPEN and machine.kind == "server" and machine.passive_ok and (watts or 0) > 75:
        yield doubt(
            "gpu machine",
            say("the fans of {chip} blow against the chassis airflow", chip=names["chip"]),
            do=say("use passive or blower cards; top power connectors may hit the lid"),
        )
    if (
        cards.shape.plugs is not None
        and (cards.shape.plugs.pcie or cards.shape.plugs.h12v)
        and machine.kind in {"slim", "desktop"}
    ):
        yield impossible(
            "gpu machine",
            say("{chip} needs a power connector; {machine} has none", **names),
            do=say("use a slot-powered card: 75 W or less"),
        )


def noise(rig: Rig) -> Iterator[Ruling]:
    """Where a machine can stand: what servers and rows of blowers sound like."""
    machine = rig.machine
    if machine is not None and machine.kind in {"server", "modules"}:
        says = say(
            "{machine}: 60 to 85 dB, needs its own room; rack it with two people or a lift",
            machine=machine.name,
        )
        yield _loud(rig, fine("machine", says))
        return
    blowers = sum(cards.count for cards in rig.cards if cards.shape.cooling in {BLOWER, PASSIVE})
    if blowers >= 2 and machine is None:
        says = say("{count} blowers: about 50 dB under load, not beside a desk", count=blowers)
        yield _loud(rig, fine("gpu", says))


def _loud(rig: Rig, ruling: Ruling) -> Ruling:
    """The same as a doubt where somebody works beside the machine."""
    if rig.room is None or not rig.room.quiet:
        return ruling
    do = say("choose cards with two or three fans, or put the machine in another room")
    return replace(ruling, verdict=DOUBT, parts=(*ruling.parts, "room"), do=do)


RULES = (BuildRule(name="machine", judge=cards), BuildRule(name="noise", judge=noise))
