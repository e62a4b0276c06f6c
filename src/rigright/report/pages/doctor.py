"""The page of `doctor`: the verdict, findings worst first, what is fine, what was not observed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rigright.base import telling
from rigright.base.page import (
    Commands,
    Line,
    Page,
    Part,
    Points,
    Shown,
    Table,
    facts,
    known,
    prose,
    records,
    table,
)
from rigright.base.record import Sparse
from rigright.base.words import Sentence, say, with_commas
from rigright.doctor.advice import manual_of
from rigright.doctor.binding.judgement import JudgedCause, Judgement, conclude, in_order
from rigright.doctor.elsewhere import shows_cards
from rigright.doctor.examine import Examined, checks, group_of
from rigright.doctor.record import Checked, CheckFinding, Fine, NotSeen
from rigright.doctor.wires import bus_cards, hides_cards
from rigright.machine.opened.forms import fault_forms
from rigright.machine.opened.pieces import BENCHMARK
from rigright.machine.record import Machine
from rigright.machine.running.messages import UNKNOWN
from rigright.report.findings import (
    SEVERITIES,
    SEVERITY_TONES,
    Blind,
    FindingGroup,
    blind,
    fine,
    groups,
)
from rigright.report.named import machine_name, of_origin, understood
from rigright.report.typed import of_host, typed

MOST_COMMANDS = 4
LEAST_SHARE = 1 / 3  # of the checks, for a tick
_LEAST_EVIDENCE, _MOST_EVIDENCE = 2, 6  # of one kind of finding on many things
_SURE = {
    "likely": say("likely, not certain"),
    "maybe": say("possible: it may have another cause"),
}
_LOGS = frozenset({"kernel log", "messages", "text"})


def page(result: Examined, *, everything: bool = False, why: bool = False) -> Page:
    """The page for people; `everything`: all in full, and all that is fine; `why`: what checks go by.

    What to act on first is stated in full, other faults and warnings by what was seen and what mends them.
    """
    every, judgement, machine = groups(result), conclude(result), result.case.machine
    first = judgement.first
    shown = [group for group in every if everything or group.first.severity != "note"]
    notes = [_headline(item) for item in every if item.first.severity == "note" and not everything]
    partly = machine.is_capture and not everything
    beside = _not_there(result) if partly else ()
    many = len(shown) > 1 or not partly
    return Page.of(
        _answer(result, None if first is None else shown[0]),
        Line.dim(_counts(result)),
        _causes(judgement),
        _groups(shown, machine, headed=first is None, everything=everything, why=why),
        Points.of((*notes, *beside), title=say("worth knowing") if notes else None),
        _fine(result) if everything else None,
        None if partly else _unseen(blind(result), machine),
        Commands.next(_next(result, many=many, everything=everything) if shown or not partly else ()),
    )


def _groups(
    shown: Sequence[FindingGroup], machine: Machine, *, headed: bool, everything: bool, why: bool
) -> Iterator[Part]:
    """Each finding under its headline, which of the first may be the title of the page."""
    for place, group in enumerate(shown):
        if place or headed:
            yield Line(text=_headline(group), tone=SEVERITY_TONES[group.first.severity], apart=True)
        in_full = everything or why or not place
        yield _finding(group, by_root=machine.typed_by_root, why=why, in_full=in_full)


def _fine(result: Examined) -> Table:
    """All that was looked at and is good."""
    rows = ((checked.check, item.about or "", item.says) for checked, item in fine(result))
    return table((say("check"), say("of"), prose("")), rows, title=say("fine"))


def _next(result: Examined, *, many: bool, everything: bool) -> Iterator[str]:
    """What to type next."""
    doctor = f"rigright doctor{of_origin(result.case.machine.origin)}"
    if any(step.command for _, finding in result.findings for step in finding.fix):
        yield f"{doctor} --fix-script fixes.sh"
    if many and not everything:
        yield f"{doctor} --all"


def _causes(judgement: Judgement) -> Iterator[Line]:
    """What is no cause of its own."""
    for cause in judgement.bad:
        if cause.consequences:
            names = ", ".join(dict.fromkeys(check for check, _ in cause.consequences))
            yield Line.dim(say("{check} explains {others}", check=cause.check, others=names))


def sheet(result: Examined) -> Page:
    """Every finding as a row, for a spreadsheet."""

    def seen(row: CheckFinding) -> Shown | None:
        return with_commas(evidence.shows for evidence in row.finding.evidence[:_MOST_EVIDENCE])

    findings = records(
        in_order(result),
        (
            (say("severity"), lambda row: SEVERITIES[row.finding.severity]),
            (say("of"), lambda row: row.finding.about),
            (say("finding"), lambda row: row.finding.title),
            (say("seen"), seen),
            (say("fix"), lambda row: "; ".join(step.command for step in row.finding.fix if step.command)),
            (say("check"), lambda row: row.check),
        ),
    )
    return Page.of(machine_name(result.case.machine), findings)


def _answer(result: Examined, first: FindingGroup | None) -> Line:
    """What to act on first; else that nothing is wrong in what was looked at."""
    machine = result.case.machine
    if first is not None:
        return Line(text=_headline(first), tone=SEVERITY_TONES[result.findings[0][1].severity])
    hidden = bus_cards(machine) if hides_cards(machine) else ""
    more = f"`{shows_cards(machine)}`"  # what shows the state of its cards
    if hidden and machine.is_capture and not result.findings:
        return Line(
            text=say("{cards} on the PCI bus; for their state, add {command}", cards=hidden, command=more)
        )
    if hidden and not machine.is_capture:  # what was not looked at is no good news
        return Line.warn(say("{cards} on the PCI bus, but no driver lists them here", cards=hidden))
    if BENCHMARK in machine.read_as and not (machine.devices or machine.events or result.findings):
        return Line(
            text=say("benchmark results, nothing wrong in them; to see them: `rigright bench --from`")
        )
    return _sound(result, more)


def _sound(result: Examined, more: str) -> Line:
    """That nothing to act on was found, and in how much: what a text leaves out may be bad."""
    machine, passed, notes = result.case.machine, result.count(Fine), groups(result)
    if any(event.kind == UNKNOWN for event in machine.events or ()):
        return Line(text=say("no known fault found, but some lines look like errors"))
    is_text = machine.is_capture and (_LOGS | fault_forms()).issuperset(machine.read_as)
    if not (is_text or passed or result.findings):
        add = say("nothing here could be checked; add {command}", command=more)
        return Line(text=add if machine.is_capture else say("nothing here could be checked"))
    if machine.cut and not is_text:
        return Line(text=say("no fault found, but the file is truncated: the rest is not checked"))
    if not is_text and not (machine.is_capture and passed < LEAST_SHARE * (passed + result.count(NotSeen))):
        return Line.good(say("no fault found"))
    if notes:
        return Line(text=say("no fault; worth knowing: {title}", title=_headline(notes[0])))
    alone = say("no known fault in this text; the machine itself was not looked at")
    return Line(text=alone if is_text else say("no fault found, but most checks need more than this file"))


def _counts(result: Examined) -> Sentence:
    """The machine, how much was found of it, and how much was looked at."""
    severities = Counter(finding.severity for _, finding in result.findings)
    counts = (
        say("{count} faults", count=severities["fault"] or None),
        say("{count} warnings", count=severities["warning"] or None),
        say("{count} notes", count=severities["note"] or None),
        say("{count} passed", count=result.count(Fine) or None),
        say("{count} not checked", count=result.count(NotSeen) or None),
    )
    told = with_commas(counts) or say("nothing found")
    return say("{machine}; {said}", machine=machine_name(result.case.machine), said=told)


def _finding(group: FindingGroup, *, by_root: bool, why: bool, in_full: bool) -> Table:
    """A finding: in full, or what was seen and what mends it."""
    first, many = group.first, len(group.first.fix) > 1
    rows: list[tuple[Shown, Shown | None]] = [*_seen(group, by_root=by_root, in_full=in_full)]
    rows += [(say("why it matters"), first.why)] if in_full else []
    for place, step in enumerate(first.fix, 1):
        says = say("{says} (stops running jobs)", says=step.says) if step.disturbs else step.says
        says = say("{place}. {says}", place=place, says=says) if many else says
        rows.append((say("fix") if place == 1 else "", says))
        if step.command:
            rows.append(("", f"$ {typed(step.command, needs_root=step.as_root, by_root=by_root)}"))
    if in_full:
        verify = known(first.verify, lambda command: f"$ {typed(command, by_root=by_root)}")
        rows += [(say("verify"), verify), (say("sure?"), _SURE.get(first.confidence))]
    rows.append((say("check"), group.check))
    manual = manual_of(checks()[group.check]) if why else ()  # what the check goes by, a paragraph a row
    return facts((*rows, *((say("manual") if not place else "", text) for place, text in enumerate(manual))))


def _seen(group: FindingGroup, *, by_root: bool, in_full: bool) -> Iterator[tuple[Shown, Shown]]:
    """Evidence, each command once."""
    every = dict.fromkeys((finding.about, item) for finding in group.findings for item in finding.evidence)
    most = _MOST_EVIDENCE if in_full else _LEAST_EVIDENCE
    shown = list(every)[:most]
    for place, (about, item) in enumerate(shown):
        many = len(group.findings) > 1 and about
        sentence = say("{about}: {title}", about=about, title=item.shows) if many else item.shows
        yield say("seen") if not place else "", sentence
    if len(every) > most:
        yield "", say("and {count} more", count=len(every) - most)
    commands = dict.fromkeys(item.command for _, item in shown if item.command and in_full)
    yield from (("", f"$ {typed(command, by_root=by_root)}") for command in list(commands)[:_MOST_EVIDENCE])


def _headline(group: FindingGroup) -> Shown:
    title = group.first.title
    return say("{about}: {title}", about=group.about, title=title) if group.about else title


def _unseen(blinds: tuple[Blind, ...], machine: Machine) -> Table:
    """What could not be looked at, with what would show it."""
    rows: list[tuple[Shown, Shown]] = []
    for gap in blinds:
        fields, see = {"titles": with_commas(gap.titles), "why": gap.why}, gap.see or ""
        on_host = of_host(see, machine)
        why = (
            say("{titles} ({why}); on the host:", **fields) if on_host else say("{titles} ({why})", **fields)
        )
        rows.append(("-", why))
        if see:
            rows.append(("", f"$ {see if on_host else typed(see, by_root=machine.typed_by_root)}"))
    return table(("", prose("")), rows, title=say("not observed"), tones=["dim" for _ in rows])


def _not_there(result: Examined) -> Iterator[Shown]:
    """What a capture does not hold, in a line or two: what was read, what would show the rest."""
    yield from understood(result.case.machine)
    verdicts = (finding for checked in result.checks for finding in checked.verdicts)
    unseen = [finding for finding in verdicts if isinstance(finding, NotSeen)]
    missing = [gap for gap in unseen if not gap.idle]
    commands = Counter(gap.see.partition(" |")[0] for gap in missing if gap.see)
    if missing:
        shown = ", ".join(f"`{command}`" for command, _ in commands.most_common(MOST_COMMANDS))
        checks = say("{count} checks", count=len(missing))
        yield say(
            "not in this file: {checks}, listed by --all; see {commands}", checks=checks, commands=shown
        )
    if len(missing) < len(unseen):
        yield say("idle when captured: clocks and links can only be judged under load")


def _machine(result: Examined) -> Sentence | str:
    return machine_name(result.case.machine)


def _answer_words(result: Examined) -> Sentence | str:
    """The answer as a sentence."""
    return page(result).title


def _bad(result: Examined) -> tuple[JudgedCause, ...]:
    return conclude(result).bad


def _group(checked: Checked) -> str:
    return group_of(checked.check)


def _by_hand(row: CheckFinding) -> Sparse[Sentence | str]:
    return checks()[row.check].manual


plain = telling.RecordPrinter(
    Examined,
    telling.RecordPrinter(Checked, group=_group),
    machine=_machine,
    verdict=_answer_words,
    causes=_bad,
    findings=in_order,
)
plain_why = telling.RecordPrinter(Examined, plain, telling.RecordPrinter(CheckFinding, manual=_by_hand))
