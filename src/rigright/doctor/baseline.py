"""What nodes of one type should be like: traits, and what benchmarks reach; a file that people edit."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rigright.base.errors import DataError
from rigright.base.record import Pairs, derived
from rigright.base.tables import foreign_toml
from rigright.base.words import say
from rigright.machine.bench.record import SMALLER_IS_BETTER, Result
from rigright.machine.record import Machine
from rigright.machine.traits import TRAITS, Trait

SCHEMA = 1
TOLERANCE = 0.05  # of a figure: healthy nodes of a type lie within it
MOST_FIGURES = 10_000
_MOST_TEXT = 2000
_COUNTED = re.compile(r"(\d{1,4})x(?: |\Z)")  # "7x NVIDIA H100"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedFigure:
    """What one benchmark should reach on each card, link or disk."""

    part: str
    what: str
    unit: str
    value: float
    tolerance: float

    def holds(self, value: float) -> bool:
        """Whether a figure is as good, but for the tolerance; better is always good."""
        if self.unit in SMALLER_IS_BETTER:
            return value <= self.value * (1 + self.tolerance)
        return value >= self.value * (1 - self.tolerance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """One type of node."""

    file: str
    expect: Pairs[str, tuple[str, ...]]  # key of a trait -> the values that are right
    bench: tuple[ExpectedFigure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TraitCheck:
    """One trait of a node beside its baseline."""

    trait: Trait
    here: str | None  # None: the node does not show it
    baseline: tuple[str, ...]

    @derived
    def severity(self) -> str:
        """How bad it is where it differs."""
        return self.trait.weight

    @property
    def differs(self) -> bool:
        """Whether it is seen, and not as it should be."""
        return self.here is not None and self.here not in self.baseline


def baseline_of(machine: Machine, results: Iterable[Result], *, file: str) -> Baseline:
    """What a good node shows: every trait that was seen, of each figure the worst of its cards."""
    read = ((trait.key, trait.read(machine)) for trait in TRAITS)
    worst: dict[tuple[str, str, str], float] = {}
    for result in results:
        key = (result.part, result.what, result.unit)
        pick = max if result.unit in SMALLER_IS_BETTER else min
        worst[key] = pick(worst.get(key, result.value), result.value)
    return Baseline(
        file=file,
        expect=tuple((key, (value,)) for key, value in read if value is not None),
        bench=tuple(
            ExpectedFigure(part=part, what=what, unit=unit, value=value, tolerance=TOLERANCE)
            for (part, what, unit), value in worst.items()
            if math.isfinite(value) and value > 0
        ),
    )


def compared(machine: Machine, baseline: Baseline) -> tuple[TraitCheck, ...]:
    """Every trait of a baseline beside what a node shows."""
    traits = {trait.key: trait for trait in TRAITS}
    return tuple(
        TraitCheck(trait=traits[key], here=traits[key].read(machine), baseline=values)
        for key, values in baseline.expect
    )


def written(baseline: Baseline, *, node: str, date: str) -> str:
    """The file: one line a trait, so that each can be edited or removed by hand."""
    plain = "".join(text if text.isprintable() else "?" for text in node)[:200]
    lines = [
        f"# What nodes of this type should be like; by `rigright baseline` on {date} from {plain}.",
        "# Remove a line to stop checking it; a list allows each of its values.",
        f"rigright_baseline = {SCHEMA}",
        "",
        "[expect]",
        *(f"{key} = {_value(values)}" for key, values in baseline.expect),
    ]
    for figure in baseline.bench:
        lines += [
            "",
            "[[bench]]",
            f"part = {_quoted(figure.part)}",
            f"what = {_quoted(figure.what)}",
            f"unit = {_quoted(figure.unit)}",
            f"value = {figure.value:.6g}",
            f"tolerance = {figure.tolerance:g}",
        ]
    return "\n".join(lines) + "\n"


def read_baseline(file: str) -> Baseline:
    """A baseline from a file, which may come from anywhere."""
    data = foreign_toml(Path(file))
    if data.get("rigright_baseline") != SCHEMA:
        raise DataError(
            say("{file} is not a baseline; write one with `rigright baseline --save FILE`", file=file)
        )
    expect, bench = data.get("expect", {}), data.get("bench", [])
    if not isinstance(expect, dict) or not isinstance(bench, list) or len(bench) > MOST_FIGURES:
        raise DataError(say("{file}: [expect] must be a table, and [[bench]] a list of tables", file=file))
    known = {trait.key for trait in TRAITS}
    strange = sorted(set(expect) - known)
    if strange:
        raise DataError(
            say("{file}: unknown key {name}; known: {known}", file=file, name=strange[0][:60],
                known=", ".join(sorted(known)))
        )  # fmt: skip
    return Baseline(
        file=file,
        expect=tuple((key, _values(value, file=file, key=key)) for key, value in expect.items()),
        bench=tuple(_figure(row, file=file) for row in bench),
    )


def _values(value: Any, *, file: str, key: str) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    if not values or any(isinstance(item, dict | list) or len(str(item)) > _MOST_TEXT for item in values):
        raise DataError(say("{file}: {key} must be a string or a list of strings", file=file, key=key))
    return tuple(map(str, values))


def _figure(row: Any, *, file: str) -> ExpectedFigure:
    fields: Mapping[str, Any] = row if isinstance(row, dict) else {}
    words = [fields.get(name) for name in ("part", "what", "unit")]
    numbers = [fields.get("value"), fields.get("tolerance", TOLERANCE)]
    good = all(isinstance(word, str) and len(word) <= _MOST_TEXT for word in words) and all(
        isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
        for number in numbers
    )
    if not good or numbers[0] <= 0 or not 0 <= numbers[1] < 1:
        raise DataError(
            say(
                "{file}: [[bench]] needs part, what, unit, value above 0, and tolerance from 0 to 1",
                file=file,
            )
        )
    return ExpectedFigure(
        part=str(words[0]), what=str(words[1]), unit=str(words[2]),
        value=float(numbers[0]), tolerance=float(numbers[1]),
    )  # fmt: skip


def _value(values: tuple[str, ...]) -> str:
    texts = [_quoted(value) for value in values]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _quoted(text: str) -> str:
    """A TOML text: what ends a line or the quote is escaped."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(item if item.isprintable() else f"\\U{ord(item):08X}" for item in escaped) + '"'


def load(file: str | None) -> Baseline | None:
    """The baseline of a file, where one is named."""
    return None if file is None else read_baseline(str(Path(file)))


def cards_of(baseline: Baseline) -> int:
    """How many cards it names: "7x A, 1x B" are eight."""
    values = dict(baseline.expect).get("cards", ())
    counts = [
        sum(int(match[1]) if (match := _COUNTED.match(kind)) else 1 for kind in value.split(", "))
        for value in values
    ]
    return max(counts, default=0)
