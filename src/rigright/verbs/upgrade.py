"""Ranks changes to a machine by what they bring for the money; what stands there, and the answer."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import NamedTuple

from rigright.base import everyday, shelf
from rigright.base.errors import AskError
from rigright.base.record import Flat, Inner, Pairs, derived
from rigright.base.words import Sentence, say
from rigright.build.change import LEAST_GAIN, Change, Standing, Worth, gain, ranked
from rigright.doctor.binding.causes import causes
from rigright.doctor.binding.judgement import JudgedCause, Judgement, conclude
from rigright.doctor.binding.record import FULL, WORKING
from rigright.doctor.examine import case_of, examine, exit_of
from rigright.doctor.nic import fastest_port
from rigright.doctor.record import CheckFinding, CheckInput
from rigright.facts.cpus import cpus
from rigright.machine.bench.record import disk_bytes_per_s
from rigright.machine.host import Slot
from rigright.verbs.diagnose import BottleneckReport, diagnose, in_file
from rigright.verbs.own import today
from rigright.verbs.probe import probe, results_of

OLD_DAYS = 7  # from which a recording may no longer be what stands there
_SHARES = (0.05, 0.25, 1.0)  # of the machines that have a change after each wave; one machine comes first


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """Machines that get a change together, counted from one."""

    first: int
    last: int

    @property
    def count(self) -> int:
        """How many."""
        return self.last - self.first + 1


def waves(n_machines: int) -> tuple[Wave, ...]:
    """How a change is rolled out: one machine first, then waves that grow, each proven before the next."""
    done, result = 0, []
    for total in (1, *(math.ceil(share * n_machines) for share in _SHARES)):
        if total > done:
            result.append(Wave(first=done + 1, last=total))
            done = total
    return tuple(result)


class CauseHelp(NamedTuple):
    """What helps first where these bind."""

    causes: tuple[Sentence, ...]
    change: Flat[Worth]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgraded:
    """The five stages: baseline, bottleneck, does it fit, cost, roll-out."""

    machines: int
    baseline: int  # benchmarks in the history
    cause_rows: Inner[tuple[tuple[str, Sentence, float], ...]]  # cause, its title, its share of the time
    diagnosed: Inner[BottleneckReport | None]  # None: the shares were given
    judgement: Inner[Judgement]  # what to mend before anything is bought
    changes: tuple[Worth, ...]  # the first ones first
    by_cause: tuple[CauseHelp, ...]  # what helps first if these bind; nothing ran
    refused: tuple[Change, ...]  # what would help and does not fit
    over_budget: int
    waves: tuple[Wave, ...]
    currency: str = "USD"  # of every amount that is shown
    recorded_days_ago: int | None = None  # of the recording that was asked about; None: of now, or not stated
    cut: tuple[str, ...] = ()  # of the file that was asked about: what was read only in part

    @derived
    def findings(self) -> tuple[CheckFinding, ...]:
        """What to mend before anything is bought."""
        return tuple(CheckFinding(cause.check, cause.finding) for cause in self.judgement.bad)

    @property
    def is_snapshot(self) -> bool:
        """Whether it goes by one moment that a file shows."""
        return self.diagnosed is not None and self.diagnosed.is_snapshot

    @derived
    def shares(self) -> Pairs[str, float]:
        """What binds, and for which share of the time."""
        return tuple((name, share) for name, _, share in self.cause_rows)

    @derived
    def lead(self) -> JudgedCause | None:
        """What to mend before anything is changed."""
        return self.judgement.first

    @property
    def exit_code(self) -> int:
        """As of the doctor: by the worst that is to be mended first."""
        return exit_of(cause.severity for cause in self.judgement.bad)


_LEAST_CARD_LANES = 4


def standing_of(case: CheckInput, today: date) -> Standing:
    """What was observed of a machine; the rest stays unknown."""
    machine = case.machine
    modules = machine.memory.modules
    filled = [module for module in modules or () if module.size_bytes]
    empty = [module for module in modules or () if not module.size_bytes]
    kinds = {module.kind for module in filled if module.kind}
    shares = [
        item.power.limit_w / item.power.limit_default_w
        for item in machine.devices
        if item.power.limit_w and item.power.limit_default_w
    ]
    # the row of the table whose name stands in what the kernel calls it; the longest where several do
    text = _plain(machine.cpu.name or "")
    cpu_models = [cpu for cpu in cpus() if _plain(cpu.name) in text]
    return Standing(
        today=today,
        chips=tuple(chip for chip in case.chips if chip is not None),
        used_bytes=max((device.mem_used_bytes or 0.0 for device in machine.devices), default=None),
        slot_gen=min(
            (item.pcie.gen_max for item in machine.devices if item.pcie.gen_max is not None), default=None
        ),
        free_slots=None if machine.slots is None else tuple(_free(machine.slots)),
        supply_w=None,
        limit_share=min(shares, default=None),
        cpu=max(cpu_models, key=lambda cpu: len(cpu.name), default=None),
        sockets=machine.cpu.sockets,
        mem_bytes=machine.memory.total_bytes,
        mem_kind=next(iter(kinds)) if len(kinds) == 1 else None,
        mem_registered=None if not filled else any(module.ecc for module in filled),
        mem_places_free=None if modules is None else len(empty),
        disk_kinds=None if machine.disks is None else tuple(disk.kind for disk in machine.disks if disk.kind),
        disk_bytes_per_s=disk_bytes_per_s(case.results),
        net_bytes_per_s=fastest_port(machine),
    )


def _free(slots: Iterable[Slot]) -> Iterable[int]:
    for slot in slots:
        if slot.in_use is False and slot.lanes is not None and slot.lanes >= _LEAST_CARD_LANES:
            yield slot.lanes


def _plain(name: str) -> str:
    words = (
        name.replace("(R)", " ").replace("(TM)", " ").replace("(r)", " ").replace("(tm)", " ").lower().split()
    )
    return f" {' '.join(word for word in words if word not in {'cpu', 'processor'})} "


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
    case = case_of(machine, results=results_of(machine, source))
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
