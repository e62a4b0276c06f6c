"""Rows of memory that are replaced by spare ones (Ampere and later).

After an uncorrected error, or many corrected ones, a row is put on a list and replaced at the next reset.
Pending: warning, for until then the card works around it and another error may end more programs. A
replacement that failed: fault, the way to a new card. A bank without spare rows left: warning, the next
error in it cannot be replaced; few left: note.

Source: NVIDIA's GPU memory error management guide (8 rows a bank, 512 in all), gpud, XID 63 and 64.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering, details, label, reset
from rigright.doctor.record import Case, Evidence, Finding, Fine, Verdict, seen, step
from rigright.machine.device import Device, Retired

TITLE = say("rows of memory replaced by spare ones")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card that has spare rows."""
    for device, _ in answering(case, vendor="nvidia"):
        retired = device.retired
        if retired is None or (retired.rows_pending is None and retired.rows_failed is None):
            continue
        banks = dict(retired.banks)
        if retired.rows_failed:
            yield _failed(device, retired)
        elif retired.rows_pending:
            yield _pending(device, retired)
        elif banks.get("none"):
            yield _used_up(device, banks["none"])
        elif banks.get("low"):
            yield _few(device, banks["low"])
        else:
            rows = (retired.rows_corrected or 0) + (retired.rows_uncorrected or 0)
            yield Fine(says=say("{count} replaced, none waits", count=rows), about=label(device))


def _seen(device: Device, retired: Retired) -> tuple[Evidence, ...]:
    shows = say(
        "replaced for uncorrected errors: {hard}, for corrected ones: {soft}",
        hard="?" if retired.rows_uncorrected is None else retired.rows_uncorrected,
        soft="?" if retired.rows_corrected is None else retired.rows_corrected,
    )
    return seen(shows, details(device, "ROW_REMAPPER"))


def _failed(device: Device, retired: Retired) -> Finding:
    return Finding(
        severity="fault",
        title=say("a row of memory could not be replaced"),
        evidence=_seen(device, retired),
        why=say("broken memory stays in use: programs will be ended by uncorrected errors again and again"),
        fix=(
            step(say("drain the machine: let what runs end, and let no new work start here")),
            step(say("run the vendor's field diagnosis, and have the card replaced")),
        ),
        verify=details(device, "ROW_REMAPPER"),
        about=label(device),
    )


def _pending(device: Device, retired: Retired) -> Finding:
    return Finding(
        severity="warning",
        title=say("a row of memory waits to be replaced at the next reset"),
        evidence=_seen(device, retired),
        why=say(
            "until the reset the card works around the broken row; a further error may end more programs"
        ),
        fix=(step(say("choose a window soon: let what runs end")), reset(device)),
        verify=details(device, "ROW_REMAPPER"),
        about=label(device),
    )


def _used_up(device: Device, banks: int) -> Finding:
    return Finding(
        severity="warning",
        title=say("a bank of memory has no spare rows left"),
        evidence=seen(
            say("banks without a spare row: {count}", count=banks), details(device, "ROW_REMAPPER")
        ),
        why=say("the next uncorrected error in it cannot be replaced, and makes the card one to be returned"),
        fix=(step(say("plan a replacement; keep long jobs off this card until then")),),
        about=label(device),
    )


def _few(device: Device, banks: int) -> Finding:
    return Finding(
        severity="note",
        title=say("a bank of memory has few spare rows left"),
        evidence=seen(
            say("banks with few spare rows: {count}", count=banks), details(device, "ROW_REMAPPER")
        ),
        why=say("the card has had many errors in one place; watch whether they go on"),
        fix=(step(say("write the number down, and look again in a week")),),
        about=label(device),
    )
