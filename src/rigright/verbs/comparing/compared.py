"""What `compare` found: one plan for each thing, who wins what, and rooflines."""

from __future__ import annotations

from rigright.base.record import Inner, dataclass, derived
from rigright.base.words import Sentence
from rigright.cost.estimate import Estimate
from rigright.demand import PlanWish
from rigright.money.lifetime import Payback
from rigright.predict.timed import Speed
from rigright.search.record import Plan, Rejection
from rigright.verbs.comparing.sheets import LESS, Lead, leads_of

MORE = (
    *("output_tok_per_s", "train_tok_per_s", "images_per_s", "texts_per_s"),
    *("mfu", "tok_per_joule", "headroom"),
)
CLAIMED = (  # what a verdict is made of, in its order
    *("output_tok_per_s", "train_tok_per_s", "images_per_s", "texts_per_s", "ttft_s", "usd_per_mtok"),
    *("usd_total", "usd_per_image", "usd_per_text", "usd", "usd_per_h", "power_w"),
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
