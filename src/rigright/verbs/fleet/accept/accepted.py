"""What an acceptance found: nodes that fail and why; which meet next, and what their rates say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from rigright.base.errors import EXIT_INTERRUPT
from rigright.base.record import Inner, derived
from rigright.base.words import Sentence
from rigright.doctor.examine import EXIT_FAULT, EXIT_WARNING
from rigright.machine.bench.record import Result
from rigright.verbs.fleet.nodes import ENOUGH, NORMAL, ROBUST_Z, Differs, NodeReport

_ROUNDS = 3  # partners of each node
_BEHIND_SHARE = 0.10  # what several flows on one network differ by is less
_MOST_LOST = 0.30  # over many nodes: longer rings and shared uplinks cost something
_FEWEST = 4  # nodes of a kind, before one can be told from another by its partners


@dataclass(frozen=True, slots=True)
class Pairings:
    """Who is fast, by all pairs of nodes of one kind."""

    full: float | None  # what a sound pair reaches: the median over nodes of each one's best
    fast: frozenset[str]  # nodes that reached it with somebody
    suspects: tuple[str, ...]  # those that met somebody and were never fast
    slow: tuple[Met, ...]


def rounds(nodes: Sequence[str], count: int = _ROUNDS) -> Iterator[tuple[tuple[str, str], ...]]:
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
    pairs = [item for item in met if len(item.nodes) == 2 and not item.unable and item.stage != "halves"]
    best: dict[str, float] = {}
    for limit in pairs:
        for node in limit.nodes:
            best[node] = max(best.get(node, 0.0), 0.0 if limit.wrong else limit.value or 0.0)
    reached = [value for value in best.values() if value]
    if not reached:
        return Pairings(None, frozenset(), tuple(best), tuple(pairs))
    full = median(reached)
    usual = median(abs(value - full) for value in reached) if len(reached) >= ENOUGH else 0.0
    least = min(full * (1 - _BEHIND_SHARE), full - ROBUST_Z * usual / NORMAL)
    fast = frozenset(node for node, value in best.items() if value >= least)
    slow = tuple(pair for pair in pairs if pair.wrong or (pair.value or 0.0) < least)
    return Pairings(full, fast, tuple(node for node in best if node not in fast), slow)


def wanted(nodes: Sequence[str], met: Sequence[Met], *, fit: frozenset[str]) -> tuple[Met, ...]:
    """The meetings to hold next, without results; none: all is known. Halves are made of `fit` nodes."""
    able = [node for node in nodes if not any(node in limit.unable for limit in met)]
    done = {(limit.stage, limit.nodes) for limit in met}
    for pairs in rounds(able):
        fresh = tuple(Met(stage="pairs", nodes=pair) for pair in pairs if ("pairs", pair) not in done)
        if fresh:
            return fresh
    result = pairings(met)
    if len(able) >= _FEWEST and result.fast:
        return _trials(result, met) or _halves(
            [node for node in able if node in result.fast & fit], met, pairings=result
        )
    return ()


def _trials(pairings: Pairings, met: Sequence[Met]) -> tuple[Met, ...]:
    """Each suspect with a fast node of its own, once."""
    tried = {
        node for limit in met if limit.stage == "trial" for node in limit.nodes if node in pairings.suspects
    }
    left = [node for node in pairings.suspects if node not in tried]
    known = {frozenset(limit.nodes) for limit in met}
    free, pairs = sorted(pairings.fast), []
    for node in left:
        partner = next((text for text in free if frozenset((node, text)) not in known), None)
        if partner is not None:
            free.remove(partner)
            pairs.append(Met(stage="trial", nodes=(node, partner)))
    return tuple(pairs)


def _halves(nodes: Sequence[str], met: Sequence[Met], *, pairings: Pairings) -> tuple[Met, ...]:
    """All of them together; of a group that is slow, both halves."""
    if len(nodes) <= 2 or pairings.full is None:
        return ()
    limits = {limit.nodes: limit for limit in met if limit.stage == "halves"}
    return tuple(_below(tuple(nodes), limits, full=pairings.full))


def _below(group: tuple[str, ...], limits: Mapping[tuple[str, ...], Met], *, full: float) -> Iterator[Met]:
    if group not in limits:
        yield Met(stage="halves", nodes=group)
    elif _together_slow(limits[group], full) and len(group) > 2:
        for half in split(group):
            yield from _below(half, limits, full=full)


def split(group: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Two halves, in the order of the names: nodes of a rack mostly stay together."""
    place = (len(group) + 1) // 2
    return group[:place], group[place:]


