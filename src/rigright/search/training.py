"""The search for machines that train or tune a model: layouts, methods, micro-batches, days and dollars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.units import MEGA
from rigright.base.words import DECIDES, Sentence, assuming, say
from rigright.choice.training import batch_of, seq_tok_of, sequences_in, tokens_of
from rigright.choice.training_runs import box_of
from rigright.cost.estimate import SECONDS_PER_DAY, Estimate
from rigright.cost.training.setup import METHODS
from rigright.demand import Numbers, PlanWish
from rigright.facts.nodes import find_node
from rigright.money.tariff import usd_per_mtok
from rigright.predict.trained import StepUse, TrainingCase, step_use
from rigright.predict.trained_memory import least, shown
from rigright.predict.trained_unsaid import batch_notes, too_long, training_notes
from rigright.search.figures import ended, kept_by, limits_of, power_w, usd_per_h
from rigright.search.market import Market
from rigright.search.plans import Candidates, notes_of, power_of, reasons_of
from rigright.search.question import Question, kinds_of
from rigright.search.record import Plan, SearchResult, Supply
from rigright.search.supply import Options, nodes_of, options, supply_of
from rigright.search.training_settled import explored, preferred, whole
from rigright.search.training_space import PRETRAINED_COUNTS, TUNED_COUNTS, TrainingScored, training_wish
from rigright.search.why import front

LEAST_SEQ = 512  # tokens of a sequence, below which people rarely train
BUBBLE = 0.25  # share of a step above which waiting is what limits


def find_training(arch: Arch, wish: PlanWish, *, market: Market) -> SearchResult:
    """The best few ways to train or tune a model within the wish, and why nothing cheaper will do.

    A length that nobody stated is halved until a machine that was named has room for it.
    """
    stated, (wish, notes) = wish, filled(arch, wish)
    counts = PRETRAINED_COUNTS if wish.work == "pretrain" else TUNED_COUNTS
    kinds = tuple(whole(kind, wish) for kind in kinds_of(wish, counts=counts, market=market))
    question = Question(arch=arch, wish=wish, market=market, kinds=kinds, ways=())
    answer, seq = find(question, notes=notes), wish.seq_tok or 0
    if stated.seq_tok is not None or stated.on is None or answer.plans or answer.nearest is not None:
        return answer
    for shorter in (size for size in (seq // 2, seq // 4) if size >= LEAST_SEQ):
        other = find_training(arch, replace(stated, seq_tok=shorter), market=market)
        if other.plans:
            note = say(
                "{seq} tokens per sequence do not fit: {own} assumed", seq=f"{seq:,}", own=f"{shorter:,}"
            )
            own = filled(arch, replace(stated, seq_tok=shorter))[0]
            return replace(other, wish=own, notes=(note.of(DECIDES), *other.notes))
    return answer


def filled(arch: Arch, wish: PlanWish) -> tuple[PlanWish, tuple[Sentence, ...]]:
    """The wish with lengths and batch where nobody said them, and what was assumed."""
    seq = wish.seq_tok or seq_tok_of(arch, wish.work, completion_tok=wish.completion_tok)
    cards = _cards(wish)
    batch = wish.global_batch or batch_of(arch, wish.work, seq_tok=seq, cards=cards, wish=wish)
    tokens = tokens_of(wish)
    if tokens is None and wish.samples is not None:
        tokens = wish.samples * wish.epochs * seq * sequences_in(wish)
    notes = list(too_long(arch, wish.seq_tok))
    if wish.seq_tok is None or wish.global_batch is None:
        notes.append(assuming(say("{batch} x {seq} tokens per step", batch=f"{batch:,}", seq=f"{seq:,}")))
    if tokens is not None and wish.train_tok is None and wish.samples is None:
        text = f"{round(tokens / MEGA):,}M"
        notes.append(say("no --tokens: chosen for one run over {tokens} tokens", tokens=text).of(DECIDES))
    if tokens is None:
        notes.append(say("no --tokens: time and total cost are not shown"))
    return replace(wish, seq_tok=seq, global_batch=batch, train_tok=tokens), tuple(notes)


def _cards(wish: PlanWish) -> int:
    """Cards of the machine that was named; 1 where none was, or where it has to be looked at first."""
    if wish.on is None:
        return 1
    try:
        return find_node(wish.on).n_cards
    except AskError:
        return 1


def find(question: Question, *, notes: Sequence[Sentence] = ()) -> SearchResult:
    """A pure function of the question."""
    table = tabled(question)
    usual = partial(preferred, table.question, table.scored)
    limits = limits_of(table.question, table.figures)
    answer = front(table, limits, load_given=False, plan_at=plan_of, kept=usual)
    return replace(answer, looked_at=len(table.scored.points), chips=len(question.kinds), notes=tuple(notes))


def tabled(question: Question) -> Candidates:
    """Every training with every supply, and their figures."""
    question, scored = explored(question, training_wish(question.wish))
    points = scored.points
    result = options(
        question, kind=points.kind, n_chips=points.n_chips, replica=points.n_chips, ranks=points.tp
    )
    table = Candidates(question=question, scored=scored, options=result, figures={})
    return replace(table, figures=_figures(table, scored))


def _figures(table: Candidates, scored: TrainingScored) -> dict[str, Numbers]:
    question, index, points = table.question, table.options.index, scored.points
    rate = scored.timed["tok_per_s_per_chip"][index] * points.n_chips[index]
    room = np.array([kind.card.room_bytes for kind in question.kinds])[points.kind]
    loss = np.array([METHODS.index(way.training.method) for way in question.ways])
    figures = {
        "train_tok_per_s": rate,
        "mfu": scored.timed["mfu"][index],
        "headroom": (1 - points.rank_bytes / room)[index],
        "loss": loss[points.way[index]].astype(float),
    }
    return figures | costs_of(question, scored, options=table.options, rate=rate)


def costs_of(question: Question, scored: Any, *, options: Options, rate: Numbers) -> dict[str, Numbers]:
    """What each option draws and costs at so many tokens a second."""
    wish = question.wish
    power = power_w(question, scored, options=options)
    hour = usd_per_h(question, scored, options=options, power=power)
    figures = {
        "power_w": power,
        "n_chips": scored.points.n_chips[options.index].astype(float),
        "usd": options.usd,
        "usd_per_h": hour,
        "usd_per_mtok": usd_per_mtok(hour, rate),
    }
    if wish.train_tok is None:
        return figures | {"usd_needed": options.usd}
    days = wish.train_tok / rate / SECONDS_PER_DAY
    return figures | ended(question, scored, options=options, power=power, days=days)


def plan_of(table: Candidates, place: int, *, best_at: Sequence[str] = ()) -> Plan:
    """One option as a plan."""
    question, points = table.question, table.scored.points
    point = int(table.options.index[place])
    way, kind = question.ways[int(points.way[point])], question.kinds[int(points.kind[point])]
    n_chips = int(points.n_chips[point])
    tp, pp, dp, cp, ep = (int(getattr(points, name)[point]) for name in ("tp", "pp", "dp", "cp", "ep"))
    layout = way.space.layout(tp=tp, pp=pp, dp=dp, cp=cp, ep=ep)
    training = replace(
        way.training, micro_batch=int(points.micro_batch[point]), accumulate=int(points.accumulate[point])
    )
    box = box_of(kind.chip, cards=kind.per_node, ranks=n_chips)
    case = TrainingCase(arch=question.arch, training=training, layout=layout, chip=kind.chip, box=box)
    room = float(kind.card.room_bytes)
    rank, parts = shown(question.arch, training, layout=layout, room_bytes=room)
    supply = supply_of(
        question, kind, how=int(table.options.how[place]), n_chips=n_chips, replica=n_chips, ranks=tp
    )
    figures = _estimates(table, place, case=case, supply=supply)
    return Plan(
        chip=kind.chip,
        n_chips=n_chips,
        n_nodes=nodes_of(kind, supply, n_chips=n_chips, replica=tp),
        layout=layout,
        work=training,
        concurrency=None,
        ranks=(),
        rank_bytes=rank,
        least_bytes=least(question.arch, training, layout=layout),
        parts=parts,
        room_bytes=room,
        total_bytes=float(kind.card.total_bytes),
        figures=figures,
        certainty=kept_by(table.question.wish, figures),
        supply=supply,
        bound=_bound(table.scored, point),
        reasons=reasons_of(best_at),
        notes=(
            *batch_notes(
                training, layout=layout, batch=question.wish.global_batch, cards=kind.whole or n_chips
            ),
            *training_notes(question.arch, training, layout=layout, chip=kind.chip, room_bytes=room),
            *notes_of(supply, kind, n_chips=n_chips),
        ),
    )


def _estimates(table: Candidates, place: int, *, case: TrainingCase, supply: Supply) -> dict[str, Estimate]:
    """Figures with the band of the speed, and of the prices."""
    figures = {name: float(column[place]) for name, column in table.figures.items()}
    return training_estimates(figures, step=step_use(case), power=power_of(table, place), supply=supply)


def training_estimates(
    figures: Mapping[str, float], *, step: StepUse | None, power: Estimate, supply: Supply
) -> dict[str, Estimate]:
    """The same of figures that are known."""
    speed = Estimate(value=1.0, low=1.0, high=1.0) if step is None else step.tok_per_s_per_chip
    slow, fast = speed.low / speed.value, speed.high / speed.value
    cheap, dear = supply.price_band
    bought = supply.how == "buy"
    bands = {
        "train_tok_per_s": (slow, fast), "mfu": (slow, fast), "days": (1 / fast, 1 / slow),
        "headroom": (1.0, 1.0),
        "usd": (cheap, dear), "usd_per_h": (cheap, dear),
        "usd_per_mtok": (cheap / fast, dear / slow),
        "usd_total": (cheap / (1 if bought else fast), dear / (1 if bought else slow)),
    }  # fmt: skip
    grade, own = speed.mark, 1.0 if step is None else step.moved  # by runs of the user's own
    moved = {"train_tok_per_s": own, "mfu": own, "days": 1 / own, "usd_per_mtok": 1 / own}
    moved |= {} if bought else {"usd_total": 1 / own}
    estimates = {"power_w": power}
    for name, (low, high) in bands.items():
        value = figures.get(name, np.nan) * float(moved.get(name, 1.0))
        if np.isfinite(value) and not (name == "usd" and supply.how != "buy"):
            dated = supply.as_of if name.startswith("usd") else None
            estimates[name] = Estimate(
                value=value, low=value * low, high=value * high, mark=grade, as_of=dated
            )
    return estimates


def _bound(scored: TrainingScored, point: int) -> str:
    """What limits it: the rollout, the links, waiting stages, or computing."""
    step = float(scored.timed["step_s"][point])
    if float(scored.timed["rollout_s"][point]) > step / 2:
        return "rollout"
    if float(scored.timed["links_s"][point]) > step * BUBBLE:
        return "links"
    return "fixed" if float(scored.timed["bubble_s"][point]) > step * BUBBLE else "compute"
