"""One cause of the judgement, told the same by every verb."""

from __future__ import annotations

from rigright.base.words import Sentence, say
from rigright.doctor.binding.judgement import JudgedCause


def first_of(lead: JudgedCause) -> Sentence:
    """What to mend before anything else."""
    if not lead.about:
        return say("fix first: {title}", title=lead.finding.title)
    return say("fix first: {title} ({about})", title=lead.finding.title, about=", ".join(sorted(lead.about)))
