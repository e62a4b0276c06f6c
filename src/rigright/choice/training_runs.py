"""How a training was run, where whoever tells of it leaves something open: settings, ranks, batches, wires.

What is said is kept; `training.py` has what we would choose ourselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rigright.arch.config import MAX_LAYERS
from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.record import dataclass, replace
from rigright.base.words import Sentence, say
from rigright.cost.training.learners import trunk_of
from rigright.demand import Layout, Training, TrainingWish
from rigright.facts.chips import Chip
from rigright.facts.training import Trainer, objectives
from rigright.terms.fitted import priors

SETTINGS = tuple(
    name for name in Training.__annotations__ if name in TrainingWish.__annotations__ and name != "trainer"
)
NODE_CHIPS = 8  # of the node that a run of nobody-says-how-many chips was on, where it cuts the model
MEGATRON = frozenset({"megatron", "megatron-deepspeed"})
LINEAR = MEGATRON | {"ms-swift", "axolotl", "unsloth"}  # put adapters on every linear layer unless told
PEFT_RANK, PEFT_TARGETS = 8, "q v"  # PEFT's own defaults
LONGEST, LONGEST_UNPADDED = 5, 2  # tokens of the fullest batch over the mean of its samples, padded and not
SPREAD_OF_LENGTHS = 1.5  # the longest sample of a usual batch over their mean, where lengths vary
SHORT_TOK = 1000  # of the longest sample of an instruction data set in a batch
DEEP = 8  # micro-batches for each stage, where nobody tells how many a step gathers
DISTILS = frozenset({"gkd"})  # from a teacher of the same size
BOX_CHIPS = 8  # links that join more reach beyond one box


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What somebody tells of a run; None was not told."""

    arch: Arch
    trainer: Trainer
    wish: TrainingWish  # as `explain --train` is asked; its batches are of sequences, or of pairs of them
    beside: Mapping[str, Any]  # of a `Training`, what runs alone tell
    n_chips: int | None = None
    paired: bool = False  # a sample is two sequences
    recipe: bool = False  # one that the makers of its program tuned, not its bare flags
    layers_per_chunk: int | None = None
    mean_tok: int | None = None  # of samples that vary
    padding_free: bool = False
    padding_counted: bool = False
    short_samples: bool = False  # most are shorter than the longest allowed
    learns_from: str = ""  # "dpo", "ppo" ...
    pretrains: bool = False
    loose: bool = False  # the optimizer is stated by its family alone
    names_optimizer: bool = False
    names_attention: bool = False

    @property
    def work(self) -> str:
        """Pre-training, or what trains with its programs; else fine-tuning."""
        return "pretraining" if self.trainer.id in MEGATRON or self.pretrains else "training"

    @property
    def is_cut(self) -> bool:
        """Whether anything is told of how the model is cut."""
        return bool(self.wish.tp or self.wish.pp)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTaken:
    """A run with nothing left open: as its fullest batch takes memory, and as a usual one takes time."""

    arch: Arch
    training: Training
    usual: Training
    layout: Layout
    assumed: tuple[Sentence, ...]  # that bear on memory and time
    timed: tuple[Sentence, ...] = ()  # that bear on time alone
    unsaid: tuple[str, ...] = ()


def run_taken(report: Reported) -> RunTaken:
    """Fill in what nobody said; `micro_batch`, where it was open, is one until somebody weighs it."""
    notes: list[Sentence] = []
    layout = _layout(report, notes)
    arch = _whole_stages(report.arch, layout.pp, notes=notes)
    training = _training(report, arch, layout=layout, notes=notes)
    usual, timed = training, list[Sentence]()
    if report.mean_tok is not None:
        # of what is counted with its padding, nothing is lost
        spread = 1.0 if report.padding_counted else SPREAD_OF_LENGTHS
        longest = min(int(report.mean_tok * spread), training.seq_tok)
        timed.append(say("samples vary: assuming batches of {tokens} tokens", tokens=longest))
        usual = replace(training, seq_tok=longest, padded=1 - report.mean_tok / longest)
    return RunTaken(
        arch=arch,
        training=training,
        usual=usual,
        layout=layout,
        assumed=tuple(notes),
        timed=tuple(timed),
        unsaid=_open_choices(report, training),
    )


def gathered(report: Reported, taken: RunTaken) -> RunTaken:
    """The same with the micro-batches of a step, of a run whose micro-batch and layout are known."""
    layout, count = taken.layout, taken.training.accumulate
    if report.wish.global_batch is not None:
        each = report.wish.micro_batch or taken.training.micro_batch
        count = max(1, int(report.wish.global_batch / (each * layout.dp)))
    timed = taken.timed
    if count is None:
        count = DEEP * layout.pp if layout.pp > 1 else 1
        timed = (*timed, say("global_batch not stated: assuming {count} micro-batches", count=count))
    trainings = (replace(item, accumulate=count) for item in (taken.training, taken.usual))
    training, usual = trainings
    return replace(taken, training=training, usual=usual, timed=timed)


def with_samples(taken: RunTaken, micro_batch: int) -> RunTaken:
    """The same with so many samples of a micro-batch, that nobody said."""
    note = say("{column} not stated: assuming {value}", column="micro_batch", value=micro_batch)
    training, usual = (replace(item, micro_batch=micro_batch) for item in (taken.training, taken.usual))
    return replace(taken, training=training, usual=usual, assumed=(*taken.assumed, note))


def with_layout(taken: RunTaken, layout: Layout) -> RunTaken:
    """The same cut as its program would be told to, where nobody said how."""
    cuts = {name: getattr(layout, name) for name in ("tp", "pp", "cp", "dp")}
    note = say("no layout given: using the fastest that fits, tp {tp} pp {pp} cp {cp} dp {dp}", **cuts)
    return replace(taken, layout=layout, assumed=(*taken.assumed, note))


