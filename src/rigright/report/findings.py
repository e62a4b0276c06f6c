"""What a doctor said of a machine or of many: findings alike as one, nodes alike as a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rigright.base.page import Shown, Table, Tone, grouped
from rigright.base.words import Sentence, say
from rigright.doctor.binding.judgement import in_order
from rigright.doctor.examine import EXIT_WARNING, RANKS, Examined
from rigright.doctor.record import Checked, Finding, Fine, NotSeen
from rigright.doctor.wires import counted
from rigright.machine.record import Machine

if TYPE_CHECKING:
    from rigright.verbs.fleet.nodes import Fleet, NodeReport

SEVERITIES = {"fault": say("fault"), "warning": say("warning"), "note": say("note")}
SEVERITY_TONES: dict[str, Tone] = {"fault": "bad", "warning": "warn", "note": "plain"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingGroup:
    """The same finding on one thing or on several."""

    check: str
    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        """The one that speaks for all: worst and surest."""
        return self.findings[0]

    @property
    def about(self) -> str:
        """Everything it is about: "gpu 0, gpu 3"."""
        return ", ".join(dict.fromkeys(finding.about for finding in self.findings if finding.about))


@dataclass(frozen=True, slots=True, kw_only=True)
class Blind:
    """What was not seen for one and the same reason."""

    titles: tuple[Sentence, ...]
    why: Sentence
    see: str | None


def groups(examined: Examined) -> tuple[FindingGroup, ...]:
    """Findings of one check that say the same and are mended the same, what to act on first before all."""

    def same(check: str, finding: Finding) -> tuple[str, object]:
        return check, (finding.severity, str(finding.title), tuple(step.says.text for step in finding.fix))

    alike = grouped((same(check, finding), finding) for check, finding in in_order(examined))
    return tuple(FindingGroup(check=check, findings=tuple(ones)) for (check, _), ones in alike.items())


def blind(examined: Examined) -> tuple[Blind, ...]:
    """What was not seen, by why; one command speaks for all cards."""
    firsts: dict[tuple[str, str], tuple[Checked, NotSeen]] = {}
    for checked, value in _of_kind(examined.checks, NotSeen):
        if isinstance(value, NotSeen):
            firsts.setdefault((checked.check, _kind_of(value.why)), (checked, value))
    pair: dict[tuple[str, str | None], tuple[Sentence, dict[str, Sentence]]] = {}
    for checked, value in firsts.values():
        _, titles = pair.setdefault((_kind_of(value.why), value.see), (value.why, {}))
        titles[checked.check] = checked.title
    blinds = [
        Blind(titles=tuple(titles.values()), why=why, see=see) for (_, see), (why, titles) in pair.items()
    ]
    return tuple(sorted(blinds, key=lambda item: (item.see is None, -len(item.titles))))


def _kind_of(why: Sentence) -> str:
    """What reasons have in common: the template, but where that is all value."""
    return str(why) if why.text.startswith("{") and " " not in why.text else why.text


def fine(examined: Examined) -> Iterator[tuple[Checked, Fine]]:
    """Everything that was looked at and is good."""
    for checked, value in _of_kind(examined.checks, Fine):
        if isinstance(value, Fine):
            yield checked, value


def _of_kind(every: Iterable[Checked], kind: type) -> Iterator[tuple[Checked, object]]:
    return (
        (checked, finding) for checked in every for finding in checked.verdicts if isinstance(finding, kind)
    )


_SILENT, INCOMPLETE, WELL = "silent", "incomplete", "well"
STATES: dict[str, Sentence] = {  # worst first
    _SILENT: say("unreachable"),
    "fault": SEVERITIES["fault"],
    "warning": SEVERITIES["warning"],
    INCOMPLETE: say("incomplete"),
    "note": SEVERITIES["note"],
    WELL: say("ok"),
}
TONES: dict[str, Tone] = {**SEVERITY_TONES, _SILENT: "bad", INCOMPLETE: "warn", WELL: "good"}
_WORST_FIRST = tuple(STATES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Nodes with the same state, cards and findings; and driver, but for the doctor."""

    state: str
    nodes: tuple[str, ...]
    cards: str
    driver: str
    findings: tuple[Finding, ...]
    trouble: Sentence | None = None
    lacks: Sentence | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """One finding on all the nodes that have it."""

    check: str
    finding: Finding
    nodes: tuple[str, ...]
    things: int  # cards, disks, ... of all these nodes together


def state_of(node: NodeReport) -> str:
    """A node by its worst finding, or by what its answer lacks."""
    if node.trouble is not None:
        return _SILENT
    worst = node.findings[0][1].severity if node.findings else WELL
    return INCOMPLETE if node.lacks is not None and worst in {"note", WELL} else worst


