"""What NVIDIA's own diagnosis (`dcgmi diag`) found, where its answer was given to us.

Its first level looks at software and settings in seconds, the second tries memory and PCIe for minutes, the
third loads the cards for a quarter of an hour. It is not started from here: the higher levels need cards on
which nothing else runs. A card can pass and be slow all the same: hold it against its peers with `rigright
bench`.

A test that failed: fault, or warning where a setting is all it asks for; a test that warns: warning. One that
was skipped is not observed, and no pass. Source: NVIDIA DCGM user guide, diagnostics; DCGM's table of errors
(dcgm_errors.h), which weighs each: watch, isolate, look closer, configure, reset.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import DRAIN, LOOK_AGAIN, REPLACE, reset
from rigright.doctor.record import Case, Evidence, Finding, Fine, NotSeen, Severity, Step, Verdict, step
from rigright.machine.device import Device
from rigright.machine.system import Diagnosed

TITLE = say("NVIDIA's own diagnosis finds nothing")
_SETTINGS = ("persistence", "environment", "graphics process", "permission")  # what old versions call them
_SOFTWARE = (*_SETTINGS, "software", "denylist", "library", "page retirement", "inforom")
_MOST_REASONS = 3


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each test of a card that did not pass, one for all that did."""
    told = case.machine.software.diagnosed
    if told is None:
        return
    bad = [one for one in told if one.outcome in {"fail", "warn"}]
    yield from (_finding(case, one) for one in bad)
    missing = sorted({one.test for one in told if one.outcome in {"skip", "not run"}})
    if missing:
        yield NotSeen(
            why=say(
                "not run: {tests}; `dcgmi diag -r 3` tries most, on idle cards", tests=", ".join(missing)
            ),
            see="dcgmi diag -r 1",
        )
    passed = {one.test for one in told if one.outcome == "pass"}
    if passed and not bad:
        yield Fine(says=say("{count} tests passed", count=len(passed)))


def _finding(case: Case, one: Diagnosed) -> Finding:
    device = _device(case, one.card)
    fix: list[Step] = []
    if _is_setting(one):
        fix.append(step(say("set what the test asks for, then run it again"), _again(one)))
    elif one.advice == "monitor":
        fix.append(LOOK_AGAIN)
    else:
        fix.append(DRAIN)
        if device is not None and one.advice != "isolate":
            fix.append(reset(device))
        more = say("run it again with nothing else on the card; if it fails again:")
        fix.append(step(more, _again(one), disturbs=True))
        fix.append(REPLACE)
    return Finding(
        severity=_severity(one),
        title=say("test {test} of NVIDIA's diagnosis failed", test=one.test)
        if one.outcome == "fail"
        else say("test {test} of NVIDIA's diagnosis warns", test=one.test),
        evidence=(
            Evidence(shows=one.says[0] if one.says else say("it gives no reason"), command=_show(one)),
            *(Evidence(shows=said) for said in one.says[1:_MOST_REASONS]),
        ),
        why=say("work is slower or riskier than it need be")
        if _severity(one) == "warning"
        else say("what runs on the card may be slow, wrong, or end early"),
        fix=tuple(fix),
        about=None if one.card is None else f"gpu {one.card}",
    )


def _show(one: Diagnosed) -> str:
    """What shows the card as it is now: the test itself may only run where nothing else does."""
    if _level(one) == 1:
        return _again(one)
    return "nvidia-smi -q" if one.card is None else f"nvidia-smi -q -i {one.card}"


def _again(one: Diagnosed) -> str:
    return f"dcgmi diag -r {_level(one)}" + ("" if one.card is None else f" -i {one.card}")


def _severity(one: Diagnosed) -> Severity:
    return "warning" if one.outcome == "warn" or one.advice == "monitor" or _is_setting(one) else "fault"


def _is_setting(one: Diagnosed) -> bool:
    """Whether it asks for a setting alone: as it weighs the error itself, else by what it calls it."""
    if one.advice is not None:
        return one.advice == "configure"
    reason = one.says[0].lower() if one.says else ""
    return any(word in one.test or reason.startswith(word) for word in _SETTINGS)


def _level(one: Diagnosed) -> int:
    """The level that holds the test."""
    return 1 if any(word in one.test for word in _SOFTWARE) else 3


def _device(case: Case, card: int | None) -> Device | None:
    return next((one for one in case.machine.devices if one.vendor == "nvidia" and one.index == card), None)
