"""Walks the shelf of checks over one machine; a check that breaks is told of, and stays its own."""

from __future__ import annotations

import difflib
import importlib
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from itertools import islice, starmap
from typing import TypeVar

from rigright.base import shelf
from rigright.base.errors import AskError, DataError, RigError
from rigright.base.plugins import CHECKS as CHECKS_ADDED
from rigright.base.plugins import Plugin, each, is_free, loaded, run
from rigright.base.record import Inner, derived
from rigright.base.tables import DATA, read_rows, text
from rigright.base.words import say
from rigright.doctor.baseline import Baseline
from rigright.doctor.chains import joined
from rigright.doctor.elsewhere import for_machine
from rigright.doctor.recognise import chip_of
from rigright.doctor.record import (
    Check,
    Checked,
    CheckFinding,
    CheckFine,
    CheckInput,
    CheckNotSeen,
    Finding,
    Fine,
    NotSeen,
    Verdict,
    Wanted,
    is_sound,
)
from rigright.doctor.wires import hides_cards
from rigright.facts.chips import Chip
from rigright.machine.bench.record import Result
from rigright.machine.record import Machine

CHECKS = "rigright.doctor.checks"
EXIT_WARNING, EXIT_FAULT = 10, 20
RANKS = ("fault", "warning", "note")  # worst first
_SURE = ("sure", "likely", "maybe")
_OTHER, _PLUGINS = "other", "plugins"
MOST_SAID = 1000  # by one check of a plugin


def exit_of(severities: Iterable[str]) -> int:
    """The exit code of every verb that finds something wrong: by the worst; a note counts for nothing."""
    texts = set(severities)
    return EXIT_FAULT if "fault" in texts else EXIT_WARNING if "warning" in texts else 0


