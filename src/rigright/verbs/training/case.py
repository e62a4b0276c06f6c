"""A training on a machine with every default filled in, and what explain found of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from math import prod
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.errors import AskError, clash
from rigright.base.record import Inner, Pairs, dataclass, derived
from rigright.base.units import MIB
from rigright.base.words import Sentence, assuming, say
from rigright.choice.layout import check_experts
from rigright.choice.training_runs import box_of
from rigright.cost.estimate import Estimate
from rigright.cost.training.learners import trunk_of
from rigright.cost.training.setup import Setup, stage_edge
from rigright.demand import Layout, Numbers, PlanWish, Training, TrainingWish
from rigright.facts.nodes import Node
from rigright.predict.timed import SampleSpeed
from rigright.predict.trained import StepUse, TrainingCase, setup_of
from rigright.predict.trained_memory import (
    PARTS,
    TrainingMemory,
    least,
    least_bytes,
    most_bytes,
    shown_stage,
    stage_of,
    stages,
)
from rigright.predict.trained_unsaid import batch_notes, length_decides, too_long, training_notes
from rigright.search.record import Rejection, Supply
from rigright.search.training_settled import settle
from rigright.verbs.serving.explained import Reason, Remedy
from rigright.verbs.serving.samples import learning_speed


@dataclass(frozen=True, slots=True, kw_only=True)
class RankUse:
    """Ranks of one pipeline stage, all alike."""

    stage: int  # of the pipeline
    ranks: int  # that are alike
    layers: tuple[int, int]  # first and past-last
    parts_bytes: Pairs[str, float]  # at the peak; zero parts left out
    phases_bytes: Pairs[str, float]  # `load`, `backward-start`, `backward-end`, `step`
    peak_phase: str  # the highest of them
    allocated_bytes: float  # tensors of PyTorch
    reserved_bytes: float  # what its allocator holds
    used_bytes: float  # what the driver shows
    used_low_bytes: float
    used_high_bytes: float
    least_bytes: float  # on the device once the allocator gave back all it can
    least_high_bytes: Inner[float]
    total_bytes: float  # of the smallest card

    @derived
    def spare_bytes(self) -> float:
        """What is left; negative: so much is missing."""
        return self.total_bytes - self.least_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """Engines that write the completions of a step."""

    prompts: int  # of a step
    engines: int  # that write at once
    at_once: int  # completions that an engine writes at once
    share: float  # of the memory of a GPU, for its weights and cache (gpu_memory_utilization)
    sync_bytes: float  # of new weights, that each of its GPUs gets in a step


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The largest values that fit, all else as asked; 0: not even one."""

    micro_batch: int
    seq_tok: int | None  # None: the model has no sequence of its own
    model_context_tok: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """One model on one machine, training."""

    model: str
    params: int
    learnt_params: int  # those that learn
    machine: str  # as it was understood
    chip: Inner[str]
    trainer: str
    optimizer: str
    precision: Sentence | str
    training: Training  # every setting, defaults filled in
    layout: Layout  # how the work is cut over cards
    ranks: tuple[RankUse, ...]  # unlike ones, by stage
    host_bytes: float  # of the host's memory, that each rank keeps
    nvme_bytes: float  # of NVMe, that each rank keeps
    limits: Reach  # how far it goes, all else as asked
    samples: SampleSpeed | None = None  # of a network that learns from whole images
    time: StepUse | None = None  # None: the speed of such a model or card is not known
    rollout: Rollout | None = None  # engines that write what it learns from
    remedies: tuple[Remedy, ...] = ()  # where it does not fit: what helps
    why: tuple[Reason, ...] = ()  # with `--why`
    quicker: Inner[int | None] = None  # a larger micro-batch that is faster
    days: Estimate | None = None  # until all is learnt, where somebody said how much
    by_days: Inner[float | None] = None  # the deadline, where one was said
    certainty: Mapping[str, float] = field(default_factory=dict)  # by limit: chance that its figure keeps it
    broken: tuple[Rejection, ...] = ()  # limits that are missed, the farthest first
    supply: Supply | None = None  # where the machine comes from, where its price or power was asked for
    figures: Mapping[str, Estimate] = field(default_factory=dict)  # what it then costs and draws, by name
    wish: Inner[PlanWish] = PlanWish()  # the limits that were said
    notes: tuple[Sentence, ...] = ()  # what was assumed, and what to know
    asked: Inner[str] = ""

    @derived
    def worst_stage(self) -> int:
        """The stage with least to spare."""
        return self.worst.stage

    @property
    def worst(self) -> RankUse:
        """The stage with least to spare."""
        return min(self.ranks, key=lambda rank: rank.spare_bytes)

    @property
    def peak_bytes(self) -> float:
        """The most that the driver shows of any rank."""
        return max(rank.used_bytes for rank in self.ranks)

    @derived
    def fits(self) -> bool:
        """Whether every rank fits its card."""
        return self.worst.spare_bytes >= 0


