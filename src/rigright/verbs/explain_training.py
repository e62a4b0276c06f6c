"""One model on one machine, training: memory by rank, time by part, how far it goes, what to change."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rigright.arch.count import params
from rigright.arch.sources.open import open_model
from rigright.base.words import Sentence
from rigright.choice.training import sequences_in
from rigright.cost.estimate import Estimate, days_of
from rigright.cost.training.learners import learnt_params
from rigright.demand import PlanWish, TrainingWish
from rigright.predict.timed import SampleSpeed
from rigright.predict.trained_step import StepUse, slowest
from rigright.search.figures import kept_by
from rigright.search.market import is_priced
from rigright.search.why import missed
from rigright.verbs.planning.checks import check_single
from rigright.verbs.seen.here import the_node
from rigright.verbs.training.case import TrainingOnCards, build_case, rank_uses, reach, rollout_of
from rigright.verbs.training.reasons import reasons, time_reasons
from rigright.verbs.training.remedies import quicker, remedies
from rigright.verbs.training.trained import Trained

if TYPE_CHECKING:
    from rigright.search.market import Market
    from rigright.search.priced import Priced

TRAINED = frozenset({"finetune", "pretrain"})


def explain_training(
    model: str,
    on: str | None = None,
    *,
    wish: TrainingWish | None = None,
    work: PlanWish | None = None,
    why: bool = False,
    asked: str = "",
) -> Trained:
    """Explain memory and speed of training a model on a machine; `asked` is the command to build on.

    `work`: how much is learnt from, and by when, where somebody said so.
    """
    arch, wish, work = open_model(model), wish or TrainingWish(), work or PlanWish()
    node = the_node(work.owned if on is None else on)
    check_single(arch, wish, work=work)
    if wish.image_size is not None:
        from rigright.verbs.serving.samples import resized

        arch = resized(arch, wish.image_size)
    case = build_case(arch, node, wish=wish)
    setup, ranks, memory = case.setup(), rank_uses(case), case.memory()
    worst = min(ranks, key=lambda rank: rank.spare_bytes)
    step, samples = slowest(case.on_each()), case.samples()
    days = _days(work, step=step, samples=samples, sample_tok=case.training.seq_tok * sequences_in(wish))
    fits, far = worst.spare_bytes >= 0, reach(case)
    reached = {} if days is None else {"days": days.value}
    priced, more = _priced(case, work, step=step, samples=samples) if fits else (None, ())
    reached |= {} if priced is None else priced.reached
    return Trained(
        model=case.arch.name,
        params=params(case.arch),
        learnt_params=learnt_params(case.arch, case.training),
        machine=node.shown,
        chip=case.chip,
        trainer=setup.trainer.label,
        optimizer=setup.optimizer.label,
        precision=setup.precision.said,
        training=case.training,
        layout=case.layout,
        ranks=ranks,
        host_bytes=float(np.max(memory.host_bytes)),
        nvme_bytes=float(np.max(memory.nvme_bytes)),
        limits=far,
        quicker=quicker(case, most=far.micro_batch) if fits and asked else None,
        time=step,
        samples=samples,
        days=days,
        by_days=work.days,
        supply=None if priced is None else priced.supply,
        figures={} if priced is None else priced.figures,
        wish=work,
        certainty={} if days is None else kept_by(work, {"days": days}),
        broken=missed(work, reached, label=node.shown),
        rollout=rollout_of(case),
        remedies=() if fits else remedies(case),
        why=(*reasons(case, worst), *(time_reasons(case, step) if step else ())) if why else (),
        notes=(*case.notes, *case.arch.warnings, *more),
        asked=asked,
    )


def _days(
    work: PlanWish, *, step: StepUse | None, samples: SampleSpeed | None, sample_tok: float
) -> Estimate | None:
    """How long all of it takes; None where nobody said how much, or the speed is not known."""
    many = None if work.samples is None else work.samples * work.epochs
    if step is None:
        return None if samples is None or many is None else days_of(many, samples.rate)
    tokens = many * sample_tok if work.train_tok is None and many is not None else work.train_tok
    return None if tokens is None else days_of(tokens / step.ranks, step.tok_per_s_per_chip)


def _priced(
    case: TrainingOnCards, work: PlanWish, *, step: StepUse | None, samples: SampleSpeed | None
) -> tuple[Priced | None, tuple[Sentence, ...]]:
    """What the machine costs while it trains, and what was assumed of it; None where nobody asks."""
    if not is_priced(work):
        return None, ()
    from rigright.verbs.paid import asked_market, money_notes

    with asked_market(work) as market:
        priced = _on_market(case, work, step=step, samples=samples, market=market)
        chip = case.node.cards[0].chip.id
        return priced, tuple(money_notes(priced, work, market=market, chip=chip))


def _on_market(
    case: TrainingOnCards,
    work: PlanWish,
    *,
    step: StepUse | None,
    samples: SampleSpeed | None,
    market: Market,
) -> Priced:
    from rigright.search.priced import Stand, place_of, priced_samples, priced_training, sought

    layout, node = case.layout, case.node
    n_chips = int(layout.tp * layout.pp * layout.dp * layout.cp)
    each = case.training.seq_tok * sequences_in(case.wish)
    tokens = None if work.samples is None else work.samples * work.epochs * each
    wish = replace(work, work=work.work if work.work in TRAINED else case.wish.work or "finetune")
    wish = replace(wish, train_tok=work.train_tok if work.train_tok is not None else tokens)
    question = sought(case.arch, node, wish=wish, market=market)
    ranks = None if samples is not None else int(layout.tp)
    place = place_of(question, node.cards)
    stand = Stand(question=question, place=place, n_chips=n_chips, replica=n_chips, ranks=ranks)
    return priced_training(stand, step) if samples is None else priced_samples(stand, samples)
