"""A row of a training table -> what was trained, how, on how many ranks, and what had to be assumed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rigright.arch.record import Arch
from rigright.base.tables import Row
from rigright.base.words import Sentence, say
from rigright.demand import Layout, Training
from rigright.facts.training import Trainer, trainers
from rigright.verbs.validate import training_words as words
from rigright.verbs.validate.models import model_of

NODE_CHIPS = 8  # of the node that a row without a number of chips ran on, where it cuts the model
MEGATRON = frozenset({"megatron", "megatron-deepspeed"})
DEFAULT_RANK, DEFAULT_TARGETS = 8, "q v"  # PEFT's
SEQ_TOK = 2048
SHORT_TOK = 1000  # of the longest sample of an instruction data set in a batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a row asks."""

    arch: Arch
    training: Training
    layout: Layout
    assumed: tuple[Sentence, ...]


def read_row(row: Row) -> Asked:
    """Read one row; what it leaves open is assumed and said."""
    arch, notes = model_of(row)
    assumed = [*notes]
    trainer = _trainer(row, assumed)
    layout = _layout(row, trainer, assumed)
    arch, layout = _whole_stages(arch, layout, assumed)
    return Asked(
        arch=arch,
        training=_training(row, arch, trainer, layout, assumed),
        layout=layout,
        assumed=tuple(assumed),
    )


def _trainer(row: Row, assumed: list[Sentence]) -> Trainer:
    found = words.trainer_of(row.get("framework") or "")
    if found is None:
        assumed.append(say("trainer unknown: taken as a plain PyTorch loop"))
    return found or trainers()["pytorch"]


def _layout(row: Row, trainer: Trainer, assumed: list[Sentence]) -> Layout:
    tp, pp, cp, ep = (row.get(name) or 1 for name in ("tp", "pp", "cp", "ep"))
    chips = row.get("n_chips")
    cut = tp * pp * cp
    if row.get("dp") is None and chips is None:
        chips = max(NODE_CHIPS, cut) if cut > 1 or trainer.id in MEGATRON else 1
        assumed.append(say("n_chips and dp are empty: taken as {chips} chips", chips=chips))
    dp = row.get("dp") or max(1, (chips or cut) // cut)
    text = _text(row)
    return Layout(
        tp=tp, pp=pp, dp=dp, cp=cp, ep=ep, sequence_parallel=tp > 1 and words.is_sequence_parallel(text)
    )


def _whole_stages(arch: Arch, layout: Layout, assumed: list[Sentence]) -> tuple[Arch, Layout]:
    """More stages than layers: the layers told are those of one stage."""
    layers = arch.trunk.layers
    if layout.pp <= len(layers):
        return arch, layout
    assumed.append(say("fewer layers than stages: layers read as those of one stage"))
    trunk = replace(arch.trunk, layers=layers * layout.pp)
    towers = tuple(trunk if tower is arch.trunk else tower for tower in arch.towers)
    return replace(arch, towers=towers), layout


def _training(row: Row, arch: Arch, trainer: Trainer, layout: Layout, assumed: list[Sentence]) -> Training:
    text = _text(row)
    method = words.method_of(row.get("method") or "", row.get("precision") or "")
    sharding = words.sharding_of(row.get("sharding") or "")
    if trainer.id in MEGATRON and not row.get("sharding"):
        sharding = "zero1"
    virtual = words.virtual_stages(text, len(arch.trunk.layers), layout.pp)
    return Training(
        trainer=trainer.id,
        method=method,
        optimizer=words.optimizer_of(row.get("optimizer") or ""),
        precision=words.precision_of(row.get("precision") or "", trainer, sharding),
        micro_batch=_told(row, "micro_batch", 1, assumed) * (2 if words.is_paired(text) else 1),
        seq_tok=_length(row, text, assumed),
        references=words.references_of(text) if method == "full" else 0,
        recompute=words.recompute_of(row.get("recompute") or ""),
        flash="eager" not in text,
        chunked_loss=words.is_chunked(text),
        rank=_adapters(words.rank_of(text), DEFAULT_RANK, "rank", method, assumed),
        targets=_adapters(words.targets_of(text), _targets(trainer), "targets", method, assumed),
        sharding=sharding,
        schedule="interleaved" if virtual > 1 else "1f1b",
        virtual_stages=virtual,
        offload=words.offload_of(" ".join((row.get("sharding") or "", text))),
    )


def _text(row: Row) -> str:
    return "; ".join(filter(None, (row.get("flags"), row.get("note"))))


def _targets(trainer: Trainer) -> str:
    return "linear" if trainer.id in {"ms-swift", "axolotl", "unsloth"} | MEGATRON else DEFAULT_TARGETS


def _length(row: Row, text: str, assumed: list[Sentence]) -> int:
    """Tokens of the longest sample: as told, or as usual where samples only may be that long."""
    told = _told(row, "seq_tok", SEQ_TOK, assumed)
    if not words.is_short(text) or told <= SHORT_TOK:
        return told
    assumed.append(say("samples shorter than seq_tok: taken as {tokens} tokens", tokens=SHORT_TOK))
    return SHORT_TOK


def _told(row: Row, column: str, default: int, assumed: list[Sentence]) -> int:
    value = row.get(column)
    if value is None:
        assumed.append(say("{column} is empty: taken as {value}", column=column, value=default))
    return default if value is None else int(value)


def _adapters(
    told: int | str | None, default: int | str, column: str, method: str, assumed: list[Sentence]
) -> int | str:
    if told is None and method != "full":
        assumed.append(say("{column} is empty: taken as {value}", column=column, value=default))
    return default if told is None else told
