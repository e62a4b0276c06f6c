"""What a doctor said, ordered for people: findings alike as one, what was not seen by its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rigright.base.words import Sentence
from rigright.doctor.examine import Examined
from rigright.doctor.record import Checked, Finding, Fine, NotSeen


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
        return ", ".join(dict.fromkeys(one.about for one in self.findings if one.about))


@dataclass(frozen=True, slots=True, kw_only=True)
class Blind:
    """What was not seen for one and the same reason."""

    titles: tuple[Sentence, ...]
    why: Sentence
    see: str | None


def groups(examined: Examined) -> tuple[FindingGroup, ...]:
    """Findings of one check that say the same and are mended the same, worst first."""
    found: dict[tuple[object, ...], list[Finding]] = {}
    for check, finding in examined.findings:
        same = (check, finding.severity, str(finding.title), tuple(step.says.text for step in finding.fix))
        found.setdefault(same, []).append(finding)
    return tuple(FindingGroup(check=str(key[0]), findings=tuple(ones)) for key, ones in found.items())


def blind(examined: Examined) -> tuple[Blind, ...]:
    """What was not seen, by why; one command speaks for all cards."""
    firsts: dict[tuple[str, str], tuple[Checked, NotSeen]] = {}
    for checked, one in _of_kind(examined.checks, NotSeen):
        if isinstance(one, NotSeen):
            firsts.setdefault((checked.check, _kind_of(one.why)), (checked, one))
    found: dict[tuple[str, str | None], tuple[Sentence, dict[str, Sentence]]] = {}
    for checked, one in firsts.values():
        _, titles = found.setdefault((_kind_of(one.why), one.see), (one.why, {}))
        titles[checked.check] = checked.title
    told = [
        Blind(titles=tuple(titles.values()), why=why, see=see) for (_, see), (why, titles) in found.items()
    ]
    return tuple(sorted(told, key=lambda one: (one.see is None, -len(one.titles))))


def _kind_of(why: Sentence) -> str:
    """What reasons have in common: the template, but where that is all value."""
    return str(why) if why.text.startswith("{") and " " not in why.text else why.text


def fine(examined: Examined) -> Iterator[tuple[Checked, Fine]]:
    """Everything that was looked at and is good."""
    for checked, one in _of_kind(examined.checks, Fine):
        if isinstance(one, Fine):
            yield checked, one


def _of_kind(every: Iterable[Checked], kind: type) -> Iterator[tuple[Checked, object]]:
    return ((checked, one) for checked in every for one in checked.verdicts if isinstance(one, kind))