def rows_of(fleet: Fleet) -> tuple[Row, ...]:
    """Every node in a row, the worst rows first, of equals the rarest."""

    def same(node: NodeReport) -> tuple[object, ...]:
        driver = None if fleet.what == "doctor" else _driver_of(node.machine)  # it has no column there
        titles = {(check, finding.severity, str(finding.title)) for check, finding in node.findings}
        trouble = str(node.trouble or node.lacks or "")
        return driver, state_of(node), cards_of(node.machine), frozenset(titles), trouble

    rows = [_row(nodes) for nodes in grouped((same(node), node) for node in fleet.nodes).values()]
    rows.sort(key=lambda row: (_WORST_FIRST.index(row.state), -len(row.findings), len(row.nodes), row.nodes))
    return tuple(rows)


def _row(nodes: list[NodeReport]) -> Row:
    first = nodes[0]
    distinct = {str(finding.title): finding for _, finding in reversed(first.findings)}
    findings = tuple(sorted(distinct.values(), key=lambda finding: RANKS.index(finding.severity)))
    return Row(
        state=state_of(first),
        nodes=tuple(sorted(node.node for node in nodes)),
        cards=cards_of(first.machine),
        driver=_driver_of(first.machine),
        findings=findings,
        trouble=first.trouble,
        lacks=first.lacks,
    )


def shared_findings(fleet: Fleet) -> tuple[Shared, ...]:
    """Each finding once, with the nodes that have it: worst first, of equals the most widespread."""
    pairs = grouped(
        ((check, finding.severity, str(finding.title)), (node.node, finding))
        for node in fleet.nodes
        for check, finding in node.findings
    )
    shared = [
        Shared(
            check=key[0],
            finding=ones[0][1],
            nodes=tuple(dict.fromkeys(node for node, _ in ones)),
            things=len(ones),
        )
        for key, ones in pairs.items()
    ]
    shared.sort(key=lambda item: (RANKS.index(item.finding.severity), -len(item.nodes)))
    return tuple(shared)


def silences(nodes: Iterable[NodeReport]) -> tuple[tuple[Sentence, tuple[str, ...]], ...]:
    """Why nothing came -> of which nodes, the commonest reason first."""
    troubles = grouped((node.trouble, node.node) for node in nodes if node.trouble is not None)
    pairs = sorted(troubles.items(), key=lambda pair: -len(pair[1]))
    return tuple((why, tuple(names)) for why, names in pairs)


def tone_of(exit_code: int) -> Tone:
    """How an answer about many nodes is marked."""
    tones: dict[int, Tone] = {0: "good", EXIT_WARNING: "warn"}
    return tones.get(exit_code, "bad")


def cards_of(machine: Machine | None, joint: str = " + ", *, unnamed: str | None = None) -> str:
    """The accelerators in a few words; `unnamed`: what stands for a name, else the vendor."""
    if machine is None:
        return ""
    return counted(Counter(device.name or unnamed or device.vendor for device in machine.devices), joint)


def _driver_of(machine: Machine | None) -> str:
    """The driver as its library says."""
    return (machine.software.driver or "") if machine else ""


def counts(fleet: Fleet, named: Callable[[Iterable[str]], Shown]) -> tuple[Sentence, ...]:
    """How many nodes are in which state, the worst first; those to act on by name."""
    groups: dict[str, list[str]] = {state: [] for state in STATES}
    for node in fleet.nodes:
        groups[state_of(node)].append(node.node)
    count = {state: len(nodes) for state, nodes in groups.items()}
    many = {
        _SILENT: say("{count} unreachable ({names})", count=count[_SILENT], names=named(groups[_SILENT])),
        "fault": say("{count} with faults ({names})", count=count["fault"], names=named(groups["fault"])),
        "warning": say("{count} with warnings", count=count["warning"]),
        INCOMPLETE: say(
            "{count} incomplete ({names})", count=count[INCOMPLETE], names=named(groups[INCOMPLETE])
        ),
        "note": say("{count} with notes", count=count["note"]),
        WELL: say("{count} ok", count=count[WELL]),
    }
    return tuple(many[state] for state in STATES if count[state])


def first_rows(table: Table, most: int | None) -> Table:
    """So many rows, and a last one that says how many are left out."""
    if most is None or len(table.rows) <= most:
        return table
    left = say("and {count} more rows; --all shows them", count=len(table.rows) - most)
    rows: tuple[tuple[Shown, ...], ...] = (*table.rows[:most], (left, *("",) * (len(table.columns) - 1)))
    return replace(table, rows=rows, tones=(*table.tones[:most], "dim") if table.tones else ())
