"""What to change when it does not fit: each change as if it had been asked for, most bytes saved first."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say, with_semicolons
from rigright.verbs.serving.explained import Remedy
from rigright.verbs.training.case import Case

LEAST_SHARE = 0.002  # of a card: what saves less is not told

Change = tuple[Sentence, Sentence, str, dict[str, object]]  # what, its price, its flags, what they set
Weighed = tuple[Remedy, Change]


def remedies(case: Case) -> tuple[Remedy, ...]:
    """Changes that save memory on the worst rank: each alone, and as few gentle ones together as do."""
    before = case.least_bytes()
    saving: list[Weighed] = []
    for change in _changes(case):
        said, price, flag, values = change
        after = case.asked(**values)
        if after is not None and before - after > LEAST_SHARE * case.card_bytes:
            fits = after <= case.card_bytes
            remedy = Remedy(change=said, price=price, flag=flag, saves_bytes=before - after, fits=fits)
            saving.append((remedy, change))
    alone = [remedy for remedy, _ in saving]
    gentle = [(remedy, change) for remedy, change in saving if not {"method", "seq_tok"} & set(change[3])]
    if not any(remedy.fits for remedy, _ in gentle):
        alone += _together(case, gentle, before=before)
    return tuple(sorted(alone, key=lambda remedy: -remedy.saves_bytes))


def _changes(case: Case) -> Iterator[Change]:
    yield from _fewer_activations(case)
    yield from _smaller_states(case)
    yield from _divided(case)
    training = case.training
    if training.micro_batch > 1:
        price = say("smaller matrices; accumulate more micro-batches to keep the batch size")
        yield say("one sequence at a time"), price, "--micro-batch 1", {"micro_batch": 1}
    if training.seq_tok >= 1024 and case.arch.vocab:
        half = training.seq_tok // 2
        price = say("longer samples are truncated")
        yield say("sequences of {tokens} tokens", tokens=half), price, f"--seq {half}", {"seq_tok": half}
    yield from _fewer_learn(case)


def _fewer_activations(case: Case) -> Iterator[Change]:
    habit = case.setup().habit
    if habit.recompute != "full":
        third = say("about a third more compute: each layer runs forward twice")
        yield say("recompute every layer"), third, "--recompute full", {"recompute": "full"}
    if habit.recompute == "none" and not habit.flash:
        price = say("a few percent more compute")
        yield (
            say("recompute attention only"),
            price,
            "--recompute selective",
            {"recompute": "selective"},
        )
    if not habit.flash:
        yield say("flash attention"), say("none: also faster"), "--flash", {"flash": True}
    if habit.trainer.logit and not case.training.chunked_loss:
        price = say("almost nothing; needs a fused or chunked cross-entropy")
        yield say("logits in chunks"), price, "--chunked-loss", {"chunked_loss": True}
    if case.layout.tp > 1 and not case.layout.sequence_parallel:
        price = say("none: the same traffic")
        yield say("sequence parallelism"), price, "--sequence-parallel", {"sequence_parallel": True}


def _smaller_states(case: Case) -> Iterator[Change]:
    optimizer, training = case.setup().optimizer, case.training
    if optimizer.id.startswith("adamw") and optimizer.bytes is None:
        price = say("little: 8-bit states train equally well in most reports")
        yield say("AdamW with 8-bit states"), price, "--optimizer adamw-8bit", {"optimizer": "adamw-8bit"}
    if optimizer.step_copies:
        price = say("none: also faster")
        yield say("a fused optimizer step"), price, "--optimizer adamw-fused", {"optimizer": "adamw-fused"}
    if training.offload == "none":
        price = say("each step waits for the states to cross PCIe and for the CPU")
        yield (
            say("optimizer states in host memory"),
            price,
            "--offload optimizer-cpu",
            {"offload": "optimizer-cpu"},
        )
    if not training.offload.startswith("all"):
        price = say("every layer's weights cross PCIe three times a step: several times slower")
        yield (
            say("weights and optimizer states in host memory"),
            price,
            "--sharding fsdp --offload all-cpu",
            {"offload": "all-cpu", "sharding": "fsdp"},
        )


def _divided(case: Case) -> Iterator[Change]:
    if case.layout.dp * case.layout.cp == 1:
        return
    order = ("none", "zero1", "zero2", "fsdp")
    now = order.index(case.training.sharding) if case.training.sharding in order else len(order)
    prices = (
        say("none: the same traffic"),
        say("little: gradients are scattered as they are computed"),
        say("1.5x the traffic: weights are gathered twice per step"),
    )
    names = (
        say("shards optimizer states across replicas"),
        say("shards optimizer states and gradients across replicas"),
        say("shards weights, gradients and optimizer states across replicas"),
    )
    for level in range(now + 1, len(order)):
        yield names[level - 1], prices[level - 1], f"--sharding {order[level]}", {"sharding": order[level]}


def _fewer_learn(case: Case) -> Iterator[Change]:
    if case.training.method == "full":
        price = say("trains adapters only: enough for most fine-tuning, not for new knowledge")
        yield say("LoRA instead of full training"), price, "--train lora", {"method": "lora"}
    if case.training.method != "qlora" and case.arch.vocab:
        price = say("trains adapters only, on a 4-bit base; about a third slower")
        yield say("QLoRA: 4-bit base"), price, "--train qlora", {"method": "qlora"}


def _together(case: Case, gentle: list[Weighed], *, before: float) -> list[Remedy]:
    """Gentle changes one upon the other, until they are enough; of those that set the same, the best."""
    chosen: list[Weighed] = []
    for one in gentle:
        rivals = [other for other in chosen if set(other[1][3]) & set(one[1][3])]
        if any(rival[0].saves_bytes >= one[0].saves_bytes for rival in rivals):
            continue
        chosen = [*(other for other in chosen if other not in rivals), one]
        changes = [change for _, change in chosen]
        values = {name: value for change in changes for name, value in change[3].items()}
        after = case.asked(**values)
        if after is not None and after <= case.card_bytes:
            saves_bytes = before - after
            said = say("{text}", text=with_semicolons(change[0] for change in changes))
            flag = " ".join(change[2] for change in changes)
            return [
                Remedy(
                    change=said, price=say("all costs above"), flag=flag, saves_bytes=saves_bytes, fits=True
                )
            ]
    return []
