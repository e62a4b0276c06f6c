"""Pages of memory that AMD's driver found bad (Instinct).

After an uncorrected error the driver takes the page out of use and writes it down on the card, for the card's
whole life. A page in use waits for it; one that cannot be taken out stays in use: fault. The driver warns
from 90 % of its threshold on, and at the threshold it gives the card up: it asks for its replacement, and may
not start the card again: warning and fault. A page that waits: warning. Bad pages, all out of use: note.

Source: the amdgpu driver's manual on RAS (gpu_vram_bad_pages: R, P, F; bad_page_threshold), its warning at
90 %. The threshold is told to root alone (`amd-smi static --ras`).
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.gpus import DRAIN, LOOK_AGAIN, REPLACE, answering, bad_pages_line, label, reset, unread
from rigright.doctor.record import Case, Finding, Fine, Severity, Step, Verdict, seen
from rigright.machine.device import Device, Retired

TITLE = say("bad pages of memory (AMD)")
NEAR = 0.9  # of the driver's threshold


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each card of AMD that counts errors."""
    for device, _ in answering(case, vendor="amd"):
        retired = device.retired
        if retired is None or retired.pages_bad is None:
            if device.ecc is not None:
                yield unread(device, bad_pages_line(device))
        elif (judged := _judged(retired, retired.pages_bad)) is None:
            yield Fine(says=say("none"), about=label(device))
        else:
            yield _finding(device, retired, judged=judged)


def _judged(retired: Retired, pages: int) -> tuple[Severity, Sentence] | None:
    most = retired.pages_most
    if retired.pages_stuck:
        return "fault", say("bad pages of memory could not be taken out of use")
    if most and pages >= most:
        return "fault", say("so many pages of memory are bad that the driver gives the card up")
    if most and pages >= NEAR * most:
        return "warning", say("nearly as many pages of memory are bad as the driver allows")
    if retired.pages_waiting:
        return "warning", say("bad pages of memory are in use until programs or the card give them back")
    return ("note", say("pages of memory were found bad, and are out of use")) if pages else None


def _finding(device: Device, retired: Retired, *, judged: tuple[Severity, Sentence]) -> Finding:
    severity, title = judged
    if severity == "fault":
        steps: tuple[Step, ...] = (DRAIN, REPLACE)
    else:
        steps = (reset(device), LOOK_AGAIN) if retired.pages_waiting else (LOOK_AGAIN,)
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(
            say(
                "{count} bad, of them {waiting} waiting and {stuck} not taken out; the driver allows {most}",
                count=retired.pages_bad,
                waiting=retired.pages_waiting or 0,
                stuck=retired.pages_stuck or 0,
                most=retired.pages_most or "?",
            ),
            bad_pages_line(device),
        ),
        why=say("a program that uses such a page is ended, or its result is wrong; bad pages come in rows"),
        fix=steps,
        about=label(device),
    )
