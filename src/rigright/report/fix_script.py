"""The fixes of a diagnosis as a shell script for a person to read: every command in it is commented out."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, clean, say, tell
from rigright.doctor.examine import Examined
from rigright.doctor.record import Finding, Step
from rigright.report.findings import SEVERITIES, groups
from rigright.report.named import machine_name
from rigright.report.screen import wrap
from rigright.report.typed import typed

_WIDE = 96
_HEAD = (
    say("Nothing in this file is active: running it does nothing."),
    say("Read each step, then uncomment its command or type it yourself."),
    say("Steps marked [root] need root; steps marked [stops work] interrupt running jobs."),
)


def script(examined: Examined, language: str) -> str:
    """The whole file."""
    lines = ["#!/usr/bin/env bash"]
    lines += _remark(say("Fixes for {machine}", machine=machine_name(examined.case.machine)), language)
    lines += [line for sentence in _HEAD for line in _remark(sentence, language)]
    lines += ["set -euo pipefail", ""]
    finding_groups = [group for group in groups(examined) if group.first.fix]
    if not finding_groups:
        lines += _remark(say("Nothing to fix."), language)
    for place, group in enumerate(finding_groups, 1):
        # one finding: what it is, why it matters, then its steps
        by_root = examined.case.machine.typed_by_root
        group_found: list[str] = []
        first = group.first
        title = say("{place}. {says}", place=place, says=first.title)
        group_found.append("# " + "-" * _WIDE)
        group_found.extend(_remark(title, language))
        if group.about:
            group_found.extend(_remark(say("about: {things}", things=group.about), language))
        severity = say("severity: {severity}", severity=SEVERITIES[first.severity])
        group_found.extend(_remark(severity, language))
        group_found.extend(_remark(say("why: {why}", why=first.why), language))
        for finding in group.findings:
            group_found.append("#")
            if len(group.findings) > 1 and finding.about:
                group_found.extend(_remark(say("{about}:", about=finding.about), language))
            group_found.extend(_steps(finding, language=language, by_root=by_root))
        if first.verify:
            group_found.extend(_remark(say("to verify:"), language))
            group_found.extend(_off(typed(first.verify, by_root=by_root)))
        lines += [*group_found, ""]
    return "\n".join(lines).rstrip() + "\n"


def _steps(finding: Finding, *, language: str, by_root: bool) -> Iterator[str]:
    for step in finding.fix:
        yield from _remark(say("- {says}{marks}", says=step.says, marks=_marks(step, language)), language)
        if step.command:
            yield from _off(typed(step.command, needs_root=step.as_root, by_root=by_root))


def _marks(step: Step, language: str) -> str:
    marks = [*([say("[root]")] if step.as_root else []), *([say("[stops work]")] if step.disturbs else [])]
    return "".join(f" {tell(mark, language)}" for mark in marks)


def _remark(sentence: Sentence, language: str) -> Iterator[str]:
    """A sentence as comments; nothing in it can leave them."""
    return (f"# {line}" for line in wrap(clean(tell(sentence, language)), _WIDE))


def _off(command: str) -> Iterator[str]:
    """A command, commented out to its last line."""
    return (f"#   {clean(line)}" for line in command.splitlines())
