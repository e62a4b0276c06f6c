"""The page of `fleet health`: one line for a log, the findings below it."""

from __future__ import annotations

from typing import Any

from rigright.base.words import say
from rigright.doctor.examine import EXIT_FAULT, Examined
from rigright.report.page import Line, Page, Part, Points, Tone


def page(node: str, examined: Examined, *, done: str, reason: str | None) -> Page:
    """The page for people and logs."""
    findings = [one for _, one in examined.findings if one.severity != "note"]
    tone: Tone = "bad" if examined.exit_code == EXIT_FAULT else "warn" if findings else "good"
    parts: list[Part] = []
    if done == "drained":
        parts.append(Line(said=say("drained in Slurm: {reason}", reason=reason), tone="bad"))
    elif done == "drained before":
        parts.append(Line(said=say("already drained in Slurm; its reason is kept"), tone="warn"))
    elif reason is not None:
        parts.append(
            Line(said=say("still schedulable; --drain would drain it: {reason}", reason=reason), tone=tone)
        )
    told = tuple(
        say("{about}: {title}", about=one.about, title=one.title) if one.about else one.title
        for one in findings
    )
    if not told:
        verdict = say("no faults or warnings")
    else:
        verdict = (
            told[0] if len(told) == 1 else say("{told} (and {more} more)", told=told[0], more=len(told) - 1)
        )
        parts.append(Points(items=told, tone=tone))
    return Page(title=say("{about}: {title}", about=node, title=verdict), tone=tone, parts=tuple(parts))


def plain(node: str, examined: Examined, *, done: str, reason: str | None) -> dict[str, Any]:
    """The same for scripts."""
    return {
        "node": node,
        "exit_code": examined.exit_code,
        "done": done,
        "reason": reason,
        "findings": [
            {
                "check": check,
                "severity": one.severity,
                "confidence": one.confidence,
                "about": one.about,
                "title": one.title,
            }
            for check, one in examined.findings
        ],
    }
