"""A plan's figures, from what `plan --json` printed, held against what was measured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rigright.base.errors import DataError, MissingError, RigError
from rigright.base.units import MIB
from rigright.base.words import say
from rigright.cost.memory_bands import band
from rigright.facts.engines import find_engine
from rigright.report.measured import Held, Measured

MOST_BYTES = 16 * MIB
_SPEEDS = ("output_tok_per_s", "train_tok_per_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """The first plan of a file."""

    model: str
    plan: Mapping[str, Any]
    wish: Mapping[str, Any]

    def figure(self, name: str) -> tuple[float, float, float] | None:
        """Value, low and high of a figure."""
        found = self.plan.get(name) or (self.plan.get("figures") or {}).get(name)
        if not isinstance(found, Mapping):
            return None
        value, low, high = (found.get(key) for key in ("value", "low", "high"))
        good = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (value, low, high))
        return (float(value), float(low), float(high)) if good and value else None  # type: ignore[arg-type]

    @property
    def work(self) -> Mapping[str, Any]:
        """Engine, formats and lengths that were planned."""
        found = self.plan.get("work")
        return found if isinstance(found, Mapping) else {}

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
        filled = needed[0] + max((_unused(part) for part in self.plan.get("memory") or ()), default=0.0)
        return filled, *band("preallocated", filled, sure_bytes=filled, unsure_bytes=0.0)


def _unused(part: object) -> float:
    """Room that an engine's pool fills beyond what the work needs."""
    found = part.get("unused") if isinstance(part, Mapping) else None
    return float(found) if isinstance(found, int | float) and found > 0 else 0.0


def read_plan(file: str) -> Planned:
    """The best plan of what `plan --json` printed."""
    path = Path(file)
    try:
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
        return Planned(model=str(data["model"]), plan={**plan}, wish={**data["wish"]})
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        raise wrong from None


def hold(measured: Measured, planned: Planned) -> tuple[Held, ...]:
    """Memory of the fullest card, and speed where the user said how many tokens it was."""
    return tuple(_each(measured, planned))


def _each(measured: Measured, planned: Planned) -> Iterator[Held]:
    memory = planned.device_bytes()
    if memory is not None and measured.gpu_peak_bytes:
        peak = max(size for _, size in measured.gpu_peak_bytes)
        yield Held(
            name="memory",
            label=say("memory of the fullest card"),
            unit="bytes",
            planned=memory[0],
            low=memory[1],
            high=memory[2],
            measured=peak,
        )
    speed = next((found for found in map(planned.figure, _SPEEDS) if found is not None), None)
    if speed is not None and measured.tokens:
        yield Held(
            name="speed",
            label=say("tokens a second, start and end of the command counted"),
            unit="tok_per_s",
            planned=speed[0],
            low=speed[1],
            high=speed[2],
            measured=measured.tokens / measured.lasted_s,
        )
