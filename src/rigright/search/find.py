"""The one door of the search: a model and a wish in, plans and reasons out."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.record import replace
from rigright.base.words import say
from rigright.choice.work import AUTO, works
from rigright.cost.layers import generates
from rigright.demand import PlanWish
from rigright.facts.nodes import find_node
from rigright.search.market import Market
from rigright.search.record import Plan, SearchResult, is_named

SERVED = (AUTO, *works())
TRAINED = ("finetune", "pretrain")
SAMPLED = ("image", "embed")
OWN_WORTH = 2.0


def takes_images(arch: Arch, wish: PlanWish) -> bool:
    """Whether the work is on whole samples: images or texts, looked at at once, or images to learn from."""
    learns = wish.work in TRAINED and arch.task in {"vision", "image"}
    return wish.work in SAMPLED or learns or (wish.work in SERVED and not generates(arch))


def _or_instead(
    search: Callable[..., SearchResult], arch: Arch, *, wish: PlanWish, market: Market, alone: bool
) -> SearchResult:
    """What is found; where nothing fits what was named, with more such cards or another machine that does."""
    answer = search(arch, wish, market=market)
    if alone or answer.plans or answer.nearest is not None or not is_named(wish):
        return answer
    named = wish.on if wish.on is not None else wish.owned
    node = market.there if market.there is not None or named is None else find_node(named)
    chips = wish.chips if node is None else tuple(dict.fromkeys(card.chip.id for card in node.cards))
    freed = replace(wish, on=None, owned=None, chips=(), most_chips=None, most_plans=1)
    if wish.aim is None and wish.buy is not False and not wish.clouds:
        freed = replace(freed, aim="price", buy=True)  # the smallest that does
    does: list[Plan] = []
    for kinds in dict.fromkeys((chips, ())):
        try:
            other = search(arch, replace(freed, chips=kinds), market=replace(market, there=None))
        except AskError:
            continue
        does += other.plans[:1]

    def usd(plan: Plan) -> float:
        """To buy, else by the hour; more of the same go before another machine up to twice its price."""
        known = (plan.figures[name].value for name in ("usd", "usd_per_h") if name in plan.figures)
        return next(known, inf) / (OWN_WORTH if plan.chip.id in chips else 1.0)

    return replace(answer, instead=min(does, key=usd)) if does else answer


def find(
    arch: Arch, wish: PlanWish, *, market: Market, alone: bool = False, beside: tuple[float, ...] = (),
    most: int | None = None,
) -> SearchResult:  # fmt: skip
    """The best few plans for a model and a wish; the same for the same arguments, wherever it runs.

    `alone`: no other machine is looked for where nothing fits on what was named; `beside`: users of other
    questions that ask the same; `most`: no more is settled for.
    """
    if takes_images(arch, wish):
        from rigright.search.images import find_images

        return _or_instead(find_images, arch, wish=wish, market=market, alone=alone)
    if wish.work in SERVED:
        from rigright.search.serving import find_serving

        return find_serving(arch, wish, market=market, alone=alone, beside=beside, most=most)
    if wish.work in TRAINED:
        from rigright.search.training import find_training

        return _or_instead(find_training, arch, wish=wish, market=market, alone=alone)
    known = ", ".join((*SERVED, *TRAINED, *SAMPLED))
    raise AskError(say('unknown mode "{work}"; choose {known}', work=wish.work, known=known))