def is_open(report: Reported) -> bool:
    """Whether a program that cuts models ran on many chips, and nobody says how it cut this one."""
    return report.trainer.id in MEGATRON and not report.is_cut and (report.n_chips or 1) > 1


def box_of(chip: Chip, *, cards: int, ranks: int) -> int | None:
    """Cards of a box, where links end there: ranks in several boxes, of chips whose links go no further."""
    return cards if ranks > cards and (chip.link_max_chips or 0) <= BOX_CHIPS else None


def _layout(report: Reported, notes: list[Sentence]) -> Layout:
    """Replicas are what the chips leave."""
    tp, pp, cp, ep = (getattr(report.wish, name) or 1 for name in ("tp", "pp", "cp", "ep"))
    chips, cut, dp = report.n_chips, tp * pp * cp, report.wish.dp
    if dp is None and chips is None:
        chips = max(NODE_CHIPS, cut) if cut > 1 or report.trainer.id in MEGATRON else 1
        notes.append(say("n_chips and dp not stated: assuming {chips} chips", chips=chips))
    replicas = max(1, chips // cut) if chips is not None else dp or 1
    usual = report.trainer.id in MEGATRON and report.recipe
    parallel = tp > 1 and (usual if report.wish.sequence_parallel is None else report.wish.sequence_parallel)
    return Layout(tp=tp, pp=pp, dp=replicas, cp=cp, ep=ep, sequence_parallel=parallel)


def _whole_stages(arch: Arch, pp: int, *, notes: list[Sentence]) -> Arch:
    """More stages than layers: the layers told are those of one stage."""
    trunk = trunk_of(arch)
    if pp <= len(trunk.layers):
        return arch
    if pp * len(trunk.layers) > MAX_LAYERS:
        raise AskError(say("pp {pp} exceeds the {layers} layers", pp=pp, layers=len(trunk.layers)))
    notes.append(say("fewer layers than pipeline stages: reading them as layers per stage"))
    longer = replace(trunk, layers=trunk.layers * pp)
    return replace(arch, towers=tuple(longer if tower is trunk else tower for tower in arch.towers))


def _training(report: Reported, arch: Arch, *, layout: Layout, notes: list[Sentence]) -> Training:
    told_of = {name: getattr(report.wish, name) for name in SETTINGS} | {**report.beside}
    fields = {name: value for name, value in told_of.items() if value is not None}
    if report.trainer.id in MEGATRON:
        fields.setdefault("sharding", "zero1")
    chunks = fields.get("virtual_stages", 1)
    if report.layers_per_chunk:
        chunks = max(1, len(trunk_of(arch).layers) // layout.pp // report.layers_per_chunk)
    fields["virtual_stages"] = chunks
    fields.setdefault("schedule", "interleaved" if chunks > 1 else "1f1b")
    full = fields.get("method", "full") == "full"
    if full:
        fields |= {"rank": PEFT_RANK, "targets": PEFT_TARGETS}
        fields["references"] = _frozen(report.learns_from)
    else:
        usual = "linear" if report.trainer.id in LINEAR else PEFT_TARGETS
        for name, default in (("rank", PEFT_RANK), ("targets", usual)):
            if name not in fields:
                notes.append(say("{column} not stated: assuming {value}", column=name, value=default))
                fields[name] = default
    fields["seq_tok"] = _longest(report, notes)
    fields["micro_batch"] = (report.wish.micro_batch or 1) * (
        2 if report.paired and report.wish.micro_batch else 1
    )
    return Training(trainer=report.trainer.id, **fields)


def _frozen(learns_from: str) -> int:
    """Models beside the one that learns, all counted as frozen."""
    row = objectives().get(learns_from)
    return int(learns_from in DISTILS) if row is None else row.references + row.rewards + row.critics


def _longest(report: Reported, notes: list[Sentence]) -> int:
    """Tokens of the longest sample: as told, or as usual where samples only may be that long."""
    length = report.wish.seq_tok
    if report.mean_tok is not None and length is None:
        longest = int(report.mean_tok * (LONGEST_UNPADDED if report.padding_free else LONGEST))
        note = say("samples vary: assuming {tokens} tokens per sample in the longest batch", tokens=longest)
        notes.append(note)
        return longest
    if length is None:
        middle = int(priors(report.work)["seq_tok"].middle)
        length = min(middle, report.arch.max_context_tok or middle)
        notes.append(say("{column} not stated: assuming {value}", column="seq_tok", value=length))
    if not report.short_samples or length <= SHORT_TOK:
        return int(length)
    notes.append(say("samples shorter than seq_tok: assuming {tokens} tokens", tokens=SHORT_TOK))
    return SHORT_TOK


def _open_choices(report: Reported, training: Training) -> tuple[str, ...]:
    """What is open of that which decides memory or speed."""
    wish = report.wish
    adapters, tunes = training.method != "full", report.work == "training"
    eager = training.trainer.startswith(("hf", "ms-swift")) and tunes and wish.seq_tok is None
    open_ones = {
        "seq_tok": wish.seq_tok is None and report.mean_tok is None,
        "micro_batch": wish.micro_batch is None,
        "rank": adapters and wish.rank is None,
        "targets": adapters and wish.targets is None,
        "recompute": wish.recompute is None,
        "optimizer": not adapters and tunes and not report.names_optimizer,
        "host": True,
        "flash": eager and not report.names_attention,
    }
    return tuple(name for name, unsaid in open_ones.items() if unsaid)
