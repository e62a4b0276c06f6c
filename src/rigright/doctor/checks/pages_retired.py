"""Pages of memory taken out of use (cards before Ampere).

A page is retired after one uncorrected error or two corrected ones in the same place, at most 64 in all. 60
or more, or one that waits with that many: fault, the card is at its end (DCGM fails it from 63 on). More
than 15 for uncorrected errors, or a page that waits for the next reset: warning. Fewer: worth knowing.

Source: NVIDIA's dynamic page retirement guide, DCGM's health rules.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.gpus import LOOK_AGAIN, REPLACE, answering, details, label, reset
from rigright.doctor.record import Case, Finding, Fine, Severity, Verdict, seen
from rigright.machine.device import Device, Retired

TITLE = say("pages of memory taken out of use")
MOST, MANY_DOUBLE = 60, 15


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card that retires pages."""
    for device, _ in answering(case, vendor="nvidia"):
        retired = device.retired
        if retired is None or (retired.pages_single is None and retired.pages_double is None):
            continue
        pages = (retired.pages_single or 0) + (retired.pages_double or 0)
        judged = _judged(retired, pages)
        if judged is None:
            yield Fine(says=say("none"), about=label(device))
        else:
            yield _finding(device, retired, judged=judged)


def _judged(retired: Retired, pages: int) -> tuple[Severity, Sentence] | None:
    if pages >= MOST:
        return "fault", say("nearly all pages that may be retired are used up")
    if retired.pages_pending:
        return "warning", say("a page of memory waits to be retired at the next reset")
    if (retired.pages_double or 0) > MANY_DOUBLE:
        return "warning", say("many pages of memory were retired for uncorrected errors")
    return ("note", say("pages of memory were retired")) if pages else None


def _finding(device: Device, retired: Retired, *, judged: tuple[Severity, Sentence]) -> Finding:
    severity, title = judged
    steps = {"fault": (REPLACE,), "note": (LOOK_AGAIN,)}.get(severity, (reset(device), LOOK_AGAIN))
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(
            say(
                "{hard} for uncorrected errors, {soft} for corrected ones, of 64",
                hard=retired.pages_double or 0,
                soft=retired.pages_single or 0,
            ),
            details(device, "PAGE_RETIREMENT"),
        ),
        why=say(
            "each page was struck by errors; when no more can be retired, programs are ended again and again"
        ),
        fix=steps,
        about=label(device),
    )
