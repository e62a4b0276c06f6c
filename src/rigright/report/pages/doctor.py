"""The page of `doctor`: the verdict, findings worst first, what is fine, what was not observed."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rigright.base.words import Sentence, say, tell, with_commas
from rigright.doctor.binding.judgement import Judgement, conclude
from rigright.doctor.examine import Examined, group_of, manual_of
from rigright.doctor.record import Finding, Fine, NotSeen, Step
from rigright.machine.record import Machine
from rigright.report.diagnosed import Blind, Group, blind, fine, groups
from rigright.report.judged import first_of, judged
from rigright.report.named import bus_cards, machine_name, understood
from rigright.report.page import Column, Commands, Line, Page, Part, Points, Shown, Table, Tone
from rigright.report.typed import is_root, of_host, typed

MOST_COMMANDS = 4
MOST_EVIDENCE = 6  # of one kind of finding on many things
_TONES: dict[str, Tone] = {"fault": "bad", "warning": "warn", "note": "plain"}
_SEVERITIES = {"fault": say("fault"), "warning": say("warning"), "note": say("note")}
_SURE = {
    "likely": say("likely, not certain"),
    "maybe": say("possible: it may have another cause"),
}
_BLANK = (Column(head=""), Column(head="", flexible=True))


def page(result: Examined, *, everything: bool = False, why: bool = False) -> Page:
    """The page for people; `everything`: notes in full, and all that is fine; `why`: what checks go by."""
    found = groups(result)
    shown = tuple(one for one in found if everything or one.first.severity != "note")
    parts: list[Part] = [_verdict(result), *_causes(conclude(result))]
    parts += [_overview(shown)] if len(shown) > 1 else []
    for group in shown:
        parts += _finding(group, by_root=is_root(result.case.machine), why=why)
    notes = tuple(_note(group) for group in found if group.first.severity == "note")
    partly = result.case.machine.is_capture and not everything
    beside = tuple(_not_there(result)) if partly else ()
    if notes and not everything:
        parts.append(Points(items=(*notes, *beside), title=say("worth knowing")))
    elif beside:
        parts.append(Points(items=beside))
    if everything:
        parts.append(
            Table(
                title=say("fine"),
                columns=(Column(head=say("check")), Column(head=say("of")), Column(head="", flexible=True)),
                rows=tuple((checked.check, one.about or "", one.says) for checked, one in fine(result)),
            )
        )
    unseen = blind(result)
    if unseen and not partly:
        parts.append(_unseen(unseen, result.case.machine))
    commands: list[str] = []
    origin = result.case.machine.origin
    doctor = "rigright doctor" if origin == "live" else f"rigright doctor --from {shlex.quote(origin)}"
    if any(step.command for _, one in result.findings for step in one.fix) and (shown or not partly):
        commands.append(f"{doctor} --fix-script fixes.sh")
    if not everything and not partly:
        commands.append(f"{doctor} --all")
    if not partly:
        commands.append("rigright look-up checks")
    if commands:
        parts.append(Commands(items=tuple(commands), title=say("next")))
    return Page(title=machine_name(result.case.machine), parts=tuple(parts))


def _causes(judgement: Judgement) -> Iterator[Line]:
    """What to act on first where there are several things, and what is no cause of its own."""
    if len(judgement.bad) > 1 or any(one.follows for one in judgement.bad):
        yield Line(said=first_of(judgement.lead or judgement.bad[0]), tone="strong")
    for one in judgement.bad:
        if one.follows:
            names = ", ".join(dict.fromkeys(check for check, _ in one.follows))
            yield Line(said=say("{check} explains {others}", check=one.check, others=names), tone="dim")


def sheet(result: Examined) -> Page:
    """Every finding as a row, for a spreadsheet."""
    heads = (say("severity"), say("of"), say("finding"), say("seen"), say("fix"), say("check"))
    rows = tuple(
        (
            _SEVERITIES[one.severity],
            one.about or "",
            one.title,
            with_commas(item.shows for item in one.evidence[:MOST_EVIDENCE]) or "",
            "; ".join(step.command for step in one.fix if step.command),
            check,
        )
        for check, one in result.findings
    )
    table = Table(columns=tuple(Column(head=head) for head in heads), rows=rows)
    return Page(title=machine_name(result.case.machine), parts=(table,))


def _verdict(result: Examined) -> Line:
    """Everything in one line."""
    counts = [
        _count(severity, sum(one.severity == severity for _, one in result.findings)) for severity in _TONES
    ]
    found = with_commas(counts) or say("nothing found")
    tone: Tone = {20: "bad", 10: "warn"}.get(result.exit_code, "good")  # type: ignore[assignment]
    hidden = "" if result.case.machine.devices else bus_cards(result.case.machine)
    if hidden and tone == "good":  # what was not looked at is no good news
        cards = say("the bus shows {cards}, and no driver shows any of them here", cards=hidden)
        said = say("{cards}; {found}; {rest}", cards=cards, found=found, rest=_rest(result))
        return Line(said=said, tone="warn")
    return Line(said=say("{found}; {rest}", found=found, rest=_rest(result)), tone=tone)


def _rest(result: Examined) -> Sentence:
    """How much was looked at."""
    count = len(result.checked)
    told = {
        "checks": say("1 check") if count == 1 else say("{count} checks", count=count),
        "seconds": f"{result.seconds:.1f}",
        "fine": result.count(Fine),
        "unseen": result.count(NotSeen),
    }
    if not told["unseen"]:
        return say("{checks} in {seconds} s: {fine} passed", **told)
    return say("{checks} in {seconds} s: {fine} passed, {unseen} not checked", **told)


def _overview(found: tuple[Group, ...]) -> Table:
    """Every finding in a line, where there are several."""
    return Table(
        columns=(*_BLANK[:1], Column(head="", flexible=True), Column(head="", flexible=True)),
        rows=tuple((_SEVERITIES[one.first.severity], one.about, one.first.title) for one in found),
        tones=tuple(_TONES[one.first.severity] for one in found),
    )


def _count(severity: str, count: int) -> Sentence | None:
    if not count:
        return None
    return {
        "fault": say("1 fault") if count == 1 else say("{count} faults", count=count),
        "warning": say("1 warning") if count == 1 else say("{count} warnings", count=count),
        "note": say("1 note") if count == 1 else say("{count} notes", count=count),
    }[severity]


def _finding(group: Group, *, by_root: bool, why: bool) -> Iterator[Part]:
    """A finding in full."""
    first = group.first
    title = say("{about}: {title}", about=group.about, title=first.title) if group.about else first.title
    yield Line(said=title, tone=_TONES[first.severity], apart=True)
    manual = _manual(group.check) if why else ()
    yield Table(columns=_BLANK, rows=(*_rows(group, by_root=by_root), *manual))


def _rows(group: Group, *, by_root: bool) -> Iterator[tuple[Shown, Shown]]:
    first = group.first
    yield from _seen(group, by_root=by_root)
    yield say("why it matters"), first.why
    for place, step in enumerate(first.fix, 1):
        many = len(first.fix) > 1
        yield say("fix") if place == 1 else "", _step(step, place=place if many else None)
        if step.command:
            yield "", f"$ {typed(step.command, needs_root=step.as_root, by_root=by_root)}"
    if first.verify:
        yield say("verify"), f"$ {typed(first.verify, by_root=by_root)}"
    if first.confidence in _SURE:
        yield say("sure?"), _SURE[first.confidence]
    yield say("check"), group.check


def _manual(check: str) -> tuple[tuple[Shown, Shown], ...]:
    """What the check goes by: a paragraph of its manual a row."""
    told = (" ".join(one.split()) for one in manual_of(check).split("\n\n"))
    return tuple((say("manual") if not place else "", one) for place, one in enumerate(told))


def _seen(group: Group, *, by_root: bool) -> Iterator[tuple[Shown, Shown]]:
    """Evidence, each command once."""
    shown = list(dict.fromkeys((one.about, item) for one in group.findings for item in one.evidence))
    commands: dict[str, None] = {}
    for place, (about, item) in enumerate(shown[:MOST_EVIDENCE]):
        many = len(group.findings) > 1 and about
        told = say("{about}: {title}", about=about, title=item.shows) if many else item.shows
        yield say("seen") if not place else "", told
        if item.command:
            commands[item.command] = None
    if len(shown) > MOST_EVIDENCE:
        yield "", say("and {count} more", count=len(shown) - MOST_EVIDENCE)
    yield from (("", f"$ {typed(command, by_root=by_root)}") for command in list(commands)[:MOST_EVIDENCE])


def _step(step: Step, *, place: int | None) -> Shown:
    said: Shown = say("{says} (stops what runs)", says=step.says) if step.disturbs else step.says
    return said if place is None else say("{place}. {says}", place=place, says=said)


def _note(group: Group) -> Shown:
    title = group.first.title
    return say("{about}: {title}", about=group.about, title=title) if group.about else title


def _unseen(found: tuple[Blind, ...], machine: Machine) -> Table:
    """What could not be looked at, with what would show it."""
    rows: list[tuple[Shown, Shown]] = []
    for one in found:
        titles, see = with_commas(one.titles), one.see or ""
        if of_host(see, machine):
            rows.append(("-", say("{titles} ({why}); on the host:", titles=titles, why=one.why)))
            rows.append(("", f"$ {see}"))
            continue
        rows.append(("-", say("{titles} ({why})", titles=titles, why=one.why)))
        rows += [("", f"$ {typed(see, by_root=is_root(machine))}")] if see else []
    dim: Tone = "dim"
    return Table(title=say("not observed"), columns=_BLANK, rows=tuple(rows), tones=(dim,) * len(rows))


def _not_there(result: Examined) -> Iterator[Shown]:
    """What a capture does not hold, in a line or two: what was read, what would show the rest."""
    machine = result.case.machine
    unseen = [one for checked in result.checked for one in checked.verdicts if isinstance(one, NotSeen)]
    yield from understood(machine)
    missing = [one for one in unseen if not one.idle]
    commands = Counter(one.see.partition(" |")[0] for one in missing if one.see)
    if missing:
        shown = ", ".join(f"`{command}`" for command, _ in commands.most_common(MOST_COMMANDS))
        told = say("1 check") if len(missing) == 1 else say("{count} checks", count=len(missing))
        yield say("not in this file: {checks}, listed by --all; see {commands}", checks=told, commands=shown)
    idle = len(unseen) - len(missing)
    if idle:
        yield say("idle when captured: clocks and links are judged under load")


def plain(result: Examined, language: str, *, why: bool = False) -> dict[str, Any]:
    """Everything, for scripts."""
    wanted = result.case.wanted
    return {
        "machine": tell(machine_name(result.case.machine), language),
        "origin": result.case.machine.origin,
        "read_as": list(result.case.machine.read_as),
        "unread": list(result.case.machine.unread),
        "exit_code": result.exit_code,
        "verdict": tell(_verdict(result).said, language),
        "chips": [None if chip is None else chip.id for chip in result.case.chips],
        "wanted": None if wanted is None else asdict(wanted),
        "causes": [judged(one, language) for one in conclude(result).bad],
        "findings": [_plain_finding(check, one, why=why) for check, one in result.findings],
        "fine": [
            {"check": checked.check, "about": one.about, "says": one.says} for checked, one in fine(result)
        ],
        "not_observed": [
            {"check": checked.check, "about": one.about, "why": one.why, "see": one.see}
            for checked in result.checked
            for one in checked.verdicts
            if isinstance(one, NotSeen)
        ],
        "checks": [
            {
                "check": one.check,
                "group": group_of(one.check),
                "title": one.title,
                "verdicts": len(one.verdicts),
                "seconds": round(one.seconds, 6),
            }
            for one in result.checked
        ],
        "seconds": round(result.seconds, 3),
    }


def _plain_finding(check: str, one: Finding, *, why: bool) -> dict[str, Any]:
    return {
        "check": check,
        "severity": one.severity,
        "confidence": one.confidence,
        "about": one.about,
        "title": one.title,
        "evidence": [{"shows": item.shows, "command": item.command} for item in one.evidence],
        "why": one.why,
        "fix": [
            {"says": step.says, "command": step.command, "as_root": step.as_root, "disturbs": step.disturbs}
            for step in one.fix
        ],
        "verify": one.verify,
        **({"manual": manual_of(check)} if why else {}),
    }
