"""The one judgement: of all that was found, measured and watched, the causes in the order to act on them.

Doctor, diagnose, upgrade and fleet ask here and decide nothing of their own; alerts take their severities
from the same tables (data/xids.csv, data/slowdowns.csv). What was watched goes into the record of the machine
first (`watched`), so that the same checks judge a moment, an hour of history and a file. A finding that
follows from another on the same card (data/causes.toml) is told under it, and nothing is advised that takes
more of a thing that is full.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from rigright.base.record import Inner, derived
from rigright.base.tables import DATA, read_toml
from rigright.base.words import Sentence
from rigright.doctor.advice import label
from rigright.doctor.binding.record import Bound, Diagnosis
from rigright.doctor.examine import RANKS, Examined
from rigright.doctor.gpus import BUSY_SHARE, device_at, is_busy
from rigright.doctor.record import CheckFinding, CheckInput, Evidence, Finding, Severity, Step
from rigright.machine.device import Device
from rigright.machine.tick import DeviceTick, Tick

_LEAST_HELD = 0.2  # of the busy moments, for a reason to hold a card
_BAD = ("fault", "warning")


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseRow:
    """One row of data/causes.toml."""

    name: str
    checks: tuple[str, ...]
    binds: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    holds: bool = False
    mild: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCause:
    """One cause: what shows it, on what, what to do next, and what follows from it."""

    check: str
    finding: Inner[Finding]  # evidence, why and fix: the same wherever it is stated
    row: Inner[CauseRow]
    order: Inner[tuple[int, int]]  # where its check stands among causes
    about: frozenset[str]  # "gpu 3"; empty: the machine
    consequences: Inner[tuple[tuple[str, Finding], ...]] = ()

    @derived
    def cause(self) -> str:
        """Its name in the table of causes."""
        return self.row.name

    @derived
    def severity(self) -> Severity:
        """How bad it is."""
        return self.finding.severity

    @derived
    def title(self) -> Sentence:
        """What is wrong."""
        return self.finding.title

    @derived
    def evidence(self) -> tuple[Evidence, ...]:
        """What shows it."""
        return self.finding.evidence

    @derived
    def why(self) -> Sentence:
        """It matters for this machine and plan."""
        return self.finding.why

    @derived
    def fix(self) -> tuple[Step, ...]:
        """What mends it."""
        return self.finding.fix

    @derived
    def follows(self) -> tuple[str, ...]:
        """Checks of what follows from it."""
        return tuple(check for check, _ in self.consequences)

    def explains(self, other: JudgedCause) -> bool:
        """Whether another finding is no cause of its own beside this one."""
        return (
            self.finding.severity in _BAD
            and self.order < other.order
            and (self.row.mild or RANKS.index(self.severity) <= RANKS.index(other.severity))
            and other.check.startswith(self.row.explains)
            and (not self.about or not other.about or bool(self.about & other.about))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What is wrong, the first to act on first, and what the work waits for."""

    causes: tuple[JudgedCause, ...] = ()
    diagnosis: Diagnosis | None = None  # None: nothing was watched
    used: frozenset[str] | None = None  # cards that worked: "gpu 3"; None: nothing was watched

    @property
    def bad(self) -> tuple[JudgedCause, ...]:
        """Those that are more than worth knowing."""
        return tuple(cause for cause in self.causes if cause.finding.severity in _BAD)

    @property
    def lead(self) -> JudgedCause | None:
        """What slows the work that runs and need not: it goes before all that binds.

        A card that is held now, however little of the time it shows; else what is wrong with the very thing
        that binds most.
        """
        bounds = () if self.diagnosis is None else self.diagnosis.bounds
        first = bounds[0].cause.name if bounds else None
        own = [cause for cause in self.bad if self.used is None or not cause.about or cause.about & self.used]
        causes = [cause for cause in own if cause.row.holds]
        return next(iter(causes or [cause for cause in own if first in cause.row.binds]), None)

    @property
    def first(self) -> JudgedCause | None:
        """What to act on first: a fault, else what slows the work that runs; where nothing ran, the worst."""
        ran = self.diagnosis is not None and self.diagnosis.bounds
        lead, worst = self.lead, next(iter(self.bad), None)
        if worst is not None and worst.severity == "fault":
            return lead if lead is not None and lead.severity == "fault" else worst
        return lead if ran or lead else worst

    def steps(self, bound: Bound) -> tuple[Step, ...]:
        """What helps against a bound, without what takes more of a thing that is full."""
        full = frozenset() if self.diagnosis is None else self.diagnosis.full
        return tuple(step for step in bound.cause.remedies if full.isdisjoint(step.takes))


@cache
def rows() -> tuple[CauseRow, ...]:
    """Every row of the table, causes before what they lead to."""
    return tuple(
        CauseRow(
            name=row["name"],
            checks=tuple(row["checks"]),
            binds=tuple(row.get("binds", ())),
            explains=tuple(row.get("explains", ())),
            holds=row.get("holds", False),
            mild=row.get("mild", False),
        )
        for row in read_toml(DATA / "causes.toml")["cause"]
    )


