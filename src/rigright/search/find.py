"""The one door of the search: a model and a wish in, plans and reasons out."""

from __future__ import annotations

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.choice.work import AUTO, works
from rigright.cost.memory_kv import generates
from rigright.demand import PlanWish
from rigright.search.market import Market
from rigright.search.record import Found

SERVED = (AUTO, *works())
TRAINED = ("finetune", "pretrain")
SAMPLED = ("image", "embed")


def takes_images(arch: Arch, wish: PlanWish) -> bool:
    """Whether the work is on whole samples: images or texts, looked at at once, or images to learn from."""
    learns = wish.work in TRAINED and arch.task in {"vision", "image"}
    return wish.work in SAMPLED or learns or (wish.work in SERVED and not generates(arch))


def find(
    arch: Arch, wish: PlanWish, *, market: Market, alone: bool = False, beside: tuple[float, ...] = ()
) -> Found:
    """The best few plans for a model and a wish; the same for the same arguments, wherever it runs.

    `alone`: no other machine is looked for where nothing fits on what was named; `beside`: users of other
    questions that ask the same.
    """
    if takes_images(arch, wish):
        from rigright.search.images import find_images

        return find_images(arch, wish, market=market)
    if wish.work in SERVED:
        from rigright.search.serving import find_serving

        return find_serving(arch, wish, market=market, alone=alone, beside=beside)
    if wish.work in TRAINED:
        from rigright.search.training import find_training

        return find_training(arch, wish, market=market)
    known = ", ".join((*SERVED, *TRAINED, *SAMPLED))
    raise AskError(say('unknown mode "{work}"; choose {known}', work=wish.work, known=known))
