"""What to change when it does not fit: each change as if it had been asked for, most bytes saved first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rigright.base.words import Sentence, say, with_semicolons
from rigright.choice.training import MICRO_BATCHES
from rigright.cost.layers import is_generator
from rigright.options.read import typed
from rigright.predict.trained_notes import length_decides
from rigright.predict.trained_step import slowest
from rigright.verbs.serving.explained import Remedy
from rigright.verbs.training.case import TrainingOnCards
from rigright.verbs.training.ranks import rank_uses
from rigright.verbs.training.samples import learning_speed

LEAST_SHARE = 0.002  # of a card: what saves less is not stated
WORTH = 1.03  # times as fast, below which a larger micro-batch is no advice

SHARDED = ("none", "zero1", "zero2", "fsdp")
FIRST = (  # what people change, in the order in which they try it
    *("flash", "chunked_loss", "sequence_parallel", "optimizer", "sharding", "recompute", "micro_batch"),
    *("method", "seq_tok", "offload"),
)
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
    found = [(remedy, change[0]) for remedy, change in saving]
    gentle = [(remedy, change) for remedy, change in saving if not {"method", "seq_tok"} & set(change[0])]
    if not any(remedy.fits for remedy, _ in gentle):
        found += _together(case, gentle)

    def order(pair: tuple[Remedy, dict[str, object]]) -> tuple[bool, int, bool, float]:
        remedy, values = pair
        last = max(FIRST.index(name) for name in values)
        return not remedy.fits, last, values.get("method") == "qlora", -remedy.saves_bytes

    return tuple(remedy for remedy, _ in sorted(found, key=order))


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
    samples = learning_speed(case, case.node)
    return 0.0 if samples is None else samples.rate.value


def _changes(case: TrainingOnCards) -> Iterator[Change]:
    yield from _fewer_activations(case)
    yield from _smaller_states(case)
    yield from _divided(case)
    training = case.training
    if training.micro_batch > 1:
        price = say("smaller matrices; accumulate more micro-batches to keep the batch size")
        yield {"micro_batch": 1}, say("one sequence at a time"), price
    if training.seq_tok >= 1024 and case.arch.vocab:
        half = training.seq_tok // 2
        sentence, price = (
            say("sequences of {tokens} tokens", tokens=half),
            say("longer samples are truncated"),
        )
        yield {"seq_tok": half}, sentence, price
    if training.method == "full":
        price = say("trains adapters only: enough for most fine-tuning, not for new knowledge")
        yield {"method": "lora"}, say("LoRA instead of full training"), price
    if training.method != "qlora" and (case.arch.vocab or is_generator(case.arch)):
        price = say("trains adapters only, on a 4-bit base; about a third slower")
        yield {"method": "qlora"}, say("QLoRA: 4-bit base"), price


def _fewer_activations(case: TrainingOnCards) -> Iterator[Change]:
    habit = case.setup().habit
    if habit.recompute != "full":
        price = say("about a third more compute: each layer runs forward twice")
        yield {"recompute": "full"}, say("recompute every layer"), price
    if habit.recompute == "none" and not habit.flash:
        yield {"recompute": "selective"}, say("recompute attention only"), say("a few percent more compute")
    if not habit.flash:
        yield {"flash": True}, say("flash attention"), say("none: also faster")
    if habit.trainer.logit and not case.training.chunked_loss:
        price = say("almost nothing; needs a fused or chunked cross-entropy")
        yield {"chunked_loss": True}, say("logits in chunks"), price
    if case.layout.tp > 1 and not case.layout.sequence_parallel:
        yield {"sequence_parallel": True}, say("sequence parallelism"), say("none: the same traffic")


def _smaller_states(case: TrainingOnCards) -> Iterator[Change]:
    optimizer, training = case.setup().optimizer, case.training
    if optimizer.id.startswith("adamw") and optimizer.bytes is None:
        price = say("little: 8-bit states train equally well in most reports")
        yield {"optimizer": "adamw-8bit"}, say("AdamW with 8-bit states"), price
    if optimizer.step_copies:
        yield {"optimizer": "adamw-fused"}, say("a fused optimizer step"), say("none: also faster")
    if training.offload == "none":
        price = say("each step waits for the states to cross PCIe and for the CPU")
        yield {"offload": "optimizer-cpu"}, say("optimizer states in host memory"), price
    if not training.offload.startswith("all"):
        price = say("every layer's weights cross PCIe three times a step: several times slower")
        sentence = say("weights and optimizer states in host memory")
        yield {"sharding": "fsdp", "offload": "all-cpu"}, sentence, price


def _divided(case: TrainingOnCards) -> Iterator[Change]:
    if case.layout.dp * case.layout.cp == 1:
        return
    now = case.training.sharding
    row = (
        (say("shards optimizer states across replicas"), say("none: the same traffic")),
        (
            say("shards optimizer states and gradients across replicas"),
            say("little: gradients are scattered as they are computed"),
        ),
        (
            say("shards weights, gradients and optimizer states across replicas"),
            say("1.5x the traffic: weights are gathered twice per step"),
        ),
    )
    for level, (sentence, price) in enumerate(row, 1):
        if now in SHARDED and level > SHARDED.index(now):
            yield {"sharding": SHARDED[level]}, sentence, price


def _together(case: TrainingOnCards, gentle: list[Weighed]) -> list[tuple[Remedy, dict[str, object]]]:
    """Gentle changes one upon the other, until they are enough; of those that set the same, the best."""
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
            return [(_remedy(case, after, change=sentence, price=price, values=values), values)]
    return []
