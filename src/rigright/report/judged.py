"""One cause of the judgement, told the same by every verb."""

from __future__ import annotations

from typing import Any

from rigright.base.words import Sentence, say
from rigright.doctor.binding.judgement import JudgedCause
from rigright.machine.stored import plain as as_data


def first_of(lead: JudgedCause) -> Sentence:
    """What to mend before anything else."""
    if not lead.on:
        return say("fix first: {title}", title=lead.finding.title)
    return say("fix first: {title} ({about})", title=lead.finding.title, about=", ".join(sorted(lead.on)))


def judged(one: JudgedCause, language: str) -> dict[str, Any]:
    """One cause for scripts, the same for every verb."""
    return {
        "cause": one.row.name,
        "check": one.check,
        "about": sorted(one.on),
        "follows": [check for check, _ in one.follows],
        **{
            name: as_data(getattr(one.finding, name), language)
            for name in ("severity", "title", "evidence", "why", "fix")
        },
    }
