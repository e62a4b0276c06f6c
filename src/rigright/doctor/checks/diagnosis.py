"""What NVIDIA's own driver and diagnosis ask for."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering
from rigright.doctor.record import Case, Evidence, Finding, Fine, NotSeen, Verdict, check
from rigright.machine.system import Diagnosed

SETTINGS = ("persistence", "environment", "graphics process", "permission")  # what old versions call them
SOFTWARE = (*SETTINGS, "software", "denylist", "library", "page retirement", "inforom")  # of the first level
MOST_REASONS = 3


@check(say("recovery that the driver asks for"))
def gpu_recovery(case: Case) -> Iterator[Verdict]:
    """What the driver itself asks for: reset, reboot, drain.

    The driver keeps a recovery action for each card until it is done. It stays when counters are cleared, so
    it shows a fault of the past that a single look at counters and logs would miss: after an uncontained
    memory error (XID 95) or a failure of the firmware (XID 119) a card may go on working, badly, with every
    counter at zero.

    Any action but "none" is a fault. Sources: NVML's recovery actions (nvidia-ml-py 13.615), XID 154 of
    NVIDIA's catalog; drivers before 550 do not tell it.
    """
    for device, _ in answering(case, vendor="nvidia"):
        action = (device.recovery or "").lower()
        if not action:
            yield NotSeen(
                why=say("the driver does not tell it; drivers from 550 on do for most cards"),
                see=f"nvidia-smi -q -i {device.index} | grep -i recovery",
                about=label(device),
            )
            continue
        if action == "none":
            yield Fine(says=say("nothing is asked for"), about=label(device))
            continue
        asked = say("drain, then reset") if "drain" in action else say("reset")
        if "p2p" in action:
            asked = say("drain what copies between cards")
        if "reboot" in action:
            asked = say("reboot")
        restarts_imex = "imex" in action and "reboot" not in action
        yield advise(
            "diagnosis.recovery",
            device=device,
            asked=asked,
            action=action,
            restarts_imex=restarts_imex,
            resets="reboot" not in action and not restarts_imex,
            reboots="reboot" in action or ("bus" in action and not restarts_imex),
        )


@check(say("NVIDIA's own diagnosis finds nothing"))
def dcgm_diagnosis(case: Case) -> Iterator[Verdict]:
    """What NVIDIA's own diagnosis (`dcgmi diag`) found, where its answer was given to us.

    Its first level looks at software and settings in seconds, the second tries memory and PCIe for minutes,
    the third loads the cards for a quarter of an hour. It is not started from here: the higher levels need
    cards on which nothing else runs. A card can pass and be slow all the same: hold it against its peers
    with `rigright bench`.

    A test that failed: fault, or warning where a setting is all it asks for; a test that warns: warning. One
    that was skipped is not observed, and no pass. Source: NVIDIA DCGM user guide, diagnostics; DCGM's table
    of errors (dcgm_errors.h), which weighs each: watch, isolate, look closer, configure, reset.
    """
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
    cards = (each for each in case.machine.devices if each.vendor == "nvidia")
    device = next((card for card in cards if card.index == one.card), None)
    reason = one.says[0].lower() if one.says else ""
    # whether it asks for a setting alone: as it weighs the error itself, else by what it calls it
    by_name = any(word in one.test or reason.startswith(word) for word in SETTINGS)
    is_setting = by_name if one.advice is None else one.advice == "configure"
    is_watched = one.advice == "monitor"
    is_bad = not is_setting and not is_watched
    level = 1 if any(word in one.test for word in SOFTWARE) else 3
    on = "" if one.card is None else f" -i {one.card}"
    again = f"dcgmi diag -r {level}{on}"
    # the card as it is now: the test itself may only run where nothing else does
    show = again if level == 1 else f"nvidia-smi -q{on}"
    name = "diagnosis.failed" if is_bad else "diagnosis.failed_lightly"
    return advise(
        "diagnosis.warns" if one.outcome == "warn" else name,
        device=device,
        about=None if one.card is None else f"gpu {one.card}",
        test=one.test,
        reasons=(
            Evidence(shows=one.says[0] if one.says else say("it gives no reason"), command=show),
            *(Evidence(shows=said) for said in one.says[1:MOST_REASONS]),
        ),
        again=again,
        is_setting=is_setting,
        is_watched=is_watched,
        is_bad=is_bad,
        resets=is_bad and device is not None and one.advice != "isolate",
    )
