"""Every alert over what the exporter shows of a machine with a fault, beside what the doctor says of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from debian import needs
from rigright.doctor.binding.judgement import tick_of
from rigright.doctor.examine import case_of, examine
from rigright.export.targets import alerts as rules
from rigright.facts.faults import nvlink_errors, repeated, slowdowns, xids
from rigright.facts.monitoring import alerts
from rigright.machine.device import DirectLink
from rigright.machine.exporter.page import Pages
from rigright.machine.exporter.tally import MetricsTally, WatchSettings
from rigright.machine.tick import LinkTick
from rigright.machine.world import World
from rigright.verbs.export import export, write

sys.path.append(str(Path(__file__).parent.parent / "doctor"))

import test_one_fault as planted
from boxes import eight, xid

WELL, ILL = 12, 60  # minutes
LEVELS = {"critical": "fault", "warning": "warning"}
WATCHED = {  # checks whose reading is a metric: what they find must raise an alert of that weight
    *("gpu_answers", "gpu_recovery", "ecc_uncorrected", "nvlink_down", "gpu_throttled", "xid_events"),
    *("nvlink_errors", "fabric_state", "ecc_corrected", "pcie_width", "pcie_gen"),
}
OF_THE_WATCH = {"RigCollectorStale", "RigCollectorGone", "RigKernelLogClosed", "RigBaselineDiffers"}
KEPT = ("ecc_uncorrected", "note"), ("gpu_recovery", "note")  # of the past: a counter that stands still
SAMPLE = re.compile(r"^(rigright_\w+)(?:\{(.*)\})? ([0-9.e+-]+)$", re.MULTILINE)
RAISED = re.compile(r"^ +Labels:(\{.*\})$", re.MULTILINE)
CARD, LINK = re.compile(r'gpu="\d+"|uuid="[^"]*"'), re.compile(r'link="\d+",')
NIGHTLY = bool(os.environ.get("RIGRIGHT_NIGHTLY"))


def seen(machine):
    """The metrics that a watch shows of a machine: (name, labels) -> value."""
    tick = tick_of(case_of(machine))
    by_index = {one.index: one for one in machine.devices}
    devices = []
    for one in machine.devices:
        told = next((each for each in tick.devices if each.index == one.index), None)
        if told is None:
            told = replace(tick.devices[0], index=one.index, uuid=one.uuid, state=one.state, pci=one.pci)
        card = by_index[one.index]
        devices.append(
            replace(
                told,
                name="H100",
                recovery=card.recovery,
                ecc_corrected=card.ecc and card.ecc.corrected_volatile,
                ecc_uncorrected=card.ecc and card.ecc.uncorrected_volatile,
                rows_pending=card.retired and bool(card.retired.rows_pending),
                rows_failed=card.retired and bool(card.retired.rows_failed),
                links_active=sum(bool(link.active) for link in card.links or ()),
                links=tuple(
                    LinkTick(index=link.index, is_up=link.active, errors=link.errors)
                    for link in card.links or ()
                ),
                fabric=card.fabric,
                slices=card.slices or None,
                pcie_replays=card.pcie.replays,
                programs=(),
            )
        )
    clock = [0.0]
    tally = MetricsTally(
        World(root=Path("/nonexistent")), WatchSettings(reads_log=lambda: True), clock=lambda: clock[0]
    )
    for clock_s in (0.0, 60.0):  # a minute of it
        clock[0] = clock_s
        tally.add(replace(tick, devices=tuple(devices), clock_s=clock_s))
    tally.add_events(machine.events or ())
    body, _ = Pages(tally).page("")
    return {(name, labels or ""): float(value) for name, labels, value in SAMPLE.findall(body.decode())}


def told_once(well, ill):
    """Samples that a rule asks for; of cards, and of links of a card, that are alike, one: all in nightly."""
    asked = set(re.findall(r"rigright_\w+", " ".join(one.expr for one in alerts())))
    every = [key for key in {**well, **ill} if key[0] in asked]
    if NIGHTLY:
        return every
    links = {
        (name, LINK.sub("", labels), well.get((name, labels)), ill.get((name, labels))): (name, labels)
        for name, labels in every
    }
    cards = {}
    for key, chosen in links.items():
        card = CARD.search(key[1])
        cards.setdefault(card and card[0], []).append((key, chosen))
    kinds = {
        frozenset((name, CARD.sub("", labels), *values) for (name, labels, *values), _ in told): told
        for told in cards.values()
    }
    return [chosen for told in kinds.values() for _, chosen in told]


def series(instance, well, ill):
    """Minutes of health and minutes of the fault, as promtool writes them; counters of seconds go on."""
    found = []
    for name, labels in told_once(well, ill):
        before, after = well.get((name, labels)), ill.get((name, labels))
        shown = f'{name}{{{labels}{"," if labels else ""}instance="{instance}"}}'
        if name == "rigright_gpu_slowed_seconds_total":
            rise = (after or 0.0) - (before or 0.0)
            values = f"0x{WELL} {rise:g}+{max(rise, 0):g}x{ILL}"
        elif name == "rigright_collected_timestamp_seconds":
            values = f"0+60x{WELL + ILL + 1}"
        else:
            is_link = name == "rigright_gpu_nvlink_errors_total"  # which is told from the first on
            first = f"{before or 0:g}" if is_link else "_" if before is None else f"{before:g}"
            then = "_" if after is None else f"{after:g}"
            values = f"{first}x{WELL} {then}x{ILL}"
        found.append({"series": shown, "values": values})
    return found


@pytest.fixture(scope="module")
def raised(tmp_path_factory):
    """The alerts that machines raise, all watched at once, an instance each: name -> {alert: severity}."""
    needs("prometheus")
    folder = tmp_path_factory.mktemp("rules")
    write(export("alerts"), str(folder))
    well = seen(eight())
    levels = {one.name: one.severity for one in alerts() if one.name not in OF_THE_WATCH}

    def asked(machines):
        test = {
            "interval": "1m",
            "input_series": [
                one
                for place, machine in enumerate(machines.values())
                for one in series(f"n{place}", well, seen(machine))
            ],
            "alert_rule_test": [
                {"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": []}
                for alert in levels
                for minute in (WELL + 6, WELL + 40)
            ],
        }
        (folder / "asked.json").write_text(
            json.dumps({"rule_files": [rules.RULES], "evaluation_interval": "1m", "tests": [test]})
        )
        line = ["promtool", "test", "rules", "asked.json"]
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        assert done.returncode == 0 or "got:" in said, said[:2000]
        told = {name: {} for name in machines}
        names = list(machines)
        for labels in RAISED.findall(said):
            alert, place = (re.search(rf'{one}="(\w+)"', labels)[1] for one in ("alertname", "instance"))
            told[names[int(place[1:])]][alert] = levels[alert]
        assert (done.returncode != 0) == any(told.values())
        return told

    return asked


def noisy(kind, count):
    """Links of which one counted errors of a kind."""
    return tuple(DirectLink(index=n, active=True, errors=((kind, count * (n == 4)),)) for n in range(18))


def machines():
    """Every fault that is planted on one card, every reason to be slow, an XID of each kind, and repeats."""
    found = {"sound": eight()}
    for check, severity, changes in planted.PLANTED:
        if check in WATCHED | {"rows_remapped"}:
            found[f"{check} {severity} {changes}"] = eight({3: changes})
    many = [(kind, nvlink_errors()[kind]) for kind in ("recovery_failed", "replay", "effective")]
    for changes in (
        {"pcie__lanes": 8},
        {"pcie__gen": 1, "busy_share": 1.0},
        {"fabric__health": "limited capacity"},
        {"links": tuple(DirectLink(index=n, active=n > 0) for n in range(18))},
        *({"links": noisy(kind, count)} for kind, times in many for count in {1, times - 1, times}),
    ):
        found[str(changes)] = eight({3: changes})
    found |= {f"slow: {word}": eight({3: {"slowed_by": (word,)}}) for word in slowdowns() if word != "idle"}
    kinds = {(one.action, one.next, one.hardware): code for code, one in xids().items()}
    for code in {*kinds.values(), 63, 79, 94, 119}:
        found[f"XID {code}"] = eight(events=(xid(code),))
        found[f"XID {code} again and again"] = eight(events=(xid(code),) * repeated().times)
    return found


@pytest.mark.live
def test_no_alert_and_no_verdict_contradict_each_other(raised):
    every = machines()
    wrong = {}
    for name, alerted in raised(every).items():
        examined = examine(case_of(every[name]))
        found = {(check, one.severity) for check, one in examined.findings}
        levels = {severity for _, severity in found}
        for alert, severity in alerted.items():
            level = LEVELS.get(severity)
            if level and not levels & ({"fault"} if level == "fault" else {"fault", "warning"}):
                wrong[name] = f"{alert} is {severity}, the doctor says {found}"
        for check, severity in found:
            if check in WATCHED and severity != "note" and (check, severity) not in KEPT:
                wanted = "critical" if severity == "fault" else "warning"
                if wanted not in alerted.values():
                    wrong[name] = f"{check} is a {severity} to the doctor, and raised is {alerted}"
    assert wrong == {}


@pytest.mark.live
def test_a_sound_machine_raises_nothing(raised):
    assert raised({"sound": eight()}) == {"sound": {}}
