"""A plan's figures, from what `plan --json` printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import DataError, MissingError, maybe
from rigright.base.files import read_first, unread
from rigright.base.money import USD
from rigright.base.units import MIB
from rigright.base.words import say
from rigright.cost.bands import Parts
from rigright.cost.estimate import Estimate
from rigright.demand import PlanWish
from rigright.facts.chips import by_id
from rigright.facts.engines import find_engine
from rigright.machine.bench.record import SentLoad
from rigright.terms.memory import band

MOST_BYTES = 16 * MIB
_MOST = 1e30  # of any figure of a plan
_REQUESTS = 10  # of each slot: enough for a steady state, short enough to wait for


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """The first plan of a file."""

    model: str  # as it was asked for
    plan: Mapping[str, Any]
    wish: Mapping[str, Any]
    params: object = None  # as the file has them

    def figure(self, name: str) -> tuple[float, float, float] | None:
        """Value, low and high of a figure."""
        fields = _mapping(self.plan.get(name)) or _mapping(_mapping(self.plan.get("figures")).get(name))
        value, low, high = (_number(fields.get(key)) for key in ("value", "low", "high"))
        return None if not value or low is None or high is None else (value, low, high)

    @property
    def work(self) -> Mapping[str, Any]:
        """Engine, formats and lengths that were planned."""
        return _mapping(self.plan.get("work"))

    @property
    def load(self) -> SentLoad | None:
        """The requests that were planned for; none of a training."""
        prompt, output = (_number(self.wish.get(name)) for name in ("prompt_tok", "output_tok"))
        if "engine" not in self.work or not prompt or not output:
            return None
        at_once, rate = _number(self.plan.get("concurrency")), _number(self.wish.get("rate_per_s"))
        slots = None if at_once is None else max(int(at_once), 1)
        return SentLoad(
            prompt_tok=int(prompt),
            output_tok=int(output),
            concurrency=slots,
            rate_per_s=rate if slots is None else None,
            requests=max(100, _REQUESTS * (slots or 1)),
        )

    @property
    def layout(self) -> Mapping[str, Any]:
        """How it is spread over the cards."""
        return _mapping(self.plan.get("layout"))

    @property
    def machine(self) -> str | None:
        """The machine in words that `--on` takes: as the plan names it where no one chip is meant."""
        chip, shown = self.plan.get("chip"), self.plan.get("machine")
        if isinstance(chip, str) and chip in by_id():
            return f"{count_of(self.plan.get('n_chips'))}x {chip}"
        return shown if isinstance(shown, str) else None

    @property
    def fills_cards(self) -> bool:
        """Whether the engine takes its share of each card at once, however little of it is needed."""
        return maybe(lambda: find_engine(str(self.work.get("engine"))).pool == "share") or False

    def device_bytes(self) -> tuple[float, float, float] | None:
        """What the driver will show of the fullest card: value, low and high."""
        needed = self.figure("rank_bytes")
        if needed is None or not self.fills_cards:
            return needed
        cards = self.plan.get("memory")
        filled = needed[0] + max(map(_unused, cards if isinstance(cards, list) else ()), default=0.0)
        low, high = band("preallocated", filled, parts=Parts(counted=filled))
        return filled, float(low), float(high)


def estimate_in(result: object) -> Estimate | None:
    """A figure of a file with its band; None where it is none."""
    fields = _mapping(result)
    value, low, high = (_number(fields.get(name)) for name in ("value", "low", "high"))
    if value is None or low is None or high is None or not 0 <= low <= value <= high:
        return None
    mark, as_of = fields.get("mark"), fields.get("as_of")
    return Estimate(
        value=value, low=low, high=high, mark=mark if isinstance(mark, str) else "",
        as_of=as_of if isinstance(as_of, str) else None,
    )  # fmt: skip


def planned_usd(plan: Mapping[str, Any], asked: Mapping[str, Any], *, wish: PlanWish) -> Estimate | None:
    """What the cards that a plan buys cost, as it says; None: it buys none, or their price is asked anew.

    `asked`: what the plan was asked; `wish`: what is asked now.
    """
    supply = _mapping(plan.get("supply"))
    anew = wish.prices_file is not None or wish.currency not in {asked.get("currency"), USD}
    if supply.get("how") != "buy" or anew or (wish.used and supply.get("used") is not True):
        return None
    return estimate_in(supply.get("usd"))


def count_of(value: object) -> int:
    """A count of something there is at least one of."""
    return max(1, int(_number(value) or 1))


def _unused(part: object) -> float:
    """Room that an engine's pool fills beyond what the work needs."""
    return max(0.0, _number(_mapping(part).get("unused")) or 0.0)


def _number(value: object) -> float | None:
    """A number that means something; what a file holds instead is not observed."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _MOST:
        return None
    return float(value)


def _mapping(value: object) -> Mapping[str, Any]:
    """A part of a file that may hold anything."""
    return value if isinstance(value, Mapping) else {}


def read_plan(file: str) -> PlannedRun:
    """The best plan of what `plan --json` printed; - is stdin."""
    try:
        raw = read_first(file, MOST_BYTES + 1)
    except FileNotFoundError:
        raise MissingError(
            say("no such plan: {file}; create it with `rigright plan ... --json > {file}`", file=file)
        ) from None
    except OSError as error:
        raise unread(file, error) from None
    wrong = DataError(
        say("{file} is not a plan; create one with `rigright plan ... --json > plan.json`", file=file)
    )
    if len(raw) > MOST_BYTES:
        raise wrong
    try:
        return run_of(bounded_json(raw))
    except (ValueError, KeyError, TypeError, IndexError):
        raise wrong from None


def run_of(data: Any) -> PlannedRun:
    """The best plan of such data; where it is no plan, an error of Python's own."""
    plan = [*data["plans"], data.get("nearest")][0]
    model = str(data.get("model_asked") or data["model"])  # as it was typed
    return PlannedRun(model=model, plan={**plan}, wish={**data["wish"]}, params=data.get("params"))