CUTS = ("tp", "pp", "dp", "cp")
COUNTS = (*CUTS, "ep", "micro_batch", "seq_tok", "rank", "accumulate", "virtual_stages", "global_batch")
MOST = 999_999_999  # of any count: beyond it nothing is meant


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOnCards:
    """What the laws and the limits of the cards need."""

    arch: Arch
    training: Training
    layout: Layout
    chip: str
    card_bytes: float  # of the smallest card
    node: Node
    wish: TrainingWish  # what was said
    notes: tuple[Sentence, ...] = ()

    def memory(self) -> TrainingMemory:
        """Every stage at once."""
        return stages(self.arch, self.training, layout=self.layout)

    def setup(self) -> Setup:
        """The trainer's habits and precisions, looked up."""
        return setup_of(self.arch, self.training)

    def least_bytes(self) -> float:
        """The worst stage, once the allocator gave back all it can."""
        return least(self.arch, self.training, layout=self.layout).value

    def on_each(self) -> tuple[TrainingCase, ...]:
        """The same on each kind of chip of the machine."""
        chips = dict.fromkeys(card.chip for card in self.node.cards)
        cards = len(self.node.cards)
        return tuple(
            TrainingCase(
                arch=self.arch,
                training=self.training,
                layout=self.layout,
                chip=chip,
                box=box_of(
                    chip, cards=cards, ranks=self.layout.tp * self.layout.pp * self.layout.dp * self.layout.cp
                ),
            )
            for chip in chips
        )

    def samples(self) -> SampleSpeed | None:
        """How fast whole images are learnt from, where they are."""
        return learning_speed(
            self.arch, self.training, layout=self.layout, node=self.node, picture=self.wish.picture
        )

    def asked(self, **changes: Any) -> TrainingOnCards | None:
        """The same asked with a change; None where it cannot be."""
        wish = replace(self.wish, **changes)
        try:
            settled = settle(self.arch, self.node, stated=wish)
        except AskError:
            return None
        return replace(self, training=settled.training, layout=settled.layout, wish=wish)

    def over(self, **changes: Any) -> TrainingOnCards:
        """The same with another training or layout."""
        layout = {name: value for name, value in changes.items() if name in Layout.__slots__}
        training = {name: value for name, value in changes.items() if name not in layout}
        return replace(
            self, training=replace(self.training, **training), layout=replace(self.layout, **layout)
        )


def build_case(arch: Arch, node: Node, *, wish: TrainingWish) -> TrainingOnCards:
    """Fill in what was not said, as the plan for this machine would."""
    for name in COUNTS:
        value = getattr(wish, name)
        if value is not None and value < 1:
            raise AskError(
                say("{name} cannot be {value}; use a whole number above zero", name=name, value=value)
            )
        if value is not None and value > MOST:
            fields = {"name": name, "value": f"{value:,}", "most": f"{MOST:,}"}
            raise AskError(say("{name} cannot be {value}; at most {most}", **fields))
    _check_layout(arch, wish, cards=node.n_cards)
    settled = settle(arch, node, stated=wish)
    training, layout = settled.training, settled.layout
    _check_idle(wish, layout=layout)
    smallest = min(node.cards, key=lambda card: card.room_bytes)
    sentences = training_notes(
        arch, training, layout=layout, chip=smallest.chip, room_bytes=smallest.room_bytes
    )
    writing = 0 if training.post is None else training.post.rollout_gpus
    batch = batch_notes(training, layout=layout, batch=settled.batch, cards=node.n_cards - writing)
    lengths = _length_notes(arch, wish, training=training, layout=layout, room_bytes=smallest.room_bytes)
    return TrainingOnCards(
        arch=arch,
        training=training,
        layout=layout,
        chip=smallest.chip.name,
        card_bytes=smallest.room_bytes,
        node=node,
        wish=wish,
        notes=(*node.notes, *lengths, *batch, *sentences),
    )


