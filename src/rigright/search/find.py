"""The one door of the search: a model and a wish in, plans and reasons out."""

from __future__ import annotations

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.demand import PlanWish
from rigright.search.market import Market
from rigright.search.record import Found
from rigright.search.serving import find_serving
from rigright.search.training import find_training

SEARCHES = {
    "serve": find_serving,
    "chat": find_serving,
    "batch": find_serving,
    "finetune": find_training,
    "pretrain": find_training,
}


def find(arch: Arch, wish: PlanWish, *, market: Market) -> Found:
    """The best few plans for a model and a wish; the same for the same arguments, wherever it runs."""
    if wish.work not in SEARCHES:
        raise AskError(
            say(
                'there is no work called "{work}"; there are: {known}',
                work=wish.work,
                known=", ".join(SEARCHES),
            )
        )
    return SEARCHES[wish.work](arch, wish, market=market)
