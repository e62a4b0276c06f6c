"""A row of a training table -> what was trained, how, on how many ranks, and what had to be assumed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

from rigright.arch.config import MAX_LAYERS
from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.tables import Row
from rigright.base.words import Sentence, say
from rigright.cost.training_towers import trunk_of
from rigright.cost.training_unsaid import Open
from rigright.cost.unsaid import priors
from rigright.demand import Layout, Training
from rigright.facts.chips import by_id
from rigright.facts.training import Trainer, trainers
from rigright.verbs.validate import training_words as words
from rigright.verbs.validate.models import model_of

NODE_CHIPS = 8  # of the node that a row without a number of chips ran on, where it cuts the model
MEGATRON = frozenset({"megatron", "megatron-deepspeed"})
LINEAR = MEGATRON | {"ms-swift", "axolotl", "unsloth"}  # put adapters on every linear layer unless told
PEFT_RANK, PEFT_TARGETS = 8, "q v"  # PEFT's own defaults
LONGEST, LONGEST_UNPADDED = 5, 2  # tokens of the fullest batch over the mean of its samples, padded and not
WORDED = ("method", "optimizer", "precision", "sharding", "recompute")
_T = TypeVar("_T", int, str)
SHORT_TOK = 1000  # of the longest sample of an instruction data set in a batch
REFERENCES = {
    "dpo": 1,
    "kto": 1,
    "gkd": 1,
    "grpo": 1,
    "ppo": 3,
}  # frozen models beside the one that learns


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingQuestion:
    """What a row asks."""

    arch: Arch
    training: Training
    layout: Layout
    assumed: tuple[Sentence, ...]
    unsaid: tuple[str, ...] = ()  # fields of `Training` that the row leaves open
    loose: bool = False
    work: str = "training"

    def open_on(self, room_bytes: float | None) -> Open:
        """What stays open, on a card with so much room."""
        return Open(arch=self.arch, training=self.training, layout=self.layout,
                    unsaid=self.unsaid, room_bytes=room_bytes, loose=self.loose, work=self.work)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """A row being read, and what was assumed so far."""

    row: Row
    arch: Arch
    trainer: Trainer
    assumed: list[Sentence] = field(default_factory=list)

    def word(self, column: str) -> str:
        """A cell, empty where there is none."""
        return self.row.get(column) or ""

    def number(self, column: str, default: int) -> int:
        """A cell, or what is assumed for it."""
        return int(self.told(column, self.row.get(column), default=default))

    @property
    def work(self) -> str:
        """Pre-training, or what trains with its programs; else fine-tuning."""
        cuts = self.trainer.id in MEGATRON or "pretrain" in self.word("method")
        return "pretraining" if cuts else "training"

    def usual(self, column: str) -> int:
        """What most such trainings take."""
        middle = int(priors(self.work)[column].middle)
        most = self.arch.max_context_tok if column == "seq_tok" else None
        return min(middle, most or middle)

    def told(self, column: str, value: _T | None, *, default: _T) -> _T:
        """A value, or the default with a word about it."""
        if value is None:
            self.assumed.append(say("{column} not stated: assuming {value}", column=column, value=default))
            return default
        return value


def read_row(row: Row) -> TrainingQuestion:
    """Read one row; what it leaves open is assumed and said."""
    arch, notes = model_of(row)
    trainer = words.trainer_of(row.get("framework") or "", month=words.month_of(row.get("source") or ""))
    reading = _Reading(row=row, arch=arch, trainer=trainer or trainers()["pytorch"], assumed=[*notes])
    if trainer is None:
        reading.assumed.append(say("unknown trainer: assuming a plain PyTorch loop"))
    layout = _layout(reading)
    arch = _whole_stages(reading, layout.pp)
    training = _training(reading, layout)
    if row.get("micro_batch") is None:
        room = card_bytes(row)
        case = Open(arch=arch, training=training, layout=layout, room_bytes=room, work=reading.work)
        training = replace(training, micro_batch=reading.number("micro_batch", case.batches().middle))
    # say which words were not understood, and what stands in for them
    for column in WORDED:
        cell = reading.word(column)
        if not words.is_known(column, cell):
            taken = getattr(training, column) or say("the trainer's own")
            reading.assumed.append(
                say(
                    'unknown {column} "{cell}": using {value}',
                    column=column,
                    cell=cell[:40],
                    value=taken,
                )
            )
    return TrainingQuestion(
        arch=arch, training=training, layout=layout, assumed=tuple(reading.assumed),
        unsaid=_unsaid(reading, training), work=reading.work,
        loose=training.method == "full" and words.is_loose(reading.word("optimizer")),
    )  # fmt: skip


def card_bytes(row: Row) -> float | None:
    """What the chip of a row holds, where the row names one we know."""
    chip = by_id().get(row.get("chip") or "")
    return None if chip is None else chip.mem_usable_bytes


def _unsaid(reading: _Reading, training: Training) -> tuple[str, ...]:
    """What the row leaves open of that which decides memory or speed."""
    row = reading.row
    adapters = training.method != "full"
    tunes = reading.work == "training"
    eager = training.trainer.startswith(("hf", "ms-swift")) and tunes and row.get("seq_tok") is None
    is_open = {
        "seq_tok": row.get("seq_tok") is None and row.get("mean_tok") is None,
        "micro_batch": row.get("micro_batch") is None,
        "rank": adapters and row.get("lora_rank") is None,
        "targets": adapters and words.targets_of(row.get("lora_targets")) is None,
        "recompute": training.recompute is None,
        "optimizer": not adapters and tunes and not reading.word("optimizer"),
        "host": True,
        "flash": eager and not row.get("attention_named"),
    }
    return tuple(name for name, unsaid in is_open.items() if unsaid)


def _layout(reading: _Reading) -> Layout:
    row = reading.row
    tp, pp, cp, ep = (row.get(name) or 1 for name in ("tp", "pp", "cp", "ep"))
    chips, cut = row.get("n_chips"), tp * pp * cp
    if row.get("dp") is None and chips is None:
        chips = max(NODE_CHIPS, cut) if cut > 1 or reading.trainer.id in MEGATRON else 1
        reading.assumed.append(say("n_chips and dp not stated: assuming {chips} chips", chips=chips))
    dp = row.get("dp") or max(1, (chips or cut) // cut)
    is_parallel = tp > 1 and bool(row.get("sequence_parallel"))
    return Layout(tp=tp, pp=pp, dp=dp, cp=cp, ep=ep, sequence_parallel=is_parallel)


def _whole_stages(reading: _Reading, pp: int) -> Arch:
    """More stages than layers: the layers told are those of one stage."""
    arch, trunk = reading.arch, trunk_of(reading.arch)
    if pp <= len(trunk.layers):
        return arch
    if pp * len(trunk.layers) > MAX_LAYERS:
        raise AskError(say("pp {pp} exceeds the {layers} layers", pp=pp, layers=len(trunk.layers)))
    reading.assumed.append(say("fewer layers than pipeline stages: reading them as layers per stage"))
    longer = replace(trunk, layers=trunk.layers * pp)
    return replace(arch, towers=tuple(longer if tower is trunk else tower for tower in arch.towers))


def _training(reading: _Reading, layout: Layout) -> Training:
    row, trainer = reading.row, reading.trainer
    method = words.method_of(reading.word("method"), reading.word("precision"))
    sharding = words.sharding_of(reading.word("sharding"))
    if trainer.id in MEGATRON and not reading.word("sharding"):
        sharding = "zero1"
    virtual = row.get("virtual_stages") or 1  # model chunks a pipeline rank holds
    if row.get("layers_per_chunk"):
        virtual = max(1, len(trunk_of(reading.arch).layers) // layout.pp // row["layers_per_chunk"])
    rank, targets = _adapters(reading) if method != "full" else (PEFT_RANK, PEFT_TARGETS)
    # micro-batches of a step: of the global batch, or as the text tells; None where neither does
    samples = 2 if row.get("paired") else 1
    batch, micro = reading.row.get("global_batch"), reading.row.get("micro_batch")
    if batch is None or micro is None:
        accumulated = row.get("accumulate")
    else:
        accumulated = max(1, int(batch) // int(micro * layout.dp))
    return Training(
        trainer=trainer.id,
        method=method,
        optimizer=words.optimizer_of(reading.word("optimizer")),
        precision=words.precision_of(reading.word("precision"), trainer, sharding=sharding),
        micro_batch=(reading.row.get("micro_batch") or 1) * samples,
        seq_tok=_length(reading),
        references=REFERENCES.get(row.get("rlhf") or "", 0) if method == "full" else 0,
        recompute=words.recompute_of(reading.word("recompute")),
        flash=row.get("flash") is not False,
        dropout=row.get("dropout"),
        accumulate=accumulated,
        chunked_loss=bool(row.get("chunked_loss")),
        rank=rank,
        targets=targets,
        sharding=sharding,
        schedule="interleaved" if virtual > 1 else "1f1b",
        virtual_stages=virtual,
        offload=row.get("offload") or "none",
        offload_inputs=bool(row.get("offload_inputs")),
        step_in_backward=bool(row.get("step_in_backward")),
        matmul=words.matmul_of(reading.word("precision"), reading.word("framework")),
        compiled=bool(row.get("compiled")),
    )


def _adapters(reading: _Reading) -> tuple[int, str]:
    usual = "linear" if reading.trainer.id in LINEAR else PEFT_TARGETS
    rank = reading.told("rank", reading.row.get("lora_rank"), default=PEFT_RANK)
    return rank, reading.told("targets", words.targets_of(reading.row.get("lora_targets")), default=usual)


def _length(reading: _Reading) -> int:
    """Tokens of the longest sample: as told, or as usual where samples only may be that long."""
    mean = reading.row.get("mean_tok")
    if mean is not None and reading.row.get("seq_tok") is None:
        longest = mean * (LONGEST_UNPADDED if reading.row.get("padding_free") else LONGEST)
        reading.assumed.append(
            say("samples vary: assuming {tokens} tokens per sample in the longest batch", tokens=longest)
        )
        return int(longest)
    told = reading.number("seq_tok", reading.usual("seq_tok"))
    if not reading.row.get("short_samples") or told <= SHORT_TOK:
        return told
    reading.assumed.append(say("samples shorter than seq_tok: assuming {tokens} tokens", tokens=SHORT_TOK))
    return SHORT_TOK
