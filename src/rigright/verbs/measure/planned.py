"""A plan's figures, from what `plan --json` printed, held against what was measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rigright.base.errors import DataError, MissingError, RigError
from rigright.base.units import MIB
from rigright.base.words import Sentence, say
from rigright.cost.memory_bands import band
from rigright.facts.engines import find_engine
from rigright.report.measured import Held, Measured
from rigright.verbs.measure.power import held_power, why_no_power

MOST_BYTES = 16 * MIB
STDIN = "-"
_MOST = 1e30  # of any figure of a plan
_SPEEDS = ("output_tok_per_s", "train_tok_per_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """The first plan of a file."""

    model: str
    plan: Mapping[str, Any]
    wish: Mapping[str, Any]

    def figure(self, name: str) -> tuple[float, float, float] | None:
        """Value, low and high of a figure."""
        found = _mapping(self.plan.get(name)) or _mapping(_mapping(self.plan.get("figures")).get(name))
        value, low, high = (_number(found.get(key)) for key in ("value", "low", "high"))
        return None if not value or low is None or high is None else (value, low, high)

    @property
    def work(self) -> Mapping[str, Any]:
        """Engine, formats and lengths that were planned."""
        return _mapping(self.plan.get("work"))

    @property
    def layout(self) -> Mapping[str, Any]:
        """How it is spread over the cards."""
        return _mapping(self.plan.get("layout"))

    @property
    def fills_cards(self) -> bool:
        """Whether the engine takes its share of each card at once, however little of it is needed."""
        try:
            return find_engine(str(self.work.get("engine"))).pool == "share"
        except RigError:
            return False

    def device_bytes(self) -> tuple[float, float, float] | None:
        """What the driver will show of the fullest card: value, low and high."""
        needed = self.figure("rank_bytes")
        if needed is None or not self.fills_cards:
            return needed
        cards = self.plan.get("memory")
        filled = needed[0] + max(map(_unused, cards if isinstance(cards, list) else ()), default=0.0)
        return filled, *band("preallocated", filled, sure_bytes=filled, unsure_bytes=0.0)


def count_of(found: object) -> int:
    """A count of something there is at least one of."""
    return max(1, int(_number(found) or 1))


def _unused(part: object) -> float:
    """Room that an engine's pool fills beyond what the work needs."""
    return max(0.0, _number(_mapping(part).get("unused")) or 0.0)


def _number(found: object) -> float | None:
    """A number that means something; what a file holds instead is not observed."""
    if isinstance(found, bool) or not isinstance(found, int | float) or not abs(found) < _MOST:
        return None
    return float(found)


def _mapping(found: object) -> Mapping[str, Any]:
    """A part of a file that may hold anything."""
    return found if isinstance(found, Mapping) else {}


def read_plan(file: str) -> PlannedRun:
    """The best plan of what `plan --json` printed; - is stdin."""
    path = Path(file)
    try:
        if file == STDIN:
            raw = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with path.open("rb") as open_file:
                raw = open_file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise MissingError(
            say("there is no plan {file}; `rigright plan ... --json > {file}` makes one", file=file)
        ) from None
    except OSError as error:
        raise DataError(say("cannot read {file}: {why}", file=file, why=error.strerror or error)) from None
    wrong = DataError(say("{file} is no plan; it is what `rigright plan ... --json` prints", file=file))
    if len(raw) > MOST_BYTES:
        raise wrong
    try:
        data = json.loads(raw)
        plan = [*data["plans"], data.get("nearest")][0]
        return PlannedRun(model=str(data["model"]), plan={**plan}, wish={**data["wish"]})
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        raise wrong from None


def hold(measured: Measured, planned: PlannedRun) -> tuple[Held, ...]:
    """Memory of the fullest card, its power, and speed where the user said how many tokens it was."""
    each: list[Held] = []
    memory = planned.device_bytes()
    if memory is not None and measured.gpu_peak_bytes:
        peak = max(size for _, size in measured.gpu_peak_bytes)
        each.append(
            Held(
                name="memory",
                label=say("memory of the fullest card"),
                unit="bytes",
                planned=memory[0],
                low=memory[1],
                high=memory[2],
                measured=peak,
            )
        )
    speed = next((found for found in map(planned.figure, _SPEEDS) if found is not None), None)
    if speed is not None and measured.tokens:
        each.append(
            Held(
                name="speed",
                label=say("tokens a second, start and end of the command counted"),
                unit="tok_per_s",
                planned=speed[0],
                low=speed[1],
                high=speed[2],
                measured=measured.tokens / measured.lasted_s,
            )
        )
    each.extend(held_power(measured, chip=planned.plan.get("chip"), work=planned.wish.get("work")))
    return tuple(each)


def unheld(measured: Measured, planned: PlannedRun) -> Iterator[Sentence]:
    """Why power is not held against a plan that has it."""
    if planned.figure("power_w") is None or any(one.name == "power" for one in measured.held):
        return
    if not measured.chips:
        return
    yield why_no_power(measured)