V = TypeVar("V", Finding, Fine, NotSeen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A machine and what every check said of it."""

    case: Inner[CheckInput]
    checks: tuple[Checked, ...]
    seconds: float = 0.0  # with the probe

    @derived
    def origin(self) -> str:
        """Live, or the file that was read."""
        return self.case.machine.origin

    @derived
    def read_as(self) -> tuple[str, ...]:
        """Of a capture: what was in it."""
        return self.case.machine.read_as

    @derived
    def unread(self) -> tuple[str, ...]:
        """Parts of it that could not be read."""
        return self.case.machine.unread

    @derived
    def chips(self) -> tuple[Chip | None, ...]:
        """What each device is."""
        return self.case.chips

    @derived
    def wanted(self) -> Wanted | None:
        """What the plan of `--for` expects."""
        return self.case.wanted

    def of_kind(self, kind: type[V]) -> tuple[tuple[str, V], ...]:
        """Each verdict of one kind with its check."""
        return tuple(
            (checked.check, finding)
            for checked in self.checks
            for finding in checked.verdicts
            if isinstance(finding, kind)
        )

    @derived
    def fine(self) -> tuple[CheckFine, ...]:
        """What was looked at and is good."""
        return tuple(starmap(CheckFine, self.of_kind(Fine)))

    @derived
    def not_observed(self) -> tuple[CheckNotSeen, ...]:
        """What could not be looked at."""
        return tuple(starmap(CheckNotSeen, self.of_kind(NotSeen)))

    @derived
    def findings(self) -> tuple[CheckFinding, ...]:
        """Each finding with its check: worst first."""
        rows = list(starmap(CheckFinding, self.of_kind(Finding)))
        rows.sort(key=lambda row: (RANKS.index(row[1].severity), _SURE.index(row[1].confidence)))
        return tuple(rows)

    @derived
    def exit_code(self) -> int:
        """By the worst finding; a note counts for nothing, cards that no driver lists as a warning."""
        code = exit_of(finding.severity for _, finding in self.findings)
        return code or (EXIT_WARNING if self.hides_cards else 0)

    @property
    def hides_cards(self) -> bool:
        """Whether this machine has cards that could not be looked at; a file may leave them out."""
        return not self.case.machine.is_capture and hides_cards(self.case.machine)

    def count(self, kind: type[Finding | Fine | NotSeen]) -> int:
        """How many verdicts of one kind there are."""
        return sum(isinstance(finding, kind) for checked in self.checks for finding in checked.verdicts)


@cache
def checks() -> Mapping[str, Check]:
    """Every check of every subject, by name."""
    result: dict[str, Check] = {}
    for subject in shelf.names(CHECKS):
        module = importlib.import_module(f"{CHECKS}.{subject}")
        result |= {var.name: var for var in vars(module).values() if isinstance(var, Check)}
    return dict(sorted(result.items())) | _of_plugins(set(result))


def _of_plugins(known: set[str]) -> dict[str, Check]:
    """Checks that plugins add, behind ours; none in the place of one that is there."""

    def take(plugin: Plugin) -> list[Check]:
        borne = [var for var in vars(loaded(plugin)).values() if isinstance(var, Check)]
        if not borne:
            raise DataError(say("{module} has no check", module=plugin.point.module))
        return borne

    checks: dict[str, Check] = {}
    for plugin, check in each(CHECKS_ADDED, say("its checks are"), take=take):
        if is_free(check.name, {*known, *checks}, plugin=plugin, what=say("its check is")):
            title = say("{title} (plugin {plugin})", title=check.title, plugin=plugin)
            checks[check.name] = replace(check, title=title, plugin=plugin)
    return checks


def case_of(
    machine: Machine,
    *,
    results: tuple[Result, ...] = (),
    wanted: Wanted | None = None,
    baseline: Baseline | None = None,
    before: Machine | None = None,
) -> CheckInput:
    """All that checks may look at, each device with the chip it is."""
    chips = tuple(chip_of(device) for device in machine.devices)
    return CheckInput(
        machine=machine, chips=chips, results=results, wanted=wanted, baseline=baseline, before=before
    )


def examine(case: CheckInput, only: tuple[str, ...] = ()) -> Examined:
    """Every check, or those asked for."""
    start = time.perf_counter()
    checked = joined(case, tuple(_one(checks()[name], case) for name in chosen(only)))
    return Examined(case=case, checks=checked, seconds=time.perf_counter() - start)


def chosen(only: tuple[str, ...]) -> tuple[str, ...]:
    """The names of checks that words mean: a name, a group, or a pattern such as nvlink*."""
    known = tuple(checks())
    if not only:
        return known
    names: dict[str, None] = {}
    for word in only:
        wanted = word.strip().lower().replace("-", "_")
        meant = [name for name in known if _is_meant(name, wanted)]
        if not meant:
            raise _unknown(word, known)
        names |= dict.fromkeys(meant)
    return tuple(name for name in known if name in names)


def _is_meant(name: str, wanted: str) -> bool:
    """Whether a word means a check: its name, its beginning, its group, or a pattern."""
    return name.startswith(wanted + "_") or group_of(name) == wanted or fnmatchcase(name, wanted)


def _unknown(word: str, known: tuple[str, ...]) -> AskError:
    groups = sorted(Counter(map(group_of, known)))
    near = difflib.get_close_matches(word[:40], [*known, *groups], n=3) or groups
    return AskError(
        say(
            'unknown check or group "{name}"; did you mean {near}? `rigright look-up checks` lists all',
            name=word,
            near=", ".join(near),
        )
    )


def _one(check: Check, case: CheckInput) -> Checked:
    """What one check says, and how long it thought."""
    start = time.perf_counter()
    verdicts: list[Verdict] = []
    try:
        findings = check(case) if check.plugin is None else _by_plugin(check, case)
        stated = (for_machine(finding, case.machine) for finding in findings)
        verdicts.extend(finding for finding in stated if finding is not None)
    except Exception as error:  # noqa: BLE001 - a check that breaks hides no other
        why = error.sentence if isinstance(error, RigError) else f"{type(error).__name__}: {error}"
        verdicts.append(NotSeen(why=say("the check itself failed: {why}", why=why)))
    seconds = time.perf_counter() - start
    return Checked(check=check.name, title=check.title, verdicts=tuple(verdicts), seconds=seconds)


def _by_plugin(check: Check, case: CheckInput) -> tuple[Verdict, ...]:
    """What a plugin's check says: all of it sound, and each finding says whose it is."""

    def sound() -> tuple[Verdict, ...]:
        findings = tuple(islice(check(case) or (), MOST_SAID))
        if not all(
            isinstance(finding, Finding | Fine | NotSeen) and is_sound(finding) for finding in findings
        ):
            raise DataError(say("it returned something that is not a verdict"))
        return findings

    return tuple(
        replace(finding, title=say("{title} (plugin {plugin})", title=finding.title, plugin=check.plugin))
        if isinstance(finding, Finding)
        else finding
        for finding in run(sound)
    )


@cache
def group_of(name: str) -> str:
    """The group a check belongs to: that of the longest beginning of its name in the table."""
    check = checks().get(name)
    if check is not None and check.plugin is not None:
        return _PLUGINS
    rows = _groups()
    fits = [start for start in rows if name == start or name.startswith(start + "_")]
    return rows[max(fits, key=len)] if fits else _OTHER


@cache
def _groups() -> dict[str, str]:
    columns = ("start", "group")
    rows = read_rows(DATA / "check_groups.csv", dict.fromkeys(columns, text), required=columns)
    fields = {row["start"]: row["group"] for row in rows}
    if len(fields) != len(rows):
        raise DataError(say("check_groups.csv: duplicate prefix"))
    return fields
