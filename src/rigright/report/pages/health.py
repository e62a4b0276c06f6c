"""The page of `fleet health`: one line for a log, the findings below it."""

from __future__ import annotations

from rigright.base import telling
from rigright.base.page import Line, Page, Part, Points, Tone
from rigright.base.words import say
from rigright.doctor.examine import EXIT_FAULT
from rigright.verbs.fleet.nodes import NodeHealth


def page(health: NodeHealth) -> Page:
    """The page for people and logs."""
    done, reason = health.done, health.reason
    findings = [finding for _, finding in health.findings if finding.severity != "note"]
    tone: Tone = "bad" if health.exit_code == EXIT_FAULT else "warn" if findings else "good"
    parts: list[Part] = []
    if done == "drained":
        parts.append(Line.bad(say("drained in Slurm: {reason}", reason=reason)))
    elif done == "drained before":
        parts.append(Line.warn(say("already drained in Slurm; reason unchanged")))
    elif reason is not None:
        parts.append(
            Line(text=say("still schedulable; --drain would drain it: {reason}", reason=reason), tone=tone)
        )
    sentences = tuple(
        say("{about}: {title}", about=finding.about, title=finding.title) if finding.about else finding.title
        for finding in findings
    )
    if not sentences:
        verdict = say("no faults or warnings")
    else:
        verdict = (
            sentences[0]
            if len(sentences) == 1
            else say("{told} (and {more} more)", told=sentences[0], more=len(sentences) - 1)
        )
        parts.append(Points.of(sentences, tone=tone))
    return Page.of(say("{about}: {title}", about=health.node, title=verdict), parts, tone=tone)


plain = telling.RecordPrinter(NodeHealth)
