"""What `compare` found: things side by side, one plan for each, and who is ahead in what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rigright.base.record import Inner, dataclass, derived
from rigright.base.words import Sentence
from rigright.cost.estimate import Estimate
from rigright.demand import SAMPLES, PlanWish
from rigright.money.lifetime import Payback
from rigright.predict.timed import Speed
from rigright.search.record import Plan, Rejection

GPU_KIND, CPU_KIND = "gpu", "cpu"
LESS = (
    *("ttft_s", "tpot_s", "latency_s", "days", "usd", "usd_per_h", "usd_per_mtok"),
    *("usd_per_image", "usd_per_video", "usd_per_text", "usd_total", "power_w"),
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


MORE = (
    *("output_tok_per_s", "train_tok_per_s", *SAMPLES),
    *("mfu", "tok_per_joule", "headroom"),
)
CLAIMED = (  # what a verdict is made of, in its order
    *("output_tok_per_s", "train_tok_per_s", *SAMPLES, "ttft_s", "usd_per_mtok"),
    *("usd_total", "usd_per_image", "usd_per_video", "usd_per_text", "usd", "usd_per_h", "power_w"),
)
HALF = ("bf16", "fp16", "gguf:BF16", "gguf:F16")  # as good as each other
SOONER, NOTICED_S = 1.5, 0.5  # a first token so much later than another, and so late, is felt


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPass:
    """What one pass of a rank computes, reads and takes."""

    flops: Inner[float]
    size_bytes: Inner[float]
    time_s: Inner[float]

    @derived
    def flops_per_byte(self) -> float:
        """How much is computed for each byte."""
        return self.flops / self.size_bytes

    @derived
    def flops_per_s(self) -> float:
        """What is reached."""
        return self.flops / self.time_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """A card's stated limits, and where the work lies under them."""

    peak_flops_per_s: float  # as stated
    bytes_per_s: float  # of its memory, as stated
    token: RankPass  # while it makes next tokens
    prompt: RankPass  # while it reads a prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One thing that is compared."""

    asked: str  # as it was typed
    plan: Plan | None  # None: it cannot do the work at all
    fits: bool  # it keeps every limit
    model: str = ""  # the one that it runs
    broken: tuple[Rejection, ...] = ()  # limits that it does not keep
    speed: Speed | None = None  # how fast it serves
    roof: Roof | None = None  # where the work lies under the card's limits
    label: Inner[str] = ""  # of a model, an engine, a format or a method; others are called by their machine

    @derived
    def tok_per_joule(self) -> Estimate | None:
        """Tokens written for each joule that the cards draw."""
        return self.figures.get("tok_per_joule")

    @property
    def figures(self) -> dict[str, Estimate]:
        """Everything that is compared."""
        if self.plan is None:
            return {}
        estimates = dict(self.plan.figures)
        if "days" not in estimates:
            estimates.pop("usd_total", None)  # the work has no end, and so no whole cost
        rate = estimates.get("output_tok_per_s", estimates.get("train_tok_per_s"))
        power = estimates.get("power_w")
        if rate is not None and power is not None and power.value > 0:
            estimates["tok_per_joule"] = Estimate(
                value=rate.value / power.value,
                low=rate.low / power.high,
                high=rate.high / power.low,
                mark=rate.mark,
            )
        return estimates


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Things side by side for one work."""

    model: str
    wish: PlanWish  # what was asked, with what nobody said filled in
    contenders: tuple[Contender, ...]  # in the order asked
    notes: tuple[Sentence, ...] = ()  # what was assumed, and what to know
    asked: Inner[str] = ""
    model_asked: Inner[str] = ""
    payback: Inner[tuple[int, Payback] | None] = (
        None  # of two, one bought and one rented: the place of the bought
    )

    @derived
    def leads(self) -> tuple[Lead, ...]:
        """Who is ahead of the next in each figure, and how far; none: no meaningful difference.

        On one card in one engine the errors are the same: there every difference stands.
        """
        plans = [item.plan for item in self.contenders]
        ways = {plan.supply.how for plan in plans if plan is not None}
        kinds = {(plan.chip.id, getattr(plan.work, "engine", "")) for plan in plans if plan is not None}
        sure = len(kinds) == 1
        things = [
            (
                item.label or item.asked,
                {
                    name: (known.value,) * 3 if sure else (known.value, known.low, known.high)
                    for name, known in item.figures.items()
                    if plan is not None and item.fits and _is_alike(name, how=plan.supply.how, ways=ways)
                },
            )
            for item, plan in zip(self.contenders, plans, strict=True)
        ]
        used = [place for place, plan in enumerate(plans) if plan is not None and plan.supply.used]
        return leads_of(things, (*CLAIMED, *MORE, *LESS), used=used)

    @property
    def is_even(self) -> bool:
        """Whether all are under the same load."""
        return len({item.plan.concurrency for item in self.contenders if item.plan is not None}) == 1

    @property
    def claims(self) -> tuple[Lead, ...]:
        """Of the leads, those that a verdict is made of.

        A first token counts where people feel it, power where somebody pays for it.
        """
        waits = [item.figures["ttft_s"].value for item in self.contenders if "ttft_s" in item.figures]
        felt = self.is_even and max(waits, default=0) >= NOTICED_S
        rents = any(item.plan is not None and item.plan.supply.how == "rent" for item in self.contenders)
        left = {"power_w"} if rents else set[str]()
        claimed = [lead for lead in self.leads if lead.figure in CLAIMED and lead.figure not in left]
        claimed = [lead for lead in claimed if lead.figure != "ttft_s" or (felt and lead.ratio >= SOONER)]
        return tuple([lead for lead in claimed if lead.than is None] or claimed)

    @derived
    def wins(self) -> dict[str, tuple[str, ...]]:
        """For each figure, those that are ahead in it; none where there is no meaningful difference."""
        asked = [contender.asked for contender in self.contenders]
        figures = {name for contender in self.contenders for name in contender.figures}
        even = {name: () for name in (*CLAIMED, *MORE, *LESS) if name in figures}
        sure = (lead for lead in self.leads if lead.than is None)
        return even | {lead.figure: tuple(asked[place] for place in lead.places) for lead in sure}


def _is_alike(name: str, *, how: str, ways: set[str]) -> bool:
    """Prices to buy are held against prices to buy, rent against rent; a token's price against any other."""
    if name in {"usd", "usd_per_h"}:
        return how == ("buy" if name == "usd" else "rent")
    return not name.startswith("usd_") or name == "usd_per_mtok" or len(ways) == 1
