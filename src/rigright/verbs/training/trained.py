"""What `explain --train` found: memory by part and rank, the largest batch and length, remedies, reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from rigright.base.record import Inner, Pairs, dataclass, derived
from rigright.base.words import Sentence
from rigright.cost.estimate import Estimate
from rigright.demand import Layout, PlanWish, Training
from rigright.predict.timed import SampleSpeed
from rigright.predict.trained_step import StepUse
from rigright.search.record import Rejection, Supply
from rigright.verbs.serving.explained import Reason, Remedy


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