def _together_slow(limit: Met, full: float) -> bool:
    if limit.unable:
        return False
    return limit.value is None or bool(limit.wrong) or limit.value < full * (1 - _MOST_LOST)


def slow_between(met: Sequence[Met], pairings: Pairings, *, failed: frozenset[str]) -> tuple[Between, ...]:
    """The smallest groups, else pairs, that are slow though each of their nodes is fast with others."""
    if pairings.full is None:
        return ()
    slow = [limit for limit in met if limit.stage == "halves" and _together_slow(limit, pairings.full)]
    groups = [limit for limit in slow if not any(set(other.nodes) < set(limit.nodes) for other in slow)]
    pairs = [
        limit
        for limit in pairings.slow
        if set(limit.nodes) <= pairings.fast
        and not any(set(limit.nodes) <= set(group.nodes) for group in groups)
    ]
    return tuple(
        Between(nodes=limit.nodes, value=limit.value, full=pairings.full)
        for limit in (*groups, *pairs)
        if not failed & set(limit.nodes)
    )


DRAIN = "drain.txt"  # in the folder: nodes that fail, one a line
Source = Literal["values", "doctor", "baseline", "reference", "cards", "peers", "traits", "network"]
State = Literal["pass", "fail", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """One reason why a node fails: what was seen, and what it should be."""

    source: Source
    says: Sentence
    seen: Sentence | None = None
    about: str | None = None  # "gpu 3", "nvme0n1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """One figure of a node that lies too low (a time: too high), and against what."""

    node: str
    result: Result
    source: Source
    full: float

    @derived
    def share(self) -> float:
        """Reached of it."""
        return self.result.share_of(self.full)


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """Nodes that measured together, and the rate of the wires they reached; None: they did not get there."""

    stage: str  # "pairs", "trial", "halves"
    nodes: tuple[str, ...]
    value: float | None = None
    why: Sentence | None = None
    wrong: int = 0
    unable: tuple[str, ...] = ()  # of them: nodes that could not take part, which says nothing of a network


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """Nodes that are each fine, and slow together: something between them."""

    nodes: tuple[str, ...]
    value: float | None
    full: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeJudged:
    """One node and its verdict; "open" is neither good nor bad: too little is known."""

    node: str
    state: State
    reasons: tuple[Failing, ...] = ()
    not_judged: tuple[Sentence, ...] = ()  # what was not judged, and why
    report: Inner[NodeReport | None] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The whole acceptance."""

    over: str
    asked: Inner[str]
    folder: str
    nodes: tuple[NodeJudged, ...]
    meetings: tuple[Met, ...] = ()
    between: tuple[Between, ...] = ()
    everywhere: tuple[Suspect, ...] = ()  # figures that most nodes of a kind miss: one of them stands for all
    differs: Inner[tuple[Differs, ...]] = ()
    reports: tuple[str, ...] = ()
    broken_off: bool = False
    seconds: float = 0.0

    def named(self, state: State) -> tuple[NodeJudged, ...]:
        """The nodes with this verdict."""
        return tuple(verdict for verdict in self.nodes if verdict.state == state)

    @derived
    def exit_code(self) -> int:
        """A node that fails is a fault; one that was not judged, or what holds for all, is a warning."""
        if self.broken_off:
            return EXIT_INTERRUPT
        if self.named("fail"):
            return EXIT_FAULT
        return EXIT_WARNING if self.named("open") or self.between or self.everywhere else 0
