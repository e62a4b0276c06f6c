"""What was asked, as a wish: in the money of the place that was named, where nobody named another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rigright.base.errors import AskError
from rigright.base.everyday import paid
from rigright.base.money import home_of
from rigright.base.record import replace
from rigright.base.words import ENGLISH, say
from rigright.demand import PlanWish
from rigright.facts.clouds import providers_of
from rigright.facts.nodes import find_node, rented_from
from rigright.facts.tariffs import currency_at, find_place
from rigright.options.read import read_wish
from rigright.verbs.seen.here import is_place, limited


def wish_of(
    words: Mapping[str, str | None], *, verb: str = "plan", beside: Sequence[str | None] = (),
    language: str = ENGLISH,
) -> PlanWish:  # fmt: skip
    """The wish that options tell; `beside`: what else was typed."""
    wish = read_wish(words, verb=verb, home=paid_in(words, beside, language=language))
    machines = () if verb == "compare" else (wish.on, wish.owned, *beside)
    is_used = any(name is not None and paid(name)[0] == "used" for name in machines)
    return replace(wish, used=True) if is_used else wish


def paid_in(words: Mapping[str, str | None], beside: Sequence[str | None], *, language: str) -> str:
    """The currency of who asks: by the place of a question, else by its words and language."""
    place = words.get("place")
    local = currency_at(find_place(place)) if place else None
    return home_of((*words.values(), *beside), language, place=local)


def settled(wish: PlanWish) -> PlanWish:
    """The same with a machine that is named as it runs under the watts and in the place that are said."""
    if wish.have is not None and wish.buy is None:
        wish = replace(wish, buy=True)
    if wish.on is not None:
        clouds = wish.clouds
        if wish.buy is None and not clouds and not is_place(wish.on):
            clouds = rented_from(wish.on)
        return replace(wish, power_w=None, on=named_for(wish.on, wish), clouds=clouds)
    if wish.owned is not None and wish.power_w is not None:
        return replace(wish, power_w=None, owned=limited(wish.owned, wish.power_w))
    return wish


def named_for(name: str, wish: PlanWish) -> str:
    """A machine in words with its power limit; one that cannot be bought for its place is refused."""
    text = name if wish.power_w is None else limited(name, wish.power_w)
    rented = wish.buy is False or wish.clouds or wish.spot
    if rented or (wish.have is None and wish.room is None):
        return text
    if is_place(text):
        return text
    from rigright.build.proposals.record import recommended
    from rigright.verbs.ordering import orders_for  # with the rules of machines

    node = find_node(text)
    made = orders_for(wish).proposed(node)
    first = recommended(made.variants)
    if first is None:
        raise AskError(
            made.refused(node.shown, in_pc=wish.have is not None),
            hint=say("change {option}, or rent: --rent", option="--have" if wish.have else "--room"),
        )
    return text if first.limit_w is None else limited(text, first.limit_w * node.n_cards)


def things_for(names: Sequence[str], wish: PlanWish) -> tuple[str, ...]:
    """The same of what is compared; under a power limit a card means one card."""
    plain = wish.power_w is None and wish.have is None and wish.room is None
    return tuple(
        name if plain or ":" in name or providers_of(name) else _thing_for(name, wish) for name in names
    )


def _thing_for(name: str, wish: PlanWish) -> str:
    text = named_for(name, wish)
    return text if text == name or text[0].isdigit() else f"1x {text}"
