"""One model on one machine, training: memory by rank, time by part, how far it goes, what to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rigright.arch.count import params
from rigright.arch.sources.open import open_model
from rigright.base.tables import DATA, read_toml
from rigright.base.units import show_bytes
from rigright.base.words import Sentence, in_both, say, with_semicolons
from rigright.choice.training import MICRO_BATCHES, sequences_in
from rigright.cost.estimate import Estimate, days_of
from rigright.cost.layers import is_generator
from rigright.cost.training.learners import learnt_params, trunk_of
from rigright.cost.training.saved import Saved, layer_saved
from rigright.demand import PlanWish, Training, TrainingWish
from rigright.facts.corrections import corrections
from rigright.options.read import typed
from rigright.predict.timed import SampleSpeed
from rigright.predict.trained import StepUse, slowest
from rigright.predict.trained_unsaid import length_decides
from rigright.search.figures import kept_by
from rigright.search.market import is_priced
from rigright.search.why import missed
from rigright.verbs.planning.checks import check_single
from rigright.verbs.seen.here import the_node
from rigright.verbs.serving.explained import Reason, Remedy
from rigright.verbs.serving.reasons import formulas, reasons_of
from rigright.verbs.training.case import (
    RankUse,
    Trained,
    TrainingOnCards,
    build_case,
    rank_uses,
    reach,
    rollout_of,
)


def reasons(case: TrainingOnCards, worst: RankUse) -> tuple[Reason, ...]:
    """A row for each part that stands at the peak of the worst rank."""
    setup, terms = case.setup(), corrections("memory_training")["terms"]
    precision, optimizer, trainer = setup.precision, setup.optimizer, setup.trainer
    saved: Saved = layer_saved(trunk_of(case.arch).layers[-1], setup.habit)
    a_token = saved.whole + saved.stream + saved.split + saved.kv + saved.expert
    states = optimizer.bytes if optimizer.bytes is not None else optimizer.copies * precision.state
    numbers: dict[str, Sentence | str] = {
        "frozen": setup.base.id,
        "weights": _each(precision.said, precision.param),
        "master": _each(precision.said, precision.master),
        "gradients": _each(precision.said, precision.grad),
        "optimizer": _each(optimizer.label, states),
        "step": f"{optimizer.label}: {optimizer.step_copies:g}",
        "activations": say(
            "recompute {level}; {size} per token in the last layer",
            level=setup.habit.recompute,
            size=show_bytes(a_token),
        ),
        "working": say("{count} gradients of FFN width", count=f"{trainer.wide_grads:g}"),
        "loss": f"{setup.logit:g} B; {case.arch.vocab}",
        "gathered": setup.training.sharding,
        "buckets": f"{trainer.ddp_copies:g}",
        "casts": "2 B",
        "reserved": f"x {terms['reserve']:g}",
        "device": f"{terms['context_gib']:g} + {terms['collectives_gib']:g} GiB",
    }
    if setup.training.post is not None:
        engine = f"tensor parallel {setup.training.post.rollout_tp}"
        numbers |= {"engine": engine, "kv": f"{setup.training.seq_tok} tok"}
    there = {part for part, _ in worst.parts_bytes} | {"reserved", "device"}
    stated = {part: text for part, text in numbers.items() if part in there}
    return reasons_of(formulas("training", stated, optimizer=optimizer.source, trainer=trainer.source))


def _each(name: Sentence | str, size: float) -> Sentence:
    return say("{name}: {size} B", name=name, size=f"{size:g}")


def _time_reasons(case: TrainingOnCards, step: StepUse) -> tuple[Reason, ...]:
    """A row for each part of the time of a step."""
    setup, training, layout = case.setup(), case.training, case.layout
    accumulated = str(layout.pp if training.accumulate is None else training.accumulate)
    numbers: dict[str, Sentence | str] = {
        "forward": say("{count} micro-batches per step", count=accumulated),
        "backward": training.method,
        "recompute": setup.habit.recompute,
        "optimizer": setup.optimizer.label,
        **{name: f"{name} {getattr(layout, name)}" for name in ("tp", "dp", "pp", "ep", "cp")},
        "bubble": training.schedule,
        "host": setup.trainer.label,
        "scoring": say("{count} passes", count=setup.forwards),
        "rollout": "" if training.post is None else f"{training.post.completion_tok} tok",
    }
    return reasons_of(
        formulas("training_step", {f"{part}_s": numbers[part] for part, _ in step.parts_s if part in numbers})
    )


LEAST_SHARE = 0.002  # of a card: what saves less is not stated
WORTH = 1.03  # times as fast, below which a larger micro-batch is no advice

SHARDED = ("none", "zero1", "zero2", "fsdp")
SHORT_TOK = 1024  # sequences below that are not halved
LEAST_GROUP = 4  # completions of a prompt that are still told apart
Change = tuple[dict[str, object], Sentence, Sentence]  # what is set, in words, its price
Weighed = tuple[Remedy, Change]


def remedies(case: TrainingOnCards) -> tuple[Remedy, ...]:
    """Changes that save memory on the worst rank: each alone, and as few gentle ones together as do."""
    saving: list[Weighed] = []
    for change in _changes(case):
        values, sentence, price = change
        after = case.asked(**values)
        remedy = None if after is None else _remedy(case, after, change=sentence, price=price, values=values)
        if remedy is not None and remedy.saves_bytes > LEAST_SHARE * case.card_bytes:
            saving.append((remedy, change))
    gentle = [(remedy, change) for remedy, change in saving if not {"method", "seq_tok"} & set(change[0])]
    alone = [remedy for remedy, _ in saving]
    joint = None if any(remedy.fits for remedy, _ in gentle) else _together(case, gentle)
    if joint is not None:
        remedy, last = joint
        alone.insert(saving.index(last) + 1, remedy)
    return tuple(sorted(alone, key=lambda remedy: not remedy.fits))


def _remedy(
    case: TrainingOnCards,
    after: TrainingOnCards,
    *,
    change: Sentence,
    price: Sentence,
    values: Mapping[str, object],
) -> Remedy:
    """A change, and the case that is asked with it."""
    least = after.least_bytes()
    return Remedy(
        change=change,
        price=price,
        saves_bytes=case.least_bytes() - least,
        peak_bytes=max(rank.used_bytes for rank in rank_uses(after)),
        fits=least <= case.card_bytes,
        flag=" ".join(typed("explain", values)),
    )


def quicker(case: TrainingOnCards, *, most: int) -> int | None:
    """The micro-batch up to `most` that is fastest, asked as `--micro-batch`; None: the one there is is."""
    now = int(case.training.micro_batch)
    own = _rate(case)
    best = None
    for size in sorted({most, *(micro_batch for micro_batch in MICRO_BATCHES if micro_batch < most)}):
        larger = case.asked(micro_batch=size) if size > now else None
        if larger is None or _doubtful(larger):
            continue
        rate = _rate(larger)
        if rate > own * WORTH:
            best, own = size, rate / WORTH
    return best


def _doubtful(case: TrainingOnCards) -> bool:
    """Whether it may not fit: as far as its band goes, or with another length where nobody said one."""
    if any(rank.least_high_bytes > rank.total_bytes for rank in rank_uses(case)):
        return True
    if case.wish.seq_tok is not None or not case.arch.vocab:
        return False
    layout, room_bytes = case.layout, case.card_bytes
    return any(length_decides(case.arch, case.training, layout=layout, room_bytes=room_bytes))


def _rate(case: TrainingOnCards) -> float:
    """Tokens or samples a second; 0 where no speed is known."""
    step = slowest(case.on_each())
    if step is not None:
        return step.tok_per_s
    samples = case.samples()
    return 0.0 if samples is None else samples.rate.value


def _changes(case: TrainingOnCards) -> Iterator[Change]:
    """What is open of data/training_changes.toml, in its order."""
    setup, training, layout = case.setup(), case.training, case.layout
    habit, optimizer, half = setup.habit, setup.optimizer, training.seq_tok // 2
    post, computed = training.post, {"shorter": {"seq_tok": half}, **_of_rollout(training)}
    written = post is not None and bool(post.rollout)
    level = SHARDED.index(training.sharding) if training.sharding in SHARDED else len(SHARDED)
    several = layout.dp * layout.cp > 1
    is_open = {
        "recompute": habit.recompute != "full",
        "selective": habit.recompute == "none" and not habit.flash,
        "flash": not habit.flash,
        "chunks": setup.logit,
        "sequence_parallel": layout.tp > 1 and not layout.sequence_parallel,
        "states_8bit": optimizer.id.startswith("adamw") and optimizer.bytes is None,
        "fused": optimizer.step_copies,
        "offload": training.offload == "none",
        "offload_all": not training.offload.startswith("all"),
        **{name: several and place > level for place, name in enumerate(SHARDED)},
        "micro_batch": training.micro_batch > 1,
        "shorter": training.seq_tok >= SHORT_TOK and case.arch.vocab and not written,
        **{name: name in computed for name in ("sleep", "group", "completion", "no_kl")},
        "precompute": post and not written and training.references,
        "shared": written and setup.trainer.uncut and training.method != "full" and layout.dp == 1,
        "lora": training.method == "full",
        "qlora": training.method != "qlora" and (case.arch.vocab or is_generator(case.arch)),
    }
    for name, row in read_toml(DATA / "training_changes.toml").items():
        if is_open[name]:
            asked = {**row["set"], **computed.get(name, {})}
            kept = {"objective": post.objective} if post is not None and "method" in asked else {}
            values = {"tokens": f"{asked.get('completion_tok', half):,}", **asked}
            change, price = (in_both(*row[text], values=values) for text in ("change", "price"))
            yield asked | kept, change, price


def _of_rollout(training: Training) -> dict[str, dict[str, object]]:
    """What is open where completions are written in each step, by its row."""
    post = training.post
    if post is None or not post.rollout:
        return {}
    short = post.completion_tok // 2
    changes: dict[str, dict[str, object]] = {}
    if post.rollout != "sleep":
        changes["sleep"] = {"rollout": "sleep", "rollout_gpus": None}
    if post.group >= 2 * LEAST_GROUP:
        changes["group"] = {"group": post.group // 2}
    if post.completion_tok >= SHORT_TOK:
        length = training.seq_tok - post.completion_tok + short
        changes["completion"] = {"completion_tok": short, "seq_tok": length}
    return changes | ({"no_kl": {}} if training.references else {})


def _together(case: TrainingOnCards, gentle: list[Weighed]) -> tuple[Remedy, Weighed] | None:
    """Gentle changes one upon the other until they are enough, and the last of them; of rivals the best."""
    chosen: list[Weighed] = []
    for pair in gentle:
        rivals = [other for other in chosen if set(other[1][0]) & set(pair[1][0])]
        if any(rival[0].saves_bytes >= pair[0].saves_bytes for rival in rivals):
            continue
        chosen = [*(other for other in chosen if other not in rivals), pair]
        changes = [change for _, change in chosen]
        values = {name: value for change in changes for name, value in change[0].items()}
        after = case.asked(**values)
        if after is not None and after.least_bytes() <= case.card_bytes:
            sentence = say("{text}", text=with_semicolons(change[1] for change in changes))
            price = say("all costs above")
            return _remedy(case, after, change=sentence, price=price, values=values), pair
    return None


if TYPE_CHECKING:
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
    if wish.picture is not None:
        from rigright.verbs.serving.samples import resized

        arch = resized(arch, wish.picture)
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
        why=(*reasons(case, worst), *(_time_reasons(case, step) if step else ())) if why else (),
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
        priced = priced_training(stand, step) if samples is None else priced_samples(stand, samples)
        chip = case.node.cards[0].chip.id
        return priced, tuple(money_notes(priced, work, market=market, chip=chip))
