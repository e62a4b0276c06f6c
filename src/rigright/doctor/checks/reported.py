"""What the NVIDIA driver and its diagnostics report: XIDs, recovery actions, `dcgmi diag`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.advice import advise, first, label
from rigright.doctor.gpus import answering, device_at
from rigright.doctor.kernel_log import LINE_CHARS, events, log_evidence, most_within, quieter
from rigright.doctor.record import CheckInput, Evidence, Finding, Fine, NotSeen, Verdict, check
from rigright.doctor.xid import AFTER, action_of, followed, steps_of
from rigright.facts.faults import repeated, xids
from rigright.machine.pci import pci_key
from rigright.machine.system import Diagnosed, Event

_HOUR_S = 3600.0
CODES = {13, 31, 32, 43}  # that mostly are a program's fault
_LEAST_PROGRAMS = repeated().times
_ASKS_RESET = re.compile(r"reset (?:the )?gpu to activate", re.IGNORECASE)
_UNIT = re.compile(r"GPC\s*(\d{1,18})\s*,\s*TPC\s*(\d{1,18})", re.IGNORECASE)
_SEE_XIDS = "journalctl -k --no-pager | grep -i 'NVRM: Xid'"
SETTINGS = ("persistence", "environment", "graphics process", "permission")  # what old versions call them
SOFTWARE = (*SETTINGS, "software", "denylist", "library", "page retirement", "inforom")
_MOST_REASONS = 3


@check(say("XID errors in the kernel log"))
def xid_events(case: CheckInput) -> Iterator[Verdict]:
    """XID errors in the kernel log, each with what to do about it.

    An XID names what went wrong on a GPU. Some need a reset or reboot (fault), some mean degrading
    memory or links, many only an application bug (note; from three on the same GPU, warning). XID 45
    follows other errors and is reported only on its own; 154 carries the recovery action after an error,
    and overrides the catalog where it asks for more; 171 and 172 give details of 48. XID 63 (row
    remapping recorded) needs nothing right away, unless its line asks for a reset (warning): rows_remapped
    shows whether one is pending. For 144
    to 150 (NVLink5) each line states whether it is fatal: those that are not are notes.

    Events older than a week, or from before the last boot, count one level lower. The log may start late
    and miss earlier XIDs: see the recovery action too. Source: data/xids.csv, from NVIDIA's XID catalog
    for Ampere and newer, of 2025-10; `rigright look-up xids` shows it.
    """
    result = events(case, "xid")
    if not result and any(device.vendor == "nvidia" for device in case.machine.devices):
        if result is None:
            yield NotSeen(why=say("no permission to read the kernel log"), see=f"sudo {_SEE_XIDS}")
        else:
            yield Fine(says=say("none in the kernel log"))
    asking = followed(result or [])
    groups: dict[tuple[str, int], list[Event]] = {}
    for event in result or []:
        if event.code is not None:
            groups.setdefault((pci_key(event.pci), event.code), []).append(event)
    for (pci, code), same in groups.items():
        if code not in AFTER or {key[1] for key in groups if key[0] == pci} <= AFTER:
            yield _of_code(case, code, same=same, after=asking.get((pci, code)))


def _of_code(case: CheckInput, code: int, *, same: list[Event], after: Event | None) -> Finding:
    """All events of one code on one card."""
    xid, last = xids().get(code), same[-1]
    device = device_at(case, last.pci)
    action = action_of(xid, same, after=after) if xid else ""
    times = most_within(same, repeated().within_h * _HOUR_S)
    severity = xid.severity(action, times=times) if xid else "warning"
    if severity == "note" and _ASKS_RESET.search(last.text):
        severity = "warning"  # what it recorded works only after a reset
    kinds = {
        "reported.xid_unknown": xid is None,
        "reported.xid_hardware": xid and xid.hardware == "y",
        "reported.xid_software": xid and xid.hardware == "n",
        "reported.xid_fault": severity == "fault",
    }
    return advise(
        first(kinds) or "reported.xid",
        about=label(device) if device else last.pci,
        severity=quieter(severity, case=case, event=last),
        confidence="sure" if severity == "fault" else "likely",
        code=code,
        meaning=xid.meaning if xid else None,
        told=(
            *log_evidence(same, _SEE_XIDS),
            *((Evidence(shows=after.text[:LINE_CHARS]),) if after else ()),
        ),
        steps=steps_of(xid, case, same=same, action=action) if xid else None,
    )


@check(say("application XIDs repeating on one GPU"))
def xid_repeated(case: CheckInput) -> Iterator[Verdict]:
    """Whether application XIDs keep coming from one GPU.

    XID 13, 31, 32 and 43 usually mean an application bug. From three or more different processes on one
    GPU, while other GPUs stay quiet, they point at the GPU: NVIDIA's catalog asks for diagnostics when
    13 repeats in the same TPC or GPC, and for a look at the GPU when 31 comes from one GPU only.

    Warning, likely. Sources: NVIDIA's XID catalog (2025-10), requests of operators to NVSentinel.
    """
    result = [event for event in events(case, "xid") or [] if event.code in CODES and event.pid]
    by_card: dict[str, list[Event]] = {}
    for event in result:
        by_card.setdefault(pci_key(event.pci), []).append(event)
    for pci, same in by_card.items():
        programs = {event.pid for event in same}
        others = {event.pid for event in result} - programs
        if len(programs) < _LEAST_PROGRAMS or others or len(case.machine.devices) < 2:
            continue
        device = device_at(case, pci)
        units = Counter(match.group() for event in same if (match := _UNIT.search(event.text)))
        unit, times = next(iter(units.most_common(1)), ("", 0))
        yield advise(
            "reported.xid_repeated",
            about=label(device) if device else pci,
            count=len(same),
            programs=len(programs),
            times=times,
            unit=unit,
            same_part=times >= _LEAST_PROGRAMS,
        )


@check(say("GPU recovery action"))
def gpu_recovery(case: CheckInput) -> Iterator[Verdict]:
    """The recovery action that the driver requests: reset, reboot, drain.

    The driver keeps a recovery action for each GPU until it is carried out. It survives cleared
    counters, so it shows a past fault that a look at counters and logs would miss: after an uncontained
    ECC error (XID 95) or a GSP failure (XID 119) a GPU may keep running, badly, with every counter at
    zero.

    Fault: any action but "none". Sources: NVML's recovery actions (nvidia-ml-py 13.615), XID 154 of
    NVIDIA's catalog; drivers before 550 do not report it.
    """
    for device, _ in answering(case, vendor="nvidia"):
        action = (device.recovery or "").lower()
        if not action:
            yield NotSeen(
                why=say("not reported by this driver; most GPUs report it with driver 550 or newer"),
                see=f"nvidia-smi -q -i {device.index} | grep -i recovery",
                about=label(device),
            )
        elif action == "none":
            yield Fine(says=say("none requested"), about=label(device))
        else:
            kinds = {
                "reported.recovery_reboot": "reboot" in action,
                "reported.recovery_imex": "imex" in action,
                "reported.recovery_bus": "bus" in action,
            }
            name = first(kinds) or "reported.recovery"
            yield advise(name, device=device, asked=_asked(action), action=action)


def _asked(action: str) -> Sentence:
    if "reboot" in action:
        return say("reboot")
    if "p2p" in action:
        return say("drain jobs that use P2P")
    return say("drain, then reset") if "drain" in action else say("reset")


@check(say("DCGM diagnostics"))
def dcgm_diagnosis(case: CheckInput) -> Iterator[Verdict]:
    """What NVIDIA's `dcgmi diag` found, if its output was given to us.

    Level 1 checks software and settings in seconds, level 2 tests memory and PCIe for minutes, level 3
    loads the GPUs for a quarter of an hour. Doctor does not start it: the higher levels need idle GPUs.
    A GPU can pass and still be slow: compare it with its peers through `rigright bench`.

    Fault: a failed test. Warning: a failed test that only asks for a setting, or a warning. A skipped
    test is not a pass. Source: NVIDIA DCGM user guide, diagnostics; DCGM's table of errors
    (dcgm_errors.h), which weighs each: watch, isolate, look closer, configure, reset.
    """
    diagnosis = case.machine.software.diagnosed
    if diagnosis is None:
        return
    bad = [item for item in diagnosis if item.outcome in {"fail", "warn"}]
    yield from (_of_test(case, item) for item in bad)
    missing = sorted({item.test for item in diagnosis if item.outcome in {"skip", "not run"}})
    if missing:
        yield NotSeen(
            why=say(
                "not run: {tests}; `dcgmi diag -r 3` on idle GPUs runs most of them", tests=", ".join(missing)
            ),
            see="dcgmi diag -r 1",
        )
    passed = {item.test for item in diagnosis if item.outcome == "pass"}
    if passed and not bad:
        yield Fine(says=say("{count} tests passed", count=len(passed)))


def _of_test(case: CheckInput, diagnosis: Diagnosed) -> Finding:
    """A test that failed or warned."""
    devices = (
        each for each in case.machine.devices if each.vendor == "nvidia" and each.index == diagnosis.card
    )
    device = next(devices, None)
    card = "" if diagnosis.card is None else f" -i {diagnosis.card}"
    # whether it asks for a setting alone: as it weighs the error itself, else by what it calls it
    reason = diagnosis.says[0].lower() if diagnosis.says else ""
    named = any(word in diagnosis.test or reason.startswith(word) for word in SETTINGS)
    is_setting = named if diagnosis.advice is None else diagnosis.advice == "configure"
    is_watch = not is_setting and diagnosis.advice == "monitor"
    is_ill = not is_setting and not is_watch
    level = 1 if any(word in diagnosis.test for word in SOFTWARE) else 3
    again = f"dcgmi diag -r {level}{card}"
    # what shows the card as it is now: the test itself may only run where nothing else does
    shown = Evidence(
        shows=diagnosis.says[0] if diagnosis.says else say("no reason given"),
        command=again if level == 1 else f"nvidia-smi -q{card}",
    )
    name = first({"reported.dcgm_warns": diagnosis.outcome == "warn", "reported.dcgm_failed": is_ill})
    return advise(
        name or "reported.dcgm_failed_mildly",
        device=device,
        about=None if diagnosis.card is None else f"gpu {diagnosis.card}",
        test=diagnosis.test,
        reasons=(shown, *(Evidence(shows=text) for text in diagnosis.says[1:_MOST_REASONS])),
        again=again,
        setting=is_setting,
        watch=is_watch,
        ill=is_ill,
        to_reset=is_ill and device is not None and diagnosis.advice != "isolate",
    )
