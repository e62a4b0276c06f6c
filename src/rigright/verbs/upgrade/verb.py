"""Ranks changes to a machine by what they bring for the money."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from rigright.base import everyday, shelf
from rigright.base.errors import AskError
from rigright.base.words import Sentence, say
from rigright.build.change import LEAST_GAIN, Worth, gain, ranked
from rigright.doctor.binding.causes import causes
from rigright.doctor.binding.judgement import conclude
from rigright.doctor.binding.record import FULL, WORKING
from rigright.doctor.examine import case_of, examine
from rigright.doctor.record import CheckInput
from rigright.verbs.clock import today
from rigright.verbs.diagnose import diagnose, in_file
from rigright.verbs.diagnosed import BottleneckReport
from rigright.verbs.last_results import results_of
from rigright.verbs.probe import probe
from rigright.verbs.upgrade.standing import standing_of
from rigright.verbs.upgrade.upgraded import CauseHelp, Upgraded, waves

CHANGES = "rigright.build.changes"
MOST_SHOWN = 8
MOST_OF_A_KIND = 2
MOST_MACHINES = 100_000
_SHARE = re.compile(r"([^=\d]+)=(\d{1,3}(?:\.\d+)?)%?")

Progress = Callable[[float, float], None]


def upgrade(
    source: str | None = None,
    *,
    bound: str | None = None,
    machines: int = 1,
    budget_usd: float | None = None,
    room: str | None = None,
    progress: Progress | None = None,
) -> Upgraded:
    """What to change first on this machine, or on one read from a file."""
    if not 1 <= machines <= MOST_MACHINES:
        raise AskError(
            say(
                "{count} is not a valid number of machines; use 1 to {most}",
                count=machines,
                most=MOST_MACHINES,
            )
        )
    machine = probe(source)
    case = case_of(machine, results=results_of(machine) if source is None else ())
    if bound is not None:
        diagnosed = None
    else:
        diagnosed = diagnose(progress=progress) if source is None else in_file(case)
    at_s = None if source is None else machine.system.now_s
    result = upgraded(
        case,
        diagnosed=diagnosed,
        shares=None if bound is None else read_shares(bound),
        machines=machines,
        budget_usd=budget_usd,
        room=room,
    )
    age = None if at_s is None else (today() - datetime.fromtimestamp(at_s, UTC).date()).days
    return replace(result, recorded_days_ago=age)


def upgraded(
    case: CheckInput,
    *,
    diagnosed: BottleneckReport | None = None,
    shares: dict[str, float] | None = None,
    machines: int = 1,
    budget_usd: float | None = None,
    room: str | None = None,
) -> Upgraded:
    """Changes to one machine, by what was diagnosed or by shares that were stated."""
    from rigright.verbs.ordering import read_room  # with the planner

    if shares is None:
        bounds = () if diagnosed is None else diagnosed.diagnosis.bounds
        shares = {bound.cause.name: bound.share for bound in bounds}
    judgement = conclude(examine(case)) if diagnosed is None else diagnosed.judgement
    standing = replace(standing_of(case, today()), room=None if room is None else read_room(room))
    changes = [change for propose in shelf.load(CHANGES, "propose").values() for change in propose(standing)]
    full = frozenset(name for name, share in shares.items() if share >= FULL)
    every = ranked(changes, shares, full=full if diagnosed is None else diagnosed.diagnosis.full)
    cheap = tuple(
        item
        for item in every
        if budget_usd is None or item.change.usd is None or item.change.usd.value * machines <= budget_usd
    )
    titles = {cause.name: cause.title for cause in causes()}
    # where nothing ran: the first change for each thing that accelerators work on, should that one bind
    each: dict[tuple[Sentence, float], tuple[Worth, list[Sentence]]] = {}
    for cause in causes() if case.machine.devices and not shares else ():
        for best in ranked(changes, {cause.name: 1.0})[:1] if cause.side == WORKING else ():
            each.setdefault((best.change.title, best.gain), (best, []))[1].append(cause.title)
    # the best of each kind before the rest: ten cards alike help nobody to choose
    kept: list[Worth] = []
    counts: dict[str, int] = {}
    for worth in cheap:
        counts[worth.change.kind] = counts.get(worth.change.kind, 0) + 1
        if counts[worth.change.kind] <= MOST_OF_A_KIND and len(kept) < MOST_SHOWN:
            kept.append(worth)
    return Upgraded(
        machines=machines,
        baseline=len(case.results),
        cause_rows=tuple((name, titles[name], share) for name, share in shares.items()),
        diagnosed=diagnosed,
        judgement=judgement,
        changes=tuple(kept),
        by_cause=tuple(CauseHelp(tuple(binding), best) for best, binding in each.values()),
        refused=tuple(
            value for value in changes if not value.possible and gain(shares, value.helps) >= LEAST_GAIN
        )[:MOST_OF_A_KIND],
        over_budget=len(every) - len(cheap),
        waves=waves(machines),
        cut=case.machine.cut,
    )


def read_shares(text: str) -> dict[str, float]:
    """Read "disk=60%,compute=40%"; a cause alone is all of the time."""
    known = {cause.name: cause.title for cause in causes()}
    fields: dict[str, float] = {}
    for piece in text.split(","):
        stated = piece.strip().lower() if "=" in piece else f"{piece.strip().lower()}=100"
        match = _SHARE.fullmatch(stated)
        name = everyday.named("bound", match.group(1).strip()).replace(" ", "_") if match else ""
        if match is None or name not in known:
            raise AskError(
                say(
                    'cannot read "{text}" as shares of causes; causes: {known}',
                    text=piece.strip(),
                    known=", ".join(known),
                )
            )
        fields[name] = float(match.group(2)) / 100
    if sum(fields.values()) > 1.0 + 1e-9:
        raise AskError(say('the shares in "{text}" add up to more than 100 %', text=text))
    return fields