def conclude(examined: Examined, diagnosis: Diagnosis | None = None) -> Judgement:
    """Order findings by what leads to what; those that follow from another are told under it."""
    result = [_judged(check, finding, case=examined.case) for check, finding in examined.findings]
    roots = [cause for cause in result if not any(other.explains(cause) for other in result)]
    causes = [
        replace(
            root, consequences=tuple((cause.check, cause.finding) for cause in result if root.explains(cause))
        )
        for root in roots
    ]
    causes.sort(key=lambda cause: (RANKS.index(cause.finding.severity), cause.order))
    used = None
    if diagnosis is not None:
        cards = examined.case.machine.devices
        used = frozenset(label(device) for device in cards if device.index in diagnosis.devices)
    return Judgement(causes=tuple(causes), diagnosis=diagnosis, used=used)


def in_order(examined: Examined) -> tuple[CheckFinding, ...]:
    """All findings: what to act on first, then the worst first, causes before what they lead to."""
    judgement = conclude(examined)
    first = None if judgement.first is None else judgement.first.finding
    listed = [
        pair for cause in judgement.causes for pair in ((cause.check, cause.finding), *cause.consequences)
    ]
    places = {id(finding): place for place, (_, finding) in enumerate(listed)}

    def order(row: CheckFinding) -> tuple[bool, int, int]:
        severity = RANKS.index(row.finding.severity)
        return row.finding is not first, severity, places.get(id(row.finding), len(places))

    return tuple(sorted(examined.findings, key=order))


def _judged(check: str, finding: Finding, *, case: CheckInput) -> JudgedCause:
    starts = [
        (place, turn, row)
        for place, row in enumerate(rows())
        for turn, start in enumerate(row.checks)
        if check.startswith(start)
    ]
    # the longest beginning is meant
    place, turn, row = max(
        starts,
        key=lambda item: len(item[2].checks[item[1]]),
        default=(len(rows()), 0, CauseRow(name=check, checks=())),
    )
    on = {text for text in (finding.about or "").split(", ") if text}
    at = {text: device_at(case, text) if ":" in text else None for text in on}
    on = {text if device is None else label(device) for text, device in at.items()}
    return JudgedCause(check=check, finding=finding, row=row, order=(place, turn), about=frozenset(on))


def watched(case: CheckInput, ticks: Sequence[Tick]) -> CheckInput:
    """The case with what was seen of its cards while they worked, in the place of one moment's readings."""
    seen: dict[int, list[DeviceTick]] = {}
    for tick in ticks:
        for item in tick.devices:
            if item.busy_share is not None and item.busy_share >= BUSY_SHARE:
                seen.setdefault(item.index, []).append(item)
    devices = tuple(_seen(device, seen.get(device.index, [])) for device in case.machine.devices)
    return replace(case, machine=replace(case.machine, devices=devices))


def _seen(device: Device, ticks: Sequence[DeviceTick]) -> Device:
    """One card as it was while it worked: the reasons that held it for a good part, and its mean clock."""
    if not ticks:
        return device
    texts = [tick.slowed_by for tick in ticks if tick.slowed_by is not None]
    times = Counter(word for words in texts for word in set(words))
    slowed = tuple(word for word, count in times.items() if count >= _LEAST_HELD * len(texts))
    clocks = [tick.sm_hz for tick in ticks if tick.sm_hz is not None]
    return replace(
        device,
        busy_share=sum(tick.busy_share or 0.0 for tick in ticks) / len(ticks),
        slowed_by=slowed if texts else device.slowed_by,
        clocks=replace(device.clocks, sm_hz=sum(clocks) / len(clocks)) if clocks else device.clocks,
        pstate=device.pstate if is_busy(device) else None,  # of now, and now it may rest
    )


def tick_of(case: CheckInput) -> Tick:
    """What a record of a machine shows of one moment, for those who watch: nothing of rates."""
    devices = tuple(
        DeviceTick(
            index=device.index,
            uuid=device.uuid,
            name=device.name,
            state=device.state,
            vendor=device.vendor,
            pci=device.pci,
            busy_share=device.busy_share,
            mem_busy_share=device.mem_busy_share,
            mem_used_bytes=device.mem_used_bytes,
            mem_total_bytes=device.mem_total_bytes,
            power_w=device.power.draw_w,
            power_limit_w=device.power.limit_w,
            sm_hz=device.clocks.sm_hz,
            gpu_c=device.thermal.gpu_c,
            pcie_gen=device.pcie.gen,
            pcie_lanes=device.pcie.lanes,
            slowed_by=device.slowed_by,
            programs=device.programs,
        )
        for device in case.machine.devices
        if device.state == "ok"
    )
    return Tick(at_s=case.machine.system.now_s or 0.0, clock_s=0.0, devices=devices)
