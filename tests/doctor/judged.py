"""What doctor, diagnose, upgrade, fleet's health and alerts say of one machine, and where two differ."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from rigright.doctor.binding.judge import judge
from rigright.doctor.binding.judgement import conclude, tick_of, watched
from rigright.doctor.examine import case_of, examine
from rigright.doctor.kernel_log import is_before_boot
from rigright.facts.faults import slowdowns, xids
from rigright.facts.monitoring import alerts
from rigright.report.pages import diagnose, doctor, upgrade
from rigright.verbs.diagnose import BottleneckReport
from rigright.verbs.fleet.health import sure_faults
from rigright.verbs.upgrade import upgraded

ALERTS = {one.name: one for one in alerts()}
LEVELS = {"fault": "critical", "warning": "warning"}
ANEW = re.compile(r"--gpu-?reset|systemctl reboot")


def at_work(machine):
    """The same machine with each card that answers busy, as one watches it."""
    devices = (
        replace(one, busy_share=0.97, pstate=0) if one.state == "ok" and not one.slices else one
        for one in machine.devices
    )
    return replace(machine, devices=tuple(devices))


def told(machine):
    """Contradictions about a machine as it was read, and about the same with its cards at work."""
    ways = {"as it is": machine, "at work": at_work(machine)}
    if ways["at work"] == machine:
        del ways["at work"]
    return [f"{name}: {one}" for name, way in ways.items() for one in contradictions(way)]


def contradictions(machine) -> Iterator[str]:
    """Whatever one verb says and another denies."""
    case = case_of(machine)
    examined = examine(case)
    ticks = (tick_of(case),)
    diagnosed = BottleneckReport(
        source="", judgement=conclude(examine(watched(case, ticks)), judge(ticks, case)), ticks=ticks
    )
    told = diagnosed.judgement
    yield from _doctor_and_diagnose(examined, diagnosed)
    yield from _upgrade(upgraded(case, diagnosed=diagnosed), told)
    named = [one and one.check for one in (conclude(examined).first, told.first)]
    if not diagnosed.diagnosis.bounds and len(set(named)) > 1:
        yield f"doctor and diagnose begin with {named}"
    yield from _one_recovery(conclude(examined))
    yield from _health(examined)
    yield from _alerts(case, examined)


def _doctor_and_diagnose(examined, diagnosed):
    told, lead = diagnosed.judgement, diagnosed.judgement.first
    bad = {(check, one.about) for check, one in examined.findings if one.severity != "note"}
    known = {(one.check, one.finding.about) for one in told.causes} | {
        (check, one.about) for cause in told.causes for check, one in cause.consequences
    }
    yield from (f"diagnose forgets {check} of {about}" for check, about in bad - known)
    held = [
        one for one in told.bad if one.row.holds and (not one.about or one.about & (told.used or one.about))
    ]
    if held and diagnosed.diagnosis.bounds and lead not in held:
        yield f"diagnose names {lead} and not {held[0].check}"
    verdict = str(diagnose.verdict(diagnosed))
    if lead is not None and str(lead.finding.title) not in verdict:
        yield f"diagnose concludes {verdict!r}, the doctor {lead.finding.title}"
    page = doctor.plain(examined, "en")
    if [one["check"] for one in page["causes"]] != [one.check for one in told.bad]:
        yield "doctor and diagnose list other causes"
    for bound in diagnosed.diagnosis.bounds:
        for step in told.steps(bound):
            if not diagnosed.diagnosis.full.isdisjoint(step.takes):
                yield f"{step.says} takes more of what is full"


def _upgrade(result, told):
    plain = upgrade.plain(result, "en")
    if (plain["lead"] or {}).get("check") != (None if told.first is None else told.first.check):
        yield "upgrade and diagnose mend another thing first"
    line = str(upgrade.page(result).title)
    if told.first is not None and str(told.first.finding.title) not in line:
        yield f"upgrade begins with {line!r}"
    for one in result.changes:
        if not result.diagnosed.diagnosis.full.isdisjoint(one.change.takes):
            yield f"upgrade advises {one.change.title} of what is full"


def _one_recovery(told):
    """No card is to be reset by one finding and to be rebooted at once by another."""
    first: dict[str, set[str]] = {}
    for one in told.causes:
        commands = [step.command for step in one.finding.fix if step.command]
        again = next((command for command in commands if ANEW.search(command)), "")
        if one.finding.severity == "fault" and again:
            for card in one.about:
                first.setdefault(card, set()).add("reboot" if "reboot" in again else "reset")
    for card, ways in first.items():
        if len(ways) > 1:
            yield f"{card} is to be {' and '.join(sorted(ways))}"


def _health(examined):
    roots = {id(one.finding) for one in conclude(examined).causes}
    yield from (f"fleet drains for {one.title}" for one in sure_faults(examined) if id(one) not in roots)


def _alerts(case, examined):
    """What pages is a fault to the doctor, what is a fault pages: XIDs and the reasons of slow cards."""
    fault, warning = (codes(ALERTS[name]) for name in ("RigGpuXid", "RigGpuXidWears"))
    for event in case.machine.events or ():
        xid = xids().get(event.code) if event.kind == "xid" else None
        if xid is None or is_before_boot(case, event):
            continue
        if (event.code in fault) != (xid.severity() == "fault"):
            yield f"XID {event.code} pages against the doctor's word"
        if (event.code in warning) != (xid.severity() == "warning"):
            yield f"XID {event.code} warns against the doctor's word"
    throttled = [one for check, one in examined.findings if check == "gpu_throttled"]
    for device in case.machine.devices:
        for word in device.slowed_by or ():
            level = LEVELS.get(slowdowns()[word].judged) if word in slowdowns() else None
            raised = {one.severity for one in ALERTS.values() if pages_for(one, word)}
            if level is not None and raised != {level}:
                yield f"{word} is {level} to the doctor and raises {raised or 'nothing'}"
            if level is not None and device.state == "ok" and not throttled:
                yield f"{word} raises {raised} and the doctor finds nothing"


def codes(alert):
    """The XIDs that an alert is about."""
    return {int(code) for code in re.search(r'code=~"([\d|]+)"', alert.expr)[1].split("|")}


def pages_for(alert, word):
    """Whether an alert is raised by a reason for slow clocks of a card at work."""
    found = re.search(r'reason=~?"([a-z_|]+)"', alert.expr)
    return (
        found is not None
        and not re.search(r"busy_ratio (?:<|>=? 0\.9)", alert.expr)
        and word in found[1].split("|")
    )
