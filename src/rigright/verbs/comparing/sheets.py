"""What is stated of things, side by side, and who is ahead in what."""

from __future__ import annotations

from rigright.base.record import Inner, dataclass
from rigright.base.words import Sentence
from rigright.cost.estimate import Estimate

GPU_KIND, CPU_KIND = "gpu", "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What is stated of one thing; of several cards alike, of all together. None is unknown."""

    asked: str  # as it was typed
    name: str
    kind: str  # "gpu" or "cpu"
    n_chips: int  # cards, or sockets
    architecture: str
    cores: int | None
    mem_bytes: float | None  # a processor's: the most it takes
    mem_type: str
    mem_bytes_per_s: float  # peak of its memory
    fp32_flops_per_s: float | None  # of plain units, not of tensor cores
    half_flops_per_s: float | None  # 16 bit, dense, FP32 accumulate; a processor multiplies in 32 bit
    fp8_flops_per_s: float | None  # dense, FP32 accumulate
    fp4_flops_per_s: float | None  # dense
    int8_ops_per_s: float | None  # dense, INT32 accumulate
    power_w: float | None  # rated, of the cards alone
    link: str | None  # between cards
    link_bytes_per_s: float | None  # both directions together, of each card
    pcie_gen: int | None  # of its slot; of a processor, what it offers
    pcie_lanes: int | None  # of its slot; of a processor, those left for cards
    usd: Estimate | None  # to buy, the cards alone
    used: bool | None  # whether that price is a used card's
    launch: str | None  # "2022-10"
    made_for: str  # "desktop", "workstation", "server", "soc", "embedded", "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """Who is ahead in one figure, and how far: against the next, of those that are behind."""

    figure: str
    places: Inner[tuple[int, ...]]
    things: tuple[str, ...]  # those ahead, by name
    ratio: float  # at least 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheets:
    """Facts of things side by side."""

    things: tuple[Sheet, ...]  # in the order asked
    leads: tuple[Lead, ...]  # none: no meaningful difference
    currency: str  # of the page; amounts here are dollars
    notes: tuple[Sentence, ...] = ()
    asked: Inner[str] = ""
