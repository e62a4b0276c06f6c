"""What `explain --train` found: memory by part and rank, the largest batch and length, remedies, reasons."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.base.words import Sentence
from rigright.demand import Layout, Training
from rigright.predict.timed import SampleSpeed
from rigright.predict.trained_step import StepUse
from rigright.verbs.serving.explained import Reason, Remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class RankUse:
    """Ranks of one pipeline stage, all alike."""

    stage: int  # of the pipeline
    ranks: int  # that are alike
    layers: tuple[int, int]  # first and past-last
    parts_bytes: tuple[tuple[str, float], ...]  # at the peak; zero parts left out
    phases_bytes: tuple[tuple[str, float], ...]  # `load`, `backward-start`, `backward-end`, `step`
    peak_phase: str  # the highest of them
    allocated_bytes: float  # tensors of PyTorch
    reserved_bytes: float  # what its allocator holds
    device_bytes: float  # what the driver shows
    least_bytes: float  # on the device once the allocator gave back all it can
    low_bytes: float  # of the device figure
    high_bytes: float
    least_high_bytes: float  # of the least figure
    total_bytes: float  # of the smallest card

    TOLD = """
        stage ranks layers parts_bytes:pairs phases_bytes:pairs peak_phase allocated_bytes reserved_bytes
        used_bytes=device_bytes used_low_bytes=low_bytes used_high_bytes=high_bytes
        least_bytes total_bytes spare_bytes
    """

    @property
    def spare_bytes(self) -> float:
        """What is left; negative: so much is missing."""
        return self.total_bytes - self.least_bytes


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
    learns: int  # parameters that learn
    machine: str  # as it was understood
    chip: str
    trainer: str
    optimizer: str
    precision: Sentence | str
    training: Training  # every setting, defaults filled in
    layout: Layout  # how the work is cut over cards
    ranks: tuple[RankUse, ...]  # unlike ones, by stage
    host_bytes: float  # of the host's memory, that each rank keeps
    nvme_bytes: float  # of NVMe, that each rank keeps
    reach: Reach  # how far it goes, all else as asked
    samples: SampleSpeed | None = None  # of a network that learns from whole images
    step: StepUse | None = None  # None: the speed of such a model or card is not known
    remedies: tuple[Remedy, ...] = ()  # where it does not fit: what helps
    reasons: tuple[Reason, ...] = ()  # with `--why`
    notes: tuple[Sentence, ...] = ()  # what was assumed, and what to know
    asked: str = ""

    TOLD = """
        model params learnt_params=learns machine trainer precision optimizer training layout
        fits verdict! worst_stage=worst.stage ranks time=step samples host_bytes nvme_bytes limits=reach
        remedies why=reasons notes
    """

    @property
    def worst(self) -> RankUse:
        """The stage with least to spare."""
        return min(self.ranks, key=lambda rank: rank.spare_bytes)

    @property
    def peak_bytes(self) -> float:
        """The most that the driver shows of any rank."""
        return max(rank.device_bytes for rank in self.ranks)

    @property
    def fits(self) -> bool:
        """Whether every rank fits its card."""
        return self.worst.spare_bytes >= 0
