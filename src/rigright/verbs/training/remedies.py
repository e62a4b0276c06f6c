"""What to change when it does not fit: each as if it had been asked for, in the order people try them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rigright.base.tables import DATA, read_toml
from rigright.base.words import Sentence, in_both, say, with_semicolons
from rigright.choice.training import MICRO_BATCHES
from rigright.cost.layers import is_generator
from rigright.demand import Training
from rigright.options.read import typed
from rigright.predict.trained_notes import length_decides
from rigright.predict.trained_step import slowest
from rigright.verbs.serving.explained import Remedy
from rigright.verbs.training.case import TrainingOnCards, rank_uses

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
