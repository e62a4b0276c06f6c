"""Reads what is to be compared as wishes and markets.

Machines and clouds for one model ("4090", "8x h100", "aws:p5.48xlarge", "rent h100"), or models, engines,
formats and methods on one machine.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from rigright.arch.record import Arch
from rigright.arch.sources.open import open_model
from rigright.base import everyday
from rigright.base.errors import AskError, RigError, clash, unknown
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say
from rigright.cost.training.setup import METHODS
from rigright.demand import PlanWish
from rigright.facts.chips import Chip, by_id
from rigright.facts.clouds import Offer, in_cloud, no_prices, offers, providers_of
from rigright.facts.engines import find_engine
from rigright.facts.find import names_chip
from rigright.facts.formats import find_format
from rigright.facts.naming import read_counts, read_tokens
from rigright.facts.nodes import Node, find_node, rented_from
from rigright.facts.units import sold_count
from rigright.search.market import Market, counts_of, market_on
from rigright.verbs.seen.here import looked_at

LEAST, MOST = 2, 8
FEW = (1, 2, 4, 8, 16, 32, 64)  # cards a bare name stands for: the first, or the next sold, that will do
LISTED = 8  # instances that an error names
WHATS = {
    "engine": say("an engine"), "format": say("a weight format"), "method": say("a training method"),
    "model": say("a model"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """One thing to compare: what is asked of the search for it."""

    asked: str
    wish: PlanWish
    market: Market
    notes: tuple[Sentence, ...] = ()
    chips: tuple[Chip, ...] = ()  # of the machine, or of the cards whose number is open; none: a cloud's
    counts: tuple[int | None, ...] = (None,)  # cards at most, tried in turn until one will do
    arch: Arch | None = None  # where models are the things: its own
    label: str = ""  # of a model, an engine, a format or a method on one machine for all

    @property
    def whole(self) -> bool:
        """Whether a machine is named, and not cards or a cloud of which some will be taken."""
        return self.counts == (None,) and bool(self.chips)


def read_things(
    asked: tuple[str, ...], *, arch: Arch | None, wish: PlanWish, market: Market
) -> tuple[Thing, ...]:
    """Every thing in its order; `arch`: None where models are the things."""
    check_count(asked)
    if wish.on is not None:
        on, wish = wish.on, replace(wish, on=None)
        return tuple(_on_one(name, on, arch=arch, wish=wish, market=market) for name in asked)
    if arch is None:
        raise not_a_machine(asked[0]) or AskError(say("which model shall run?"), hint=say("add --for MODEL"))
    return tuple(_read(name, wish=wish, market=market) for name in asked)


def _on_one(name: str, on: str, *, arch: Arch | None, wish: PlanWish, market: Market) -> Thing:
    """A model, where no model is said; else an engine, a format or a method: all on one machine."""
    machine = _read(on, wish=wish, market=market, whole=True)
    if arch is None:
        own = open_model(name)
        return replace(machine, asked=name, arch=own, label=own.name.rpartition("/")[2])
    _, fixed = _way_of(name)
    if not fixed:
        raise AskError(
            say('"{name}" is no engine, weight format or training method', name=name),
            hint=say("to compare machines, leave out --on; to compare models, leave out --for"),
        )
    return replace(machine, asked=name, label=name, wish=replace(machine.wish, **fixed))


def _way_of(name: str) -> tuple[str, dict[str, Any]]:
    """What a word that names no machine is, and what a wish asks for by it; nothing for any other word."""
    method = everyday.named("method", name).lower()
    if method in METHODS:
        return "method", {"method": method, "work": "finetune"}
    finds = (("format", "weights", find_format), ("engine", "engines", find_engine))
    for kind, field, find in finds:
        word = everyday.named(field, name)
        with suppress(AskError):
            find(word)
            return kind, {field: (word,)}
    return "", {}


def not_a_machine(name: str) -> AskError | None:
    """Why a model, an engine, a format or a method is no machine, and what to type; else None."""
    kind, _ = _way_of(name)
    if not kind:
        try:
            open_model(name)
        except RigError:
            return None
        kind = "model"
    hint = say("add --on MACHINE") if kind == "model" else say("add --for MODEL --on MACHINE")
    return AskError(say('"{name}" is {what}, not a machine', name=name, what=WHATS[kind]), hint=hint)


def check_count(asked: tuple[str, ...]) -> None:
    """From two to eight things, none twice."""
    if not LEAST <= len(asked) <= MOST:
        raise AskError(
            say("name {least} to {most} things to compare, got {count}",
                least=LEAST, most=MOST, count=len(asked))
        )  # fmt: skip
    twice = next((name for place, name in enumerate(asked) if name in asked[:place]), None)
    if twice is not None:
        raise AskError(say('"{name}" is listed twice', name=twice))


def _read(asked: str, *, wish: PlanWish, market: Market, whole: bool = False) -> Thing:
    way, rest = everyday.paid(asked)
    if way is not None:
        wish = replace(wish, buy=way != "rent", used=wish.used or way == "used")
        if way in {"used", "new"}:
            resold = market_on(market.today, currency=market.currency, used=way == "used")
            market = replace(resold, there=market.there, ordered=market.ordered)
        return replace(_read(rest, wish=wish, market=market, whole=whole), asked=asked)
    cloud, name = in_cloud(asked) or ("", asked.strip())
    if wish.buy and providers_of(cloud or name):
        raise clash(asked, "--buy")
    if providers_of(asked.strip()):
        rented = replace(wish, clouds=(asked.strip(),), buy=False, aim=wish.aim or "cost")
        return Thing(asked=asked, wish=rented, market=market)
    offered = [offer for offer in offers() if offer.instance.casefold() == name.strip().casefold()]
    offered = [offer for offer in offered if not cloud or offer.provider in providers_of(cloud)]
    if offered and (cloud or not names_chip(asked)):
        return _rented(asked, offered, wish=wish, market=market)
    unpriced = no_prices(asked.partition(":")[0])
    if unpriced is not None and looked_at(asked) is None:
        raise unpriced
    return _cards(asked, wish=wish, market=market, whole=whole)


def _cards(asked: str, *, wish: PlanWish, market: Market, whole: bool) -> Thing:
    """Cards by their number, or as many as will do; `whole`: a bare name is one card."""
    looked = looked_at(asked)
    if looked is not None:
        seen = replace(market, there=looked)
        on = replace(wish, on=asked)
        return Thing(asked=asked, wish=on, market=seen, notes=looked.notes, chips=_chips_of(looked))
    try:
        node = find_node(asked)
    except AskError as error:
        cloud, name = in_cloud(asked) or ("", asked)
        if not cloud:
            raise not_a_machine(asked) or error from None
        there = {offer.instance for offer in offers() if offer.provider in providers_of(cloud)}
        near = sorted(there, key=lambda known: (known[:2] != name[:2], known))[:LISTED]
        raise unknown(say("instance"), name, near=near, see=f"rigright look-up clouds {cloud}") from None
    if wish.buy is None and not wish.clouds:
        wish = replace(wish, clouds=rented_from(asked))
    counted = any(read_counts(list(read_tokens(part))).count is not None for part in asked.split("+"))
    if (
        whole
        or counted
        or node.has_instances
        or node.host is not None
        or node.n_cards > node.cards[0].chip.devices
    ):
        on = replace(wish, on=asked)
        return Thing(asked=asked, wish=on, market=market, notes=node.notes, chips=_chips_of(node))
    few = replace(wish, chips=(asked,), aim=wish.aim or "cost")
    chip = node.cards[0].chip
    most = wish.most_chips or max(FEW[-1], sold_count(chip, 1))
    had = counts_of(chip, few, market=market, asked=[count for count in FEW if count < most], most=most)
    return Thing(
        asked=asked,
        wish=few,
        market=market,
        notes=node.notes,
        chips=_chips_of(node),
        counts=(*(count for count in had if count < most), most),
    )


def _chips_of(node: Node) -> tuple[Chip, ...]:
    return tuple({card.chip.id: card.chip for card in node.cards}.values())


def _rented(asked: str, offers: list[Offer], *, wish: PlanWish, market: Market) -> Thing:
    """One instance: its cards, at its own price."""
    offer = offers[0]
    if offer.chip is None or offer.n_chips < 1:
        raise AskError(
            say("{instance} has {chip}: an unknown GPU or a GPU slice",
                instance=offer.instance, chip=offer.said or offer.chip or "")
        )  # fmt: skip
    # the same with dollars, where the cloud bills in another currency
    chip = offer.chip
    sold = [item for item in market.offers.get(chip, ()) if item.provider == offer.provider]
    offers = [item for item in sold if item.instance == offer.instance] or offers
    offer = offers[0]
    thing = Thing(
        asked=asked,
        wish=replace(wish, on=f"{offer.n_chips:g}x {chip}", clouds=(offer.provider,), buy=False),
        market=replace(market, offers={chip: tuple(offers)}),
        chips=(by_id()[chip],),
    )
    if (offer.spot_usd_per_h if wish.spot else offer.usd_per_h) is not None:
        return thing
    note = say("no price known for {instance}", instance=offer.instance)
    free = replace(thing.wish, clouds=(), buy=None)
    return replace(thing, wish=free, market=replace(market, offers={}), notes=(note,))
