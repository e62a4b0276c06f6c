"""What a row of a table of runs asks, in the words in which every serving is asked."""

from __future__ import annotations

from functools import cache

from rigright.arch.record import Arch
from rigright.base.record import dataclass, replace
from rigright.base.units import from_gib
from rigright.base.words import Sentence
from rigright.cost.speed.reach import KERNEL
from rigright.cost.speed.work import Work
from rigright.cost.unsaid import Prior
from rigright.demand import Layout, Serving, Traffic
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine
from rigright.facts.nodes import Card, find_node
from rigright.terms.memory import weights_bytes
from rigright.terms.speed import work_of

_LEAST, _MOST = 0.5, 2.0  # of the size a format makes of a model: beyond, a file is of another


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAsk:
    """One row: what it says, what stands in for what it leaves open, and what that may be instead."""

    arch: Arch
    engine: Engine
    card: Card
    chips: int
    serving: Serving
    traffic: Traffic
    layout: Layout | None  # None: not told, the best there is
    prefill: Layout | None = None  # where prompts have workers of their own; `layout` is then of the others
    metric: str
    unsaid: tuple[Prior, ...] = ()  # that decides the figure
    assumed: tuple[Sentence, ...] = ()
    is_alone: bool = False  # a stream or a static batch, with no server around it
    is_cut: bool = True  # the row tells how experts and attention share the chips
    manner: str = ""  # how such runs are tuned
    samples: float = 0.0  # that the tower for pictures works on, for a request
    median: bool = False  # its TPOT is that of the middle pass, not the mean
    kernel: str = ""  # that reads the weights, where a row tells it
    file_gib: float | None = None  # of the very file
    seen_tok: float = 0.0  # in the cache before the prompt
    prompt_left_out: bool = False  # of the time that was measured
    on_device: bool = False  # the memory is as the driver shows it, not the framework

    @property
    def chip(self) -> Chip:
        """The accelerator."""
        return self.card.chip

    @property
    def told_layout(self) -> Layout:
        """The layout told; of rows that tell none, one card."""
        return self.layout or Layout()

    @property
    def figure(self) -> str:
        """What it measures."""
        return "itl_ms" if self.metric == "tpot_ms" and self.median else self.metric

    @property
    def weights(self) -> str:
        """The format of its weights, and after a slash the kernel that reads it."""
        return f"{self.serving.weights}{KERNEL}{self.kernel}" if self.kernel else self.serving.weights

    @property
    def work(self) -> Work:
        """Its work; rows alike have the very same."""
        serving = self.serving
        return _work(self.arch, weights=serving.weights, kv=serving.kv, file_gib=self.file_gib)


@cache
def _work(arch: Arch, *, weights: str, kv: str, file_gib: float | None) -> Work:
    """The work of a model in a format, its weights as large as the very file."""
    work = work_of(arch, weights=weights, kv=kv)
    if file_gib is None:
        return work
    share = min(max(from_gib(file_gib) / weights_bytes(arch, weights), _LEAST), _MOST)
    return replace(
        work, gemms=tuple(replace(gemm, size_bytes=gemm.size_bytes * share) for gemm in work.gemms)
    )


@cache
def first_card(chip: str) -> Card:
    """A file of runs names few chips, many times."""
    return find_node(chip).cards[0]
