"""What the doctor says by the names of data/advice, so that a better word changes no test."""

from __future__ import annotations

from rigright.base.words import Sentence
from rigright.doctor.advice import SHARED, _row
from rigright.doctor.record import Finding


def titled(finding: Finding, name: str) -> bool:
    """Whether a finding bears the title of this advice ("subject.finding")."""
    return finding.title.text == _row(*name.split("."))["title"][0]


def steps(finding: Finding) -> list[str]:
    """Its steps, those that many findings share by their names, the others by their commands."""
    named = {_row(SHARED, name).get("en"): name for name in _names()}
    return [named.get(one.says.text, one.command or "") for one in finding.fix]


def value(sentence: Sentence | str | None, name: str) -> object:
    """What a sentence was filled with; None where it names no such thing."""
    return dict(getattr(sentence, "values", ())).get(name)


def _names() -> list[str]:
    from rigright.doctor.advice import subject_of

    return [name for name, row in subject_of(SHARED).items() if isinstance(row, dict)]


def filled(*sentences: object) -> set[str]:
    """All that sentences were filled with, those inside them included."""
    found: set[str] = set()
    for sentence in sentences:
        for _, one in getattr(sentence, "values", ()):
            found |= {str(one)} | filled(one)
    return found
