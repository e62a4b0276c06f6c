"""How a training is run where nobody says: program, precision, sharding, recompute, batch, layouts to try.

`plan` and `explain --train` both ask here, and the search tries what is offered; what somebody said is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from itertools import product
from math import gcd
from typing import Any

from rigright.arch.count import params
from rigright.arch.record import Arch
from rigright.base.errors import AskError, clash
from rigright.base.record import dataclass, replace
from rigright.base.units import GIGA
from rigright.base.words import say
from rigright.cost.layers import generates, is_generator, transcribes
from rigright.cost.training.learners import learnt_params, trunk_of
from rigright.cost.training.setup import mixed_of
from rigright.demand import Layout, PlanWish, PostTraining, Training, TrainingWish
from rigright.facts.chips import Chip
from rigright.facts.engines import how_runs
from rigright.facts.training import (
    Objective,
    Recipe,
    Trainer,
    find_precision,
    find_trainer,
    objectives,
    recipes,
)

TRIED = ("full", "lora", "qlora")  # methods, where nobody names one
LOOP = "pytorch"  # that trains whole samples
CUTTERS = ("megatron", "torchtitan")  # trainers that cut tensors and stages
SEQ_TOK, STEP_TOK = 2048, 2**17  # of a fine-tuning: tokens of a sample, and of a step
PROMPT_TOK, GROUP, PROMPTS = (
    512,
    8,
    8,
)  # of a rollout: tokens of a prompt, completions of it, prompts of a step
ROLLOUT = "sleep"  # the engine lets go of its memory while the model learns
ENGINE_TP, ENGINE_WAVES = (1, 2, 4, 8), (1, 4, 16)  # GPUs of an engine, parts of what it writes in turn
HUGE_PARAMS, HUGE_TP = 200 * GIGA, (8, 16, 32)  # of a model that no single box writes with in 16 bit
TUNED_TOK = 50_000 * SEQ_TOK  # of one tuning where nobody says
TUNED_CARDS = 64  # more cards than that are for pre-training
LARGE_PARAMS = 20 * GIGA  # of a model that is tuned in full, from which on its tensors may be cut
LONG_TOK = 16384  # sequences from here on may be cut over ranks
HOME = frozenset({"consumer", "workstation", "soc", "embedded"})  # adapters learn there with checkpointing
MICRO_BATCHES = (1, 2, 4, 8, 16, 32)
LARGE_MICRO_BATCHES = (1, 2, 4)  # of models from LARGE_PARAMS on that are pre-trained
WIDTHS, STAGES, SLICES = (1, 2, 4, 8), (1, 2, 4, 8, 16), (1, 2, 4, 8, 16)
EXPERT_RANKS = (1, 2, 4, 8, 16, 32, 64)
SCHEDULES = (("1f1b", 1), ("interleaved", 2), ("interleaved", 4))
RECOMPUTES = ("none", "selective", "full")
HALF = {  # precisions of a chip without bf16
    "bf16": "fp16-amp", "bf16-mixed": "fp16-mixed", "bf16-zero": "fp16-zero",
    "bf16-sharded": "fp16-sharded", "bf16-amp": "fp16-amp",
}  # fmt: skip
PURE = frozenset({"bf16", "fp16"})  # no fp32 copy of the weights anywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """One way to train, and the layouts to try with it; one choice is a thing that was said."""

    training: Training
    tp: tuple[int, ...] = (1,)
    pp: tuple[int, ...] = (1,)
    cp: tuple[int, ...] = (1,)
    ep: tuple[int, ...] = (1,)
    dp: int | None = None  # None: what the cards leave
    micro_batch: tuple[int, ...] = MICRO_BATCHES
    accumulate: int | None = None  # None: what the batch leaves
    sequence_parallel: bool = False
    least_ranks: int = 1  # that the sharding needs to divide anything
    loose: bool = False  # the micro-batch was said and the batch was not: it need not divide it
    modest: bool = False  # a larger micro-batch has to be worth its memory

    def layout(self, **cuts: Any) -> Layout:
        """One way to cut it; a stream of tokens is cut beside tensors alone."""
        return Layout(**cuts, sequence_parallel=self.sequence_parallel and cuts["tp"] > 1)


def work_of(wish: TrainingWish, *, cards: int) -> str:
    """What a training is said to be; else "pretrain" where the model is cut or on many cards."""
    if wish.work is not None:
        return wish.work
    if wish.method not in {None, "full"} or wish.objective is not None:
        return "finetune"
    return "pretrain" if cards > TUNED_CARDS or _cuts(wish) else "finetune"


def _cuts(wish: TrainingWish) -> bool:
    """Whether what was said needs a trainer that cuts tensors, stages, sequences or experts."""
    named = wish.trainer is not None and find_trainer(wish.trainer).id.startswith(CUTTERS)
    return named or any((count or 1) > 1 for count in (wish.tp, wish.pp, wish.cp, wish.ep))


def _recipe_of(arch: Arch) -> Recipe:
    """What runs that pre-train such a model use."""
    experts = any(layer.ffn is not None and layer.ffn.experts for layer in trunk_of(arch).layers)
    size = params(arch)
    fitting = [
        recipe for recipe in recipes().values() if recipe.experts == experts and size >= recipe.least_params
    ]
    return max(fitting, key=lambda recipe: recipe.least_params)


def tokens_of(wish: PlanWish) -> float | None:
    """Tokens of the whole training: those said, else of one usual tuning where any machine may be rented.

    Who names a machine, a budget or buys has more than one run in mind, and says for how many.
    """
    if wish.train_tok is not None or wish.samples is not None:
        return wish.train_tok
    free = all(text is None for text in (wish.on, wish.owned, wish.buy, wish.budget_usd, wish.usd_per_h))
    return TUNED_TOK if wish.work == "finetune" and free else None


def seq_tok_of(arch: Arch, work: str, *, completion_tok: int | None = None) -> int:
    """Tokens of a sample where nobody says."""
    usual = _recipe_of(arch).seq_tok if work == "pretrain" else SEQ_TOK
    usual = usual if completion_tok is None else completion_tok + PROMPT_TOK
    return min(usual, arch.max_context_tok or usual)


def batch_of(
    arch: Arch, work: str, *, seq_tok: int, cards: int, wish: TrainingWish | PlanWish | None = None
) -> int:
    """Sequences of a step where nobody says: a tuning on many cards gives each at least one."""
    if work == "pretrain":
        return max(_recipe_of(arch).batch_tok // seq_tok, 1)
    if wish is not None and has_rollout(wish):
        group = wish.group or GROUP
        return group * (wish.prompts or max(PROMPTS, -(-cards // group)))
    return max(STEP_TOK // seq_tok, cards, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Able:
    """All that ways to train ask of a chip: chips alike in this are tried alike."""

    home: bool  # adapters learn there with checkpointing
    fp8: bool
    bf16: bool
    fp16: bool


def able_of(chip: Chip) -> Able:
    """What a chip is able to."""
    bf16, fp16 = (how_runs("transformers", form, chip=chip) is not None for form in ("bf16", "fp16"))
    return Able(home=chip.segment in HOME, fp8=chip.fp8_flops_per_s is not None, bf16=bf16, fp16=fp16)


def _check_trainer(wish: TrainingWish) -> None:
    """Refuse a program for a loss or method that it does not train by, or a cut that it does not make."""
    row = objective_of(wish)
    named = row.trainers[0] if wish.trainer is None and row is not None else wish.trainer
    if named is None:
        return
    trainer = find_trainer(named)
    if row is not None and trainer.id not in row.trainers:
        raise AskError(
            say("{engine} does not train {asked}", engine=trainer.label, asked=row.label),
            hint=say("use --trainer {names}", names=" | ".join(row.trainers)),
        )
    if wish.method is not None and not trainer.trains(wish.method):
        raise AskError(
            say(
                "{engine} does not train {asked}",
                engine=trainer.label,
                asked=say("adapters ({method})", method=wish.method),
            ),
            hint=say("use --trainer hf, or --method full"),
        )
    for name in trainer.uncut:
        if (getattr(wish, name) or 1) > 1:
            cut = f"--{name} {getattr(wish, name)}"
            raise clash(f"--trainer {named}", cut)


def looped(arch: Arch, method: str) -> str:
    """The loop that trains what takes whole samples: adapters of what paints have scripts of their own.

    Refused: adapters of a network that has no matrices for them.
    """
    if method != "full" and not learnt_params(arch, Training(method=method)):
        raise AskError(
            say("{model} supports full training only, not {method}",
                model=arch.name, method=method)
        )  # fmt: skip
    return "diffusers" if method != "full" and is_generator(arch) else LOOP


def kept_or_not(method: str) -> tuple[str | None, ...]:
    """What is recomputed of samples: adapters are trained where memory is short."""
    return (None,) if method == "full" else (None, "full")


def spaces_of(arch: Arch, wish: TrainingWish, *, work: str, able: Able, usual: bool) -> tuple[Space, ...]:
    """Every way to try on such a chip, the usual ones first; `usual`: none but those."""
    _check_trainer(wish)
    if wish.objective is not None and (work == "pretrain" or not generates(arch) or transcribes(arch)):
        loss = f"--objective {wish.objective}"
        wrong = say("{model} does not generate text", model=arch.name)
        if work == "pretrain":
            wrong = say("{first} and {second} cannot be combined", first="--mode pretrain", second=loss)
        raise AskError(wrong, hint=say("remove {option}", option=loss))
    if not arch.vocab:
        method = wish.method or "full"
        trainer = find_trainer(wish.trainer or looped(arch, method))
        spaces: Iterator[Space] = (
            _space(training, wish, micro_batch=(wish.micro_batch or 1,))
            for recompute in kept_or_not(method)
            for training in _plain(trainer, method, recompute=recompute)
        )
    elif work == "pretrain":
        spaces = _pretraining(arch, wish, able=able, usual=usual)
    else:
        spaces = _tuning(arch, wish, able=able, usual=usual)
    fixed = (_fixed(space, wish, able=able) for space in spaces)
    if wish.objective is not None:
        fixed = (after for space in fixed for after in with_loss(arch, space, wish=wish))
    return tuple(dict.fromkeys(fixed))


def with_loss(arch: Arch, space: Space, *, wish: TrainingWish) -> Iterator[Space]:
    """The same with a loss of post-training; with each way to set up the engine that writes completions."""
    row = objectives()[wish.objective or ""]
    references = row.references if wish.references is None else wish.references
    training = replace(space.training, references=references, post=PostTraining(objective=row.id))
    if not row.rollout:
        yield replace(space, training=training)
        return
    post = PostTraining(
        objective=row.id,
        group=wish.group or GROUP,
        completion_tok=completion_of(training.seq_tok, wish.completion_tok),
        rollout=wish.rollout or ROLLOUT,
        rollout_gpus=wish.rollout_gpus or 0,
    )
    heads = gcd(*(layer.mixer.heads for layer in trunk_of(arch).layers if layer.mixer is not None))
    widths = [wish.rollout_tp] if wish.rollout_tp else ENGINE_TP if params(arch) < HUGE_PARAMS else HUGE_TP
    for tp, waves in product(widths, [wish.waves] if wish.waves else ENGINE_WAVES):
        if not (heads % tp or post.rollout_gpus % tp):
            least = max(space.least_ranks, 1 if post.rollout == "apart" else tp)
            engine = replace(training, post=replace(post, rollout_tp=tp, waves=waves))
            yield replace(space, training=engine, least_ranks=least)


def completion_of(seq_tok: int, stated: int | None) -> int:
    """Tokens of a completion: those said, else all but a usual prompt."""
    if stated is not None and stated >= seq_tok:
        tokens = stated + PROMPT_TOK
        raise AskError(
            say("--completion {asked} does not fit in --seq {seq}", asked=stated, seq=seq_tok),
            hint=say("--seq counts prompt and completion: use --seq {tokens}", tokens=tokens),
        )
    return stated or max(seq_tok - PROMPT_TOK, seq_tok // 2)


def objective_of(wish: TrainingWish | PlanWish) -> Objective | None:
    """The loss that was said; None: the texts themselves are learnt."""
    return None if wish.objective is None else objectives()[wish.objective]


def has_rollout(wish: TrainingWish | PlanWish) -> bool:
    """Whether completions are written in each step."""
    return bool((row := objective_of(wish)) and row.rollout)


def sequences_in(wish: TrainingWish | PlanWish) -> int:
    """Sequences that one sample of the data becomes: a pair, or the completions of a prompt."""
    row = objective_of(wish)
    return 1 if row is None else (wish.group or GROUP) if row.rollout else row.sequences


def _pretraining(arch: Arch, wish: TrainingWish, *, able: Able, usual: bool) -> Iterator[Space]:
    recipe = _recipe_of(arch)
    names = (wish.trainer,) if wish.trainer else recipe.trainers if usual else CUTTERS
    axes = {"tp": recipe.tp, "pp": recipe.pp, "ep": recipe.ep} if usual else _every(arch)
    micro = MICRO_BATCHES if params(arch) < LARGE_PARAMS else LARGE_MICRO_BATCHES
    slices = SLICES if (wish.seq_tok or recipe.seq_tok) >= LONG_TOK else recipe.cp
    for name, recompute in product(names, RECOMPUTES):
        trainer = find_trainer(name)
        if not trainer.id.startswith(CUTTERS):
            yield from (_space(item, wish) for item in _plain(trainer, "full", recompute=recompute))
            continue
        cut = _cut(arch, trainer, method="full", recompute=recompute, able=able)
        shardings = dict.fromkeys((cut.sharding, cut.sharding.replace("fsdp", "hsdp")))
        for (schedule, chunks), sharding in product(_schedules(wish), shardings):
            training = replace(cut, schedule=schedule, virtual_stages=chunks, sharding=sharding)
            yield _space(training, wish, cp=slices, micro_batch=micro, sequence_parallel=True, **axes)


def _cut(arch: Arch, trainer: Trainer, *, method: str, recompute: str, able: Able) -> Training:
    """Of a trainer that cuts models: no dropout, and fp8 where the model's own files are fp8."""
    megatron = trainer.id.startswith("megatron")
    native = megatron and (arch.stored or "").startswith("fp8") and able.fp8
    return Training(
        trainer=trainer.id,
        method=method,
        recompute=recompute,
        sharding="zero1" if megatron else "fsdp",
        precision="fp8" if native else None,
        dropout=0.0,
    )


