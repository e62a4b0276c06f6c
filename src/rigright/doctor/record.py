"""What a check says: fine, a finding, or not observed. Three different things."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from rigright.base.plugins import Plugin
from rigright.base.record import Flat, Inner, derived
from rigright.base.words import LANGUAGES, Sentence, tell
from rigright.doctor.baseline import Baseline
from rigright.facts.chips import Chip
from rigright.facts.launching import FlagCheck
from rigright.machine.bench.record import Result
from rigright.machine.device import Device
from rigright.machine.record import Machine

Severity = Literal["note", "warning", "fault"]
Confidence = Literal["sure", "likely", "maybe"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was seen, and the command that shows it."""

    shows: Sentence | str
    command: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a fix: a sentence, and a command where one does it."""

    says: Sentence
    command: str | None = None
    as_root: bool = False
    disturbs: bool = False  # stops work that runs: a reset, a reboot
    takes: tuple[
        str, ...
    ] = ()  # causes of data/binding.toml of which it takes more: no help where they are full


def seen(shows: Sentence | str, command: str | None = None) -> tuple[Evidence, ...]:
    """All the evidence, where it is one thing."""
    return (Evidence(shows=shows, command=command),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something wrong, slow or risky."""

    severity: Severity
    title: Sentence
    evidence: tuple[Evidence, ...]
    why: Sentence  # it matters for this machine and plan
    fix: tuple[Step, ...]
    verify: str | None = None  # a command that shows it is mended; mostly what showed it first
    confidence: Confidence = "sure"
    about: str | None = None  # "gpu 3", "nvme0n1"

    def __post_init__(self) -> None:
        """Where no command verifies it, the one that showed it does."""
        if self.verify is None and self.evidence:
            object.__setattr__(self, "verify", self.evidence[0].command)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fine:
    """Looked at, and good."""

    says: Sentence
    about: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSeen:
    """Could not be looked at."""

    why: Sentence
    see: str | None = None  # what would show it
    about: str | None = None
    idle: bool = False  # it was looked at, and says nothing while the card rests


Verdict = Finding | Fine | NotSeen


class CheckFinding(NamedTuple):
    """A finding with its check."""

    check: str
    finding: Flat[Finding]


class CheckFine(NamedTuple):
    """What is good, with its check."""

    check: str
    fine: Flat[Fine]


class CheckNotSeen(NamedTuple):
    """What could not be looked at, with its check."""

    check: str
    not_seen: Flat[NotSeen]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a plan expects of the machine."""

    chips: tuple[str, ...] = ()  # ids, one a card
    engine: str | None = None
    engine_version: str | None = None
    weights: str | None = None  # a format
    tp: int = 1  # cards that exchange at every layer
    training: bool = False
    servers: tuple[tuple[int, tuple[FlagCheck, ...]], ...] = ()  # that run here: process id, flags
    target: str = ""  # of `export`: the program of the plan
    file: str = ""  # that holds the plan


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckInput:
    """All a check may look at. It yields no verdict where the check does not concern the machine."""

    machine: Machine
    chips: tuple[Chip | None, ...] = ()  # what each device is, in the order of machine.devices
    results: tuple[Result, ...] = ()  # the last benchmarks, where there are any
    wanted: Wanted | None = None
    baseline: Baseline | None = None  # what nodes of this type should be like
    before: Machine | None = None  # the same machine at an earlier time: for what grows
    whole: dict[int, tuple[Device, Chip | None]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Cards that are not cut, by number; a number of one that is cut is one of its parts."""
        pairs = zip(self.machine.devices, self.chips, strict=False)
        object.__setattr__(
            self, "whole", {device.index: (device, chip) for device, chip in pairs if not device.slices}
        )

    @property
    def pairs(self) -> tuple[tuple[Device, Chip | None], ...]:
        """Every device with its chip."""
        return tuple(zip(self.machine.devices, self.chips, strict=True))

    @property
    def is_fragment(self) -> bool:
        """Whether a text shows neither cards nor the bus, so that what it does show was meant."""
        return self.machine.is_capture and not self.machine.devices and not self.machine.pci

    def gap(self, what: str) -> NotSeen | None:
        """What the probe says it could not read of a part, with what would show it."""
        gaps = (item for item in self.machine.unseen if item.what == what)
        return next((NotSeen(why=item.why, see=item.see) for item in gaps), None)


Look = Callable[[CheckInput], Iterator[Verdict]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check: its name, what it answers, how it looks. Its manual is the docstring."""

    name: str
    title: Sentence
    look: Look
    plugin: Plugin | None = None  # that brings it

    def __call__(self, case: CheckInput) -> Iterator[Verdict]:
        """What it says of a case."""
        return self.look(case)

    @property
    def manual(self) -> str:
        """What it looks at, why it matters, its thresholds and their sources."""
        return inspect.getdoc(self.look) or ""


def check(title: Sentence) -> Callable[[Look], Check]:
    """Make a function of a subject's file a check; it is called as the function is."""
    return lambda look: Check(name=look.__name__, title=title, look=look)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One check and what it said."""

    check: str  # its name
    title: Sentence
    verdicts: Inner[tuple[Verdict, ...]]
    seconds: float = 0.0

    @derived
    def n_verdicts(self) -> int:
        """How many things it said."""
        return len(self.verdicts)


def is_sound(verdict: Verdict) -> bool:
    """Whether each part of a verdict is what it should be, and can be said in both languages."""
    values: list[object]
    plain: list[object]
    if isinstance(verdict, Finding):
        evidence, steps = verdict.evidence, verdict.fix
        if not (
            isinstance(evidence, tuple)
            and isinstance(steps, tuple)
            and all(isinstance(item, Evidence) for item in evidence)
            and all(isinstance(step, Step) for step in steps)
            and verdict.severity in get_args(Severity)
            and verdict.confidence in get_args(Confidence)
        ):
            return False
        values = [
            verdict.title,
            verdict.why,
            *(item.shows for item in evidence),
            *(step.says for step in steps),
        ]
        plain = [
            verdict.verify,
            verdict.about,
            *(item.command for item in evidence),
            *(step.command for step in steps),
        ]
    elif isinstance(verdict, Fine):
        values, plain = [verdict.says], [verdict.about]
    else:
        values, plain = [verdict.why], [verdict.see, verdict.about]
    flag = all(
        isinstance(value, Sentence | str) and all(tell(value, to) for to in LANGUAGES) for value in values
    )
    return flag and all(isinstance(value, str | None) for value in plain)
