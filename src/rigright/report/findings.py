"""What a doctor said, ordered for people: findings alike as one, what was not seen by its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rigright.base.page import Tone, grouped
from rigright.base.words import Sentence, say
from rigright.doctor.binding.judgement import in_order
from rigright.doctor.examine import Examined
from rigright.doctor.record import Checked, Finding, Fine, NotSeen

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
