"""Which nodes measure together next, and what their rates say: a pure walk over what was measured so far.

Three stages. *Pairs*: every node meets a few others, each time another one, all pairs of a round at once.
*Trials*: a node that was slow with everybody meets one that was fast with somebody; only who is slow then too
is at fault, since the partners of a bad node look bad as well. *Halves*: all that are left together, and
where that is far below what pairs reach, each half in turn, down to the smallest group that is slow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from rigright.verbs.fleet.accept.accepted import Between, Met
from rigright.verbs.fleet.stragglers import ENOUGH, NORMAL, ROBUST_Z

ROUNDS = 3  # partners of each node
BEHIND_SHARE = 0.10  # what several flows on one network differ by is less
MOST_LOST = 0.30  # over many nodes: longer rings and shared uplinks cost something
FEWEST = 4  # nodes of a kind, before one can be told from another by its partners


@dataclass(frozen=True, slots=True)
class Pairings:
    """Who is fast, by all pairs of nodes of one kind."""

    full: float | None  # what a sound pair reaches: the median over nodes of each one's best
    fast: frozenset[str]  # nodes that reached it with somebody
    suspects: tuple[str, ...]  # those that met somebody and were never fast
    slow: tuple[Met, ...]


def rounds(nodes: Sequence[str], count: int = ROUNDS) -> Iterator[tuple[tuple[str, str], ...]]:
    """So many rounds of disjoint pairs in which nobody meets the same twice (the circle of a tournament).

    In the first round neighbours meet, which mostly share a rack; the turns of the others lie far apart.
    """
    ring: list[str | None] = [*nodes, *([None] if len(nodes) % 2 else [])]
    ring = [*ring[::2], *ring[1::2][::-1]]
    size = len(ring)
    turns = min(count, size - 1)
    for turn in range(turns):
        cut = turn * max(1, (size - 1) // max(1, turns))
        order = [ring[0], *ring[1 + cut :], *ring[1 : 1 + cut]]
        pairs = ((order[index], order[size - 1 - index]) for index in range(size // 2))
        yield tuple((a, b) for a, b in pairs if a is not None and b is not None)


def pairings(met: Sequence[Met]) -> Pairings:
    """What the pairs say of each node."""
    pairs = [one for one in met if len(one.nodes) == 2 and not one.unable and one.stage != "halves"]
    best: dict[str, float] = {}
    for one in pairs:
        for node in one.nodes:
            best[node] = max(best.get(node, 0.0), 0.0 if one.wrong else one.value or 0.0)
    reached = [value for value in best.values() if value]
    if not reached:
        return Pairings(None, frozenset(), tuple(best), tuple(pairs))
    full = median(reached)
    usual = median(abs(value - full) for value in reached) if len(reached) >= ENOUGH else 0.0
    least = min(full * (1 - BEHIND_SHARE), full - ROBUST_Z * usual / NORMAL)
    fast = frozenset(node for node, value in best.items() if value >= least)
    slow = tuple(one for one in pairs if one.wrong or (one.value or 0.0) < least)
    return Pairings(full, fast, tuple(node for node in best if node not in fast), slow)


def wanted(nodes: Sequence[str], met: Sequence[Met], *, fit: frozenset[str]) -> tuple[Met, ...]:
    """The meetings to hold next, without results; none: all is known. Halves are made of `fit` nodes."""
    able = [node for node in nodes if not any(node in one.unable for one in met)]
    done = {(one.stage, one.nodes) for one in met}
    for pairs in rounds(able):
        fresh = tuple(Met(stage="pairs", nodes=pair) for pair in pairs if ("pairs", pair) not in done)
        if fresh:
            return fresh
    found = pairings(met)
    if len(able) >= FEWEST and found.fast:
        return trials(found, met) or halves(
            [node for node in able if node in found.fast & fit], met, found=found
        )
    return ()


def trials(found: Pairings, met: Sequence[Met]) -> tuple[Met, ...]:
    """Each suspect with a fast node of its own, once."""
    tried = {node for one in met if one.stage == "trial" for node in one.nodes if node in found.suspects}
    left = [node for node in found.suspects if node not in tried]
    known = {frozenset(one.nodes) for one in met}
    free, pairs = sorted(found.fast), []
    for node in left:
        partner = next((one for one in free if frozenset((node, one)) not in known), None)
        if partner is not None:
            free.remove(partner)
            pairs.append(Met(stage="trial", nodes=(node, partner)))
    return tuple(pairs)


def halves(nodes: Sequence[str], met: Sequence[Met], *, found: Pairings) -> tuple[Met, ...]:
    """All of them together; of a group that is slow, both halves."""
    if len(nodes) <= 2 or found.full is None:
        return ()
    held = {one.nodes: one for one in met if one.stage == "halves"}
    return tuple(_below(tuple(nodes), held, full=found.full))


def _below(group: tuple[str, ...], held: Mapping[tuple[str, ...], Met], *, full: float) -> Iterator[Met]:
    if group not in held:
        yield Met(stage="halves", nodes=group)
    elif _together_slow(held[group], full) and len(group) > 2:
        for half in split(group):
            yield from _below(half, held, full=full)


def split(group: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Two halves, in the order of the names: nodes of a rack mostly stay together."""
    place = (len(group) + 1) // 2
    return group[:place], group[place:]


def _together_slow(one: Met, full: float) -> bool:
    if one.unable:
        return False
    return one.value is None or bool(one.wrong) or one.value < full * (1 - MOST_LOST)


def slow_between(met: Sequence[Met], found: Pairings, *, failed: frozenset[str]) -> tuple[Between, ...]:
    """The smallest groups, else pairs, that are slow though each of their nodes is fast with others."""
    if found.full is None:
        return ()
    slow = [one for one in met if one.stage == "halves" and _together_slow(one, found.full)]
    groups = [one for one in slow if not any(set(other.nodes) < set(one.nodes) for other in slow)]
    pairs = [
        one
        for one in found.slow
        if set(one.nodes) <= found.fast and not any(set(one.nodes) <= set(group.nodes) for group in groups)
    ]
    return tuple(
        Between(nodes=one.nodes, value=one.value, full=found.full)
        for one in (*groups, *pairs)
        if not failed & set(one.nodes)
    )