def _schedules(wish: TrainingWish) -> tuple[tuple[str, int], ...]:
    """Schedules of the pipeline with the chunks of a rank: more than one make it interleaved."""
    chunks = wish.virtual_stages
    if wish.schedule is None and chunks is None:
        return SCHEDULES
    schedule = wish.schedule or ("interleaved" if (chunks or 1) > 1 else "1f1b")
    if chunks is None and schedule == "interleaved":
        return SCHEDULES[1:]
    return ((schedule, chunks or 1),)


def _every(arch: Arch) -> dict[str, tuple[int, ...]]:
    return {"tp": WIDTHS, "pp": STAGES, "ep": EXPERT_RANKS if _recipe_of(arch).experts else (1,)}


def _tuning(arch: Arch, wish: TrainingWish, *, able: Able, usual: bool) -> Iterator[Space]:
    """Whole replicas, or divided ones; where none fits, states in 8 bit or on the host."""
    row = objective_of(wish)
    usual_one = row.trainers[0] if row else "megatron" if _cuts(wish) else "hf"
    trainer = find_trainer(wish.trainer or usual_one)
    for method in (wish.method,) if wish.method else filter(trainer.trains, TRIED):
        home = method != "full" and able.home
        for recompute in ("full",) if home else ("none", "full"):
            if trainer.id.startswith(CUTTERS):
                training = _cut(arch, trainer, method=method, recompute=recompute, able=able)
                yield _space(training, wish, sequence_parallel=True, **_every(arch))
                continue
            plain = tuple(_plain(trainer, method, recompute=recompute))
            yield from (_space(training, wish, modest=home) for training in plain)
            if method != "full" or wish.trainer is not None:
                continue
            if params(arch) >= LARGE_PARAMS and row is None:
                cut = _cut(arch, find_trainer("torchtitan"), method=method, recompute=recompute, able=able)
                yield _space(cut, wish, sequence_parallel=True, **_every(arch))
            if not usual:
                yield from (_space(replace(item, optimizer="adamw-8bit"), wish) for item in plain)
                runner = "deepspeed" if row is None else trainer.id
                offloaded = replace(plain[0], trainer=runner, sharding="zero3", offload="optimizer-cpu")
                yield _space(offloaded, wish)


