"""Tables of corrections as terms: read one by its path, put many, and hang dials below their parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.record import Dial, LabError, Path, Tables

NEAR = 0.01  # a term so near its parent, in logarithms, is not written on its own
DIGITS = 3


def term(tables: Tables, path: Path) -> float | None:
    """The value of a term, or None where the tables bear none."""
    value: Any = tables
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return float(value)


def put(tables: Tables, values: Mapping[Path, float]) -> dict[str, Any]:
    """The tables with these values; what is not on their paths is shared, not copied."""
    made = dict(tables)
    for path, value in values.items():
        place = made
        for name in path[:-1]:
            place[name] = dict(place.get(name, {}))
            place = place[name]
        place[path[-1]] = value
    return made


def drop(tables: Tables, path: Path) -> dict[str, Any]:
    """The tables without one term."""
    head, *rest = path
    made = dict(tables)
    if rest and head in made:
        made[head] = drop(made[head], tuple(rest))
    else:
        made.pop(head, None)
    return made


def rounded(value: float) -> float:
    """As it is written: a few digits say all that runs can teach."""
    return float(f"{value:.{DIGITS}g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Dials in an order in which parents come first, with their bounds."""

    dials: tuple[Dial, ...]
    parents: tuple[int, ...]  # of each dial, its parent's place; -1: none that moves
    roots: np.ndarray  # logarithm of what a dial without moving parent shrinks toward
    spreads: np.ndarray

    def values(self, steps: np.ndarray) -> np.ndarray:
        """Values of all dials from their distances below their parents."""
        logs = np.empty(len(self.dials))
        for place, dial in enumerate(self.dials):
            parent = self.parents[place]
            above = logs[parent] if parent >= 0 else self.roots[place]
            low = np.log(dial.low) if dial.low > 0 else -np.inf
            logs[place] = np.clip(above + steps[place], low, np.log(dial.high))
        return np.exp(logs)

    def steps(self, values: np.ndarray) -> np.ndarray:
        """Distances of dials below their parents, from their values."""
        logs = np.log(values)
        above = [
            logs[parent] if parent >= 0 else root
            for parent, root in zip(self.parents, self.roots, strict=True)
        ]
        return np.asarray(logs - np.array(above))


def tree(dials: Sequence[Dial], tables: Tables) -> Tree:
    """Order dials under their parents; a circle of parents or a double dial is an error."""
    waiting = {dial.path: dial for dial in dials}
    if len(waiting) != len(dials):
        raise LabError("a term of corrections has two dials")
    ordered: list[Dial] = []
    while waiting:
        free = [dial for dial in waiting.values() if dial.parent not in waiting]
        if not free:
            raise LabError("terms of corrections are each other's parents")
        ordered += free
        for dial in free:
            del waiting[dial.path]
    places = {dial.path: place for place, dial in enumerate(ordered)}
    parents = [places.get(dial.parent, -1) if dial.parent else -1 for dial in ordered]
    roots = [0.0 if above >= 0 else _root(dial, tables) for above, dial in zip(parents, ordered, strict=True)]
    return Tree(
        dials=tuple(ordered),
        parents=tuple(parents),
        roots=np.array(roots),
        spreads=np.array([dial.spread for dial in ordered]),
    )


def start(hung: Tree, tables: Tables) -> np.ndarray:
    """Where the dials stand in the tables: a term that is not there stands where its parent does."""
    values = np.empty(len(hung.dials))
    for place, dial in enumerate(hung.dials):
        own, parent = term(tables, dial.path), hung.parents[place]
        above = values[parent] if parent >= 0 else float(np.exp(hung.roots[place]))
        values[place] = np.clip(above if own is None else own, max(dial.low, 1e-12), dial.high)
    return hung.steps(values)


def _root(dial: Dial, tables: Tables) -> float:
    fixed = term(tables, dial.parent) if dial.parent else None
    row = (fixed, dial.prior, term(tables, dial.path))
    known = next((value for value in row if value is not None), None)
    if known is None or known <= 0:
        path = ".".join(dial.path)
        raise LabError(f"the term {path} has no value above zero to start from")
    return float(np.log(known))