def _check_layout(arch: Arch, wish: TrainingWish, *, cards: int) -> None:
    """Of what was said: the ranks there are, layers for every stage, heads and experts that divide."""
    cuts = {name: getattr(wish, name) or 1 for name in CUTS}
    tp, pp, dp = cuts["tp"], cuts["pp"], cuts["dp"]
    if prod(cuts.values()) > cards:
        needed = {**cuts, "ranks": prod(cuts.values()), "cards": cards}
        raise AskError(
            say("tp {tp} x pp {pp} x dp {dp} x cp {cp} needs {ranks} GPUs; the machine has {cards}", **needed)
        )
    layers = trunk_of(arch).layers
    if pp > len(layers):
        raise AskError(say("pp {pp} exceeds the {layers} layers", pp=pp, layers=len(layers)))
    heads = next((layer.mixer.heads for layer in layers if layer.mixer is not None and layer.mixer.heads), 0)
    if heads % tp:
        raise AskError(say("tp {tp} does not divide {heads} heads", tp=tp, heads=heads))
    check_experts(arch, wish.ep or 1, ranks=cards // pp)
    if wish.global_batch is not None and dp > wish.global_batch:
        asked = {"dp": dp, "batch": wish.global_batch}
        raise AskError(
            say("{dp} replicas need at least {dp} sequences per step; the batch has {batch}", **asked)
        )


def _check_idle(wish: TrainingWish, *, layout: Layout) -> None:
    """Refuse what was said of a pipeline, or of tensor parallel, that the training does not have."""
    schedule, chunks = wish.schedule or "", wish.virtual_stages or 1
    if chunks > 1 and schedule in {"1f1b", "gpipe"}:
        raise clash(f"--schedule {schedule}", f"--virtual-stages {chunks}")
    for option, is_said, other, count in (
        ("--schedule", schedule not in {"", "1f1b"}, "--pp", layout.pp),
        ("--virtual-stages", chunks > 1, "--pp", layout.pp),
        ("--sequence-parallel", wish.sequence_parallel, "--tp", layout.tp),
    ):
        if is_said and count == 1:
            raise AskError(
                say("{option} needs {others}", option=option, others=f"{other} 2"),
                hint=say("add {others}, or remove {option}", option=option, others=f"{other} 2"),
            )


def _length_notes(
    arch: Arch, wish: TrainingWish, *, training: Training, layout: Layout, room_bytes: float
) -> Iterator[Sentence]:
    """The length where nobody said it, and what hangs on it; a length beyond what the model was made for."""
    if wish.seq_tok is None and arch.vocab:
        tokens = say("{tokens} tokens per sequence", tokens=f"{int(training.seq_tok):,}")
        yield assuming(tokens)
        yield from length_decides(arch, training, layout=layout, room_bytes=room_bytes)
    yield from too_long(arch, wish.seq_tok)


MOST_BATCH = 4096
MOST_TOK = MIB
STEP_TOK = 128  # lengths are tried in steps of so many tokens


def rank_uses(case: TrainingOnCards) -> tuple[RankUse, ...]:
    """One entry for each pipeline stage."""
    memory, layout = case.memory(), case.layout
    layers = len(trunk_of(case.arch).layers)
    at_peak = memory.parts
    uses = []
    for stage in range(layout.pp):
        phases = {name: stage_of(sizes, stage) for name, sizes in memory.phases.items()}
        parts = ((part, stage_of(at_peak[part], stage)) for part in PARTS)
        least = stage_of(memory.least_bytes, stage)
        shown = shown_stage(memory, stage, room_bytes=case.card_bytes)
        given_back = stage_of(memory.device_bytes, stage) - shown.value
        uses.append(
            RankUse(
                stage=stage,
                ranks=layout.tp * layout.dp * layout.cp,
                layers=(
                    int(stage_edge(layers, layout.pp, stage=stage)),
                    int(stage_edge(layers, layout.pp, stage=stage + 1)),
                ),
                parts_bytes=tuple((part, size) for part, size in parts if size > 0),
                phases_bytes=tuple(phases.items()),
                peak_phase=max(phases, key=lambda name: phases[name]),
                allocated_bytes=stage_of(memory.allocated_bytes, stage),
                reserved_bytes=stage_of(memory.reserved_bytes, stage) - given_back,
                used_bytes=shown.value,
                used_low_bytes=shown.low,
                used_high_bytes=shown.high,
                least_bytes=least,
                least_high_bytes=most_bytes(least, narrow=memory.narrow),
                total_bytes=case.card_bytes,
            )
        )
    return tuple(uses)


def rollout_of(case: TrainingOnCards) -> Rollout | None:
    """The engines of a training; None where nothing is written."""
    training, layout, post = case.training, case.layout, case.training.post
    if post is None or not post.rollout:
        return None
    from rigright.predict.rollout import rollout_load, sync_bytes

    ranks = int(layout.tp * layout.pp * layout.dp * layout.cp)
    step = int(training.micro_batch * (training.accumulate or 1) * layout.dp)
    parts = case.memory().by_phase["rollout"]
    return Rollout(
        prompts=-(-step // post.group),
        engines=max((post.rollout_gpus or ranks) // post.rollout_tp, 1),
        at_once=int(rollout_load(training, layout)[1]),
        share=float(np.max(parts["engine"] + parts["kv"])) / case.card_bytes,
        sync_bytes=sync_bytes(case.arch, training),
    )


def reach(case: TrainingOnCards) -> Reach:
    """The largest micro-batch at this length, and the longest sequence at this micro-batch."""
    limit = case.arch.max_context_tok
    has_sequence = trunk_of(case.arch).sample_tok is None and bool(case.arch.vocab)
    batches = np.arange(1, MOST_BATCH + 1)
    lengths = np.arange(STEP_TOK, min(limit or MOST_TOK, MOST_TOK) + 1, STEP_TOK)
    return Reach(
        micro_batch=_largest(case, "micro_batch", values=batches),
        seq_tok=_largest(case, "seq_tok", values=lengths) if has_sequence and len(lengths) else None,
        model_context_tok=limit,
    )


def _largest(case: TrainingOnCards, name: str, *, values: Numbers) -> int:
    """The largest of rising values that fits on every stage; one call for all of them."""
    tried = case.over(**{name: values})
    fits = least_bytes(tried.arch, tried.training, layout=tried.layout) <= case.card_bytes
    return int(values[fits][-1]) if fits.any() else 0