def _plain(trainer: Trainer, method: str, *, recompute: str | None) -> Iterator[Training]:
    """Whole replicas (each card a copy), then what divides them."""
    shardings = ("none", "zero2", "zero3") if trainer.mixed == "bf16-zero" else ("none", "fsdp")
    for sharding in shardings:
        yield Training(trainer=trainer.id, method=method, recompute=recompute, sharding=sharding)


def _space(training: Training, wish: TrainingWish, **axes: Any) -> Space:
    """A space with what was said of layout and batch."""
    fields: dict[str, Any] = {
        name: (count,) for name in ("tp", "pp", "cp", "ep", "micro_batch") if (count := getattr(wish, name))
    }
    divides = training.sharding in {"fsdp", "hsdp", "zero1", "zero2"}
    return Space(
        training=training,
        **{"sequence_parallel": bool(wish.sequence_parallel)} | axes | fields,
        dp=wish.dp,
        accumulate=wish.accumulate,
        least_ranks=2 if divides and wish.sharding is None and not axes.get("sequence_parallel") else 1,
        loose=wish.micro_batch is not None and wish.global_batch is None,
    )


def _fixed(space: Space, wish: TrainingWish, *, able: Able) -> Space:
    """What was said of the training itself goes before every habit; a chip without bf16 computes in fp16."""
    known = {field.name for field in fields(Training)} & {field.name for field in fields(wish)}
    stated = {name: value for name in known if (value := getattr(wish, name)) is not None}
    for name in ("micro_batch", "accumulate", "schedule", "virtual_stages"):
        stated.pop(name, None)  # the space has them
    if wish.trainer is not None:
        stated["trainer"] = find_trainer(wish.trainer).id
    training = replace(space.training, **stated)
    if training.precision is None and not able.bf16:
        training = replace(training, precision=_half(training, able=able))
    return replace(space, training=training)


def _half(training: Training, *, able: Able) -> str | None:
    if not able.fp16:
        return None
    mixed = mixed_of(find_trainer(training.trainer), training.sharding)
    return "fp16-mixed" if training.method != "full" else HALF.get(mixed)


def is_pure(training: Training) -> bool:
    """Whether all weights learn in 16 bit, with no fp32 copy of them."""
    asked = training.precision or mixed_of(find_trainer(training.trainer), training.sharding)
    return training.method == "full" and find_precision(asked).id in PURE
