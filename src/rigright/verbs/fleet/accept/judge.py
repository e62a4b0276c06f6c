"""The verdict on every node, from all that was measured; the same figures always give the same verdict.

A node fails by what is sure: damaged values, a fault that the doctor finds, what its baseline or most of its
like have and it has not, a figure below the reference or behind its like **twice** (the better of two runs is
judged), a network that is slow with a partner known to be fast. What most nodes of a kind miss is no node's
fault: it is told of all of them. What was not measured is not good: such a node stays open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rigright.base.units import show_measured
from rigright.base.words import Sentence, say
from rigright.doctor.examine import case_of
from rigright.doctor.record import CheckInput
from rigright.doctor.reference import compare_all, wrong_values
from rigright.machine.bench.record import Result
from rigright.machine.traits import TRAITS
from rigright.verbs.fleet.accept.accepted import (
    Accepted,
    Failing,
    Met,
    NodeJudged,
    Pairings,
    Source,
    State,
    Suspect,
    pairings,
    slow_between,
)
from rigright.verbs.fleet.nodes import ENOUGH, Differs, NodeReport, differences, kinds, machines_of, spread_of

_MOST_SHARE = 0.5  # of the nodes of a kind: what more than these miss is no node's own fault
_MEASURED = frozenset(
    {"bench_slow", "bench_behind", "bench_wrong", "baseline_bench"}
)  # judged here, on two runs
_UNSURE = frozenset({"low"})  # confidence of a reference that fails nobody
_AGAINST: tuple[Source, ...] = (
    "baseline",
    "cards",
    "peers",
    "reference",
)  # what says most of a slow figure, first
_BEHIND_FEW = 0.15  # of the median of so few nodes that chance cannot be stated
_Key = tuple[str, str, str, str]  # part, what, on, unit


@dataclass(frozen=True, slots=True)
class SoFar:
    """What came so far."""

    names: dict[str, None] = field(default_factory=dict)
    reports: dict[str, NodeReport] = field(default_factory=dict)
    again: dict[str, NodeReport] = field(default_factory=dict)  # what was measured once more
    met: list[Met] = field(default_factory=list)

    def is_twice(self, node: str, part: str) -> bool:
        """Whether a part was run a second time there."""
        again = self.again.get(node)
        if again is None:
            return False
        return part in {
            *(result.part for result in again.results),
            *(skipped.part for skipped in again.skipped),
        }


def suspects(nodes: Mapping[str, NodeReport], again: Mapping[str, NodeReport]) -> tuple[Suspect, ...]:
    """Figures that lie too low, each by what shows it best; of two runs the better one counts."""
    best = {
        name: replace(item, results=_better(item.results, again[name].results)) if name in again else item
        for name, item in nodes.items()
    }
    kind = kinds(machines_of(best))
    results: dict[tuple[str, ...], Suspect] = {}
    for name, node in best.items():
        if node.machine is not None:
            base = None if node.examined is None else node.examined.case.baseline
            for suspect in _alone(name, case_of(node.machine, results=node.results, baseline=base)):
                results.setdefault(_place(suspect), suspect)
    _, slow = spread_of(best.values(), kind)
    for late in slow:
        spread = late.spread
        if spread.n_nodes < ENOUGH and late.behind_share <= _BEHIND_FEW:
            continue
        result = next(
            item
            for item in best[late.node].results
            if (item.part, item.what, item.on, item.value) == (spread.part, spread.what, late.on, late.value)
        )
        suspect = Suspect(node=late.node, result=result, source="peers", full=spread.median)
        results.setdefault(_place(suspect), suspect)
    return tuple(results.values())


def _place(anchor: Suspect) -> tuple[str, ...]:
    return (anchor.node, anchor.result.part, anchor.result.what, anchor.result.on, anchor.source)


def _better(first: Sequence[Result], again: Sequence[Result]) -> tuple[Result, ...]:
    """Each figure once: the better of its two runs, but for values that came out wrong in either."""
    results: dict[_Key, Result] = {}
    for result in (*first, *again):
        key = (result.part, result.what, result.on, result.unit)
        known = results.get(key)
        if known is None or (not wrong_values(known) and (wrong_values(result) or result.beats(known))):
            results[key] = result
    return tuple(results.values())


def _alone(node: str, case: CheckInput) -> Iterator[Suspect]:
    """By this node alone: its baseline, the other cards of it, references."""
    for expected in () if case.baseline is None else case.baseline.bench:
        for result in case.results:
            mine = (result.part, result.what, result.unit) == (expected.part, expected.what, expected.unit)
            if mine and not expected.holds(result.value):
                yield Suspect(node=node, result=result, source="baseline", full=expected.value)
    for figure in compare_all(case.results, case):
        if figure.verdict != "slow" or not figure.full or figure.confidence in _UNSURE:
            continue
        source: Source = "cards" if figure.basis == "other cards" else "reference"
        yield Suspect(node=node, result=figure.result, source=source, full=figure.full)


def judged(known: SoFar, *, broken_off: bool) -> Accepted:
    """The verdict on everything that is known, wherever it came from."""
    given, again = known.reports, known.again
    machines = machines_of(given)
    kind, differs = kinds(machines), differences(machines)
    low, everywhere = _shared(suspects(given, again), kind)
    groups = {
        name: [limit for limit in known.met if kind.get(limit.nodes[0]) == name] for name in kind.values()
    }
    tables = {name: pairings(group) for name, group in groups.items()}
    reasons: dict[str, list[Failing]] = {name: [] for name in known.names}
    for name, item in given.items():
        reasons[name] += [*_damaged(item, again.get(name, item)), *_doctor(item)]
    for node, reason in (*_odd_sums(given), *_traits(given, differs)):
        reasons[node].append(reason)
    # once is too little to fail by; of a card, link or disk the worst figure of a part says enough
    twice: dict[tuple[str, ...], Suspect] = {}
    for suspect in sorted(low, key=lambda entry: (_AGAINST.index(entry.source), entry.share)):
        if known.is_twice(suspect.node, suspect.result.part):
            twice.setdefault((suspect.node, suspect.result.on, suspect.result.part), suspect)
    for suspect in twice.values():
        reasons[suspect.node].append(_figure(suspect))
    for name, result in tables.items():
        for node, reason in _network(result, groups[name]):
            reasons[node].append(reason)
    failed = frozenset(name for name, why in reasons.items() if why)
    ways = tuple(
        way for name, results in tables.items() for way in slow_between(groups[name], results, failed=failed)
    )
    once = frozenset(entry.node for entry in low if not known.is_twice(entry.node, entry.result.part))
    nodes = []
    for name in known.names:
        left = tuple(_left(name, known, kind=kind, once=once, broken_off=broken_off))
        why = tuple(reasons[name])
        state: State = "fail" if why else "open" if left else "pass"
        nodes.append(NodeJudged(node=name, state=state, reasons=why, not_judged=left, report=given.get(name)))
    return Accepted(
        over="",
        asked="",
        folder="",
        nodes=tuple(nodes),
        meetings=tuple(known.met),
        between=ways,
        everywhere=everywhere,
        differs=differs,
        broken_off=broken_off,
    )


def _shared(
    low: Iterable[Suspect], kind: Mapping[str, str]
) -> tuple[tuple[Suspect, ...], tuple[Suspect, ...]]:
    """Those of single nodes, and one for each figure that most nodes of a kind miss."""
    of_kind = Counter(kind.values())
    groups: dict[tuple[str, ...], list[Suspect]] = {}
    for suspect in low:
        key = (kind.get(suspect.node, ""), suspect.result.part, suspect.result.what, suspect.source)
        groups.setdefault(key, []).append(suspect)
    own: list[Suspect] = []
    shared: list[Suspect] = []
    for (name, *_), suspects in groups.items():
        nodes = {item.node for item in suspects}
        if len(nodes) > 1 and len(nodes) > _MOST_SHARE * of_kind[name]:
            shared.append(sorted(suspects, key=lambda item: item.share)[len(suspects) // 2])
        else:
            own += suspects
    return tuple(own), tuple(shared)


def _damaged(node: NodeReport, again: NodeReport) -> Iterator[Failing]:
    for result in _better(node.results, again.results):
        if wrong := wrong_values(result):
            count = f"{wrong:g}"
            seen = say("{part}, {what}: {count} wrong", part=result.part, what=result.what, count=count)
            yield _wrong(result, seen)


def _odd_sums(nodes: Mapping[str, NodeReport]) -> Iterator[tuple[str, Failing]]:
    """Cards of one chip, under one PyTorch, that got another product of the same matrices than most did."""
    groups: dict[tuple[str, ...], list[tuple[str, Result, str]]] = {}
    for name, node in nodes.items():
        for result in node.results:
            words = dict(result.settings)
            if words.get("sum"):
                key = (result.part, result.what, result.chip or "", words.get("torch", ""))
                groups.setdefault(key, []).append((name, result, words["sum"]))
    for group in groups.values():
        sums = Counter(total for *_, total in group)
        most, count = sums.most_common(1)[0]
        if count > len(group) / 2:
            for name, result, total in group:
                if total != most:
                    seen = say("{part}, {what}: result differs from {count} GPUs of this model",
                               part=result.part, what=result.what, count=count)  # fmt: skip
                    yield name, _wrong(result, seen)


def _wrong(result: Result, seen: Sentence) -> Failing:
    says = say("{on} gives wrong values", on=result.on)
    return Failing(source="values", says=says, seen=seen, about=result.on)


def _doctor(node: NodeReport) -> Iterator[Failing]:
    for check, finding in node.findings:
        of_baseline = check == "baseline_traits" and finding.severity != "note"
        if check not in _MEASURED and (finding.severity == "fault" or of_baseline):
            shown = finding.evidence[0].shows if finding.evidence else None
            seen = say("{text}", text=shown) if isinstance(shown, str) else shown
            source: Source = "baseline" if of_baseline else "doctor"
            yield Failing(source=source, says=finding.title, seen=seen, about=finding.about)


def _traits(given: Mapping[str, NodeReport], differs: Sequence[Differs]) -> Iterator[tuple[str, Failing]]:
    """What most of its like have, and this node has not; a baseline says it better where there is one."""
    weights = {str(trait.name): trait.weight for trait in TRAITS}
    for differ in differs:
        if differ.usual is None or weights.get(str(differ.trait)) != "fault":
            continue
        for value, nodes in differ.others:
            for node in nodes:
                examined = given[node].examined
                if examined is not None and examined.case.baseline is not None:
                    continue
                says = say(
                    "{trait}: {value} instead of {usual}", trait=differ.trait, value=value, usual=differ.usual
                )
                yield node, Failing(source="traits", says=says)


def _figure(suspect: Suspect) -> Failing:
    against: dict[Source, Sentence] = {
        "baseline": say("its baseline"),
        "cards": say("other GPUs of this node"),
        "peers": say("identical nodes"),
        "reference": say("reference for this hardware"),
    }
    result = suspect.result
    value, full = show_measured(result.value, result.unit), show_measured(suspect.full, result.unit)
    return Failing(
        source=suspect.source,
        says=say("{on} is slow: {part}, {what}", on=_shown(result), part=result.part, what=result.what),
        seen=say("{value}; {against}: {full}", value=value, against=against[suspect.source], full=full),
        about=result.on,
    )


def _shown(result: Result) -> Sentence | str:
    """What a figure is about, as one says it: a path alone says little."""
    return say("disk of {path}", path=result.on) if result.on.startswith("/") else result.on


def _network(match: Pairings, met: Sequence[Met]) -> Iterator[tuple[str, Failing]]:
    """Nodes that were slow with everybody, and once more with a partner that is fast with others."""
    for node in match.suspects:
        trial = next((limit for limit in met if limit.stage == "trial" and limit.nodes[0] == node), None)
        if trial is None or match.full is None:
            continue
        partner, full = trial.nodes[1], show_measured(match.full, "bytes_per_s")
        if trial.value is None:
            seen = say("also with {partner}, which is fine with others: {why}",
                       partner=partner, why=trial.why or say("could not connect"))  # fmt: skip
        else:
            value = show_measured(trial.value, "bytes_per_s")
            seen = say("{value} with {partner}, which is fine with others; other pairs: {full}",
                       value=value, partner=partner, full=full)  # fmt: skip
        says = say("its network corrupts data") if trial.wrong else say("its network is slow")
        if trial.value is None:
            says = say("it cannot run together with other nodes")
        yield node, Failing(source="network", says=says, seen=seen)


def _left(
    name: str, known: SoFar, *, kind: Mapping[str, str], once: frozenset[str], broken_off: bool
) -> Iterator[Sentence]:
    """What is not known of a node."""
    item = known.reports.get(name)
    if item is None or item.machine is None:
        yield (None if item is None else item.trouble) or say("not queried yet")
        return
    like = [other for node, other in known.reports.items() if kind.get(node) == kind.get(name)]
    here = {result.part for result in item.results}
    parts = Counter(part for other in like for part in {result.part for result in other.results})
    for part in sorted(part for part, count in parts.items() if part not in here and count > len(like) / 2):
        why = next((skip.why for skip in item.skipped if skip.part == part), say("no result"))
        yield say("{part} was not measured: {why}", part=part, why=why)
    if item.skipped and not item.results:
        yield say("nothing was measured: {why}", why=item.skipped[0].why)
    if name in once:
        yield say("slow once, not measured again")
    if broken_off:
        yield say("the test was interrupted")
    mine = [met for met in known.met if name in met.nodes]
    others = [met for met in known.met if kind.get(met.nodes[0]) == kind.get(name)]
    unable = [met for met in mine if name in met.unable]
    nobody = mine if not any(met.value for met in others) else []
    for met in (*unable, *nobody)[:1]:
        yield say("its network was not measured: {why}", why=met.why or say("no result"))
