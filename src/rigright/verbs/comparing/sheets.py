"""What is stated of things, side by side, and who is ahead in what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rigright.base.record import Inner, dataclass
from rigright.base.words import Sentence
from rigright.cost.estimate import Estimate

GPU_KIND, CPU_KIND = "gpu", "cpu"
LESS = (
    *("ttft_s", "tpot_s", "latency_s", "days", "usd", "usd_per_h", "usd_per_mtok"),
    *("usd_per_image", "usd_per_text", "usd_total", "power_w"),
)  # the less the better
APART = 1.1  # below it two figures are the same

Band = tuple[float, float, float]  # a figure, its lower and its upper end


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
    fp8_flops_per_s: float | None = None  # dense, FP32 accumulate
    fp4_flops_per_s: float | None = None  # dense
    int8_ops_per_s: float | None = None  # dense, INT32 accumulate
    power_w: float | None  # rated, of the cards alone
    link: str | None = None  # between cards
    link_bytes_per_s: float | None = None  # both directions together, of each card
    pcie_gen: int | None  # of its slot; of a processor, what it offers
    pcie_lanes: int | None  # of its slot; of a processor, those left for cards
    usd: Estimate | None  # to buy, the cards alone
    usd_per_h: Estimate | None = None  # of a cloud's instance: its rent
    used: bool | None  # whether that price is a used card's
    launch: str | None = None  # "2022-10"
    made_for: str  # "desktop", "workstation", "server", "soc", "embedded", "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """Who is ahead in one figure, and how far: against the next, of those that are behind."""

    figure: str
    places: Inner[tuple[int, ...]]
    things: tuple[str, ...]  # those ahead, by name
    ratio: float  # at least 1
    used: bool = False  # the price of those ahead is a used one, and that of others a new one
    than: Inner[int | None] = None  # the place of the last, where no other is surely behind


def leads_of(
    things: Sequence[tuple[str, Mapping[str, Band]]],
    figures: Iterable[str],
    *,
    used: Sequence[int],
    least: int = 2,
) -> tuple[Lead, ...]:
    """Who is ahead in each figure that `least` of the things have; `used`: the places priced used."""
    leads = []
    for figure in dict.fromkeys(figures):
        known = {place: bands[figure] for place, (_, bands) in enumerate(things) if figure in bands}
        if len(known) >= least:
            leads.append(_lead(figure, known, names=[name for name, _ in things], used=used))
    return tuple(lead for lead in leads if lead is not None)


def _lead(
    figure: str, bands: Mapping[int, Band], *, names: Sequence[str], used: Sequence[int]
) -> Lead | None:
    """Who is ahead of the next, or the first of the last; None where none lies outside another's band."""
    order = sorted(bands, key=lambda place: bands[place][0], reverse=figure not in LESS)
    ahead = sorted(place for place in order if not _is_apart(bands[order[0]], bands[place]))
    behind, than = order[len(ahead) :], None
    if not behind:
        return None
    last, near = bands[order[len(ahead) - 1]], bands[behind[0]]
    if {*ahead} != {*order[: len(ahead)]} or not _is_apart(last, near):
        ahead, behind, than = order[:1], order[-1:], order[-1]
        last, near = bands[order[0]], bands[than]
        if not _is_apart(last, near):
            return None
    return Lead(
        figure=figure,
        places=tuple(ahead),
        things=tuple(names[place] for place in ahead),
        ratio=max(last[0], near[0]) / min(last[0], near[0]),
        used=figure == "usd" and bool({*ahead} & {*used}) and not {*behind} <= {*used},
        than=than,
    )


def _is_apart(one: Band, other: Band) -> bool:
    low, high = sorted((one, other))
    return 0 < low[0] * APART <= high[0] and (low[0] < high[1] or low[2] < high[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheets:
    """Facts of things side by side."""

    things: tuple[Sheet, ...]  # in the order asked
    leads: tuple[Lead, ...]  # none: no meaningful difference
    currency: str  # of the page; amounts here are dollars
    notes: tuple[Sentence, ...] = ()
    asked: Inner[str] = ""
