"""Rows of memory that are replaced by spare ones (Ampere and later).

After an uncorrected error, or many corrected ones, a row is put on a list and replaced at the next reset.
Pending: warning, for until then the card works around it and another error may end more programs. A
replacement that failed: fault, the way to a new card. A bank without spare rows left: warning, the next
error in it cannot be replaced; few left: note.

Newer drivers tell more: since 580 that a memory channel or a group of cores waits to be changed for a spare
one at the next reset (warning), since 590 that no spare can replace memory any more (fault, the way to a new
card).

Source: NVIDIA's GPU memory error management guide (8 rows a bank, 512 in all), gpud, XID 63 and 64;
nvidia-smi's change log (channel and TPC repair, unrepairable memory).
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import DRAIN, LOOK_AGAIN, REPLACE, answering, details, label, reset
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step
from rigright.machine.device import Device, Retired

TITLE = say("rows of memory replaced by spare ones")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card that has spare rows."""
    for device, _ in answering(case, vendor="nvidia"):
        retired = device.retired
        if retired is None:
            continue
        repairs = tuple(_repairs(device, retired))
        yield from repairs
        if retired.rows_pending is None and retired.rows_failed is None:
            continue
        found = _waiting(device, retired) or _running_out(device, dict(retired.banks))
        rows = (retired.rows_corrected or 0) + (retired.rows_uncorrected or 0)
        fine = Fine(says=say("{count} replaced, none waits", count=rows), about=label(device))
        if found or not repairs:
            yield found or fine


def _repairs(device: Device, retired: Retired) -> Iterator[Finding]:
    """Larger parts than rows: what waits for its repair, and what is beyond it."""
    command = details(device, "ECC")
    if retired.unrepairable:
        yield Finding(
            severity="fault",
            title=say("memory of the card is broken beyond repair"),
            evidence=seen(say("unrepairable memory: yes"), command),
            why=say(
                "no spare row is left for it: programs will be ended by uncorrected errors again and again"
            ),
            fix=(DRAIN, REPLACE),
            about=label(device),
        )
    if retired.channel_repair_pending or retired.tpc_repair_pending:
        yield Finding(
            severity="warning",
            title=say("a memory channel waits to be repaired at the next reset")
            if retired.channel_repair_pending
            else say("a group of cores waits to be repaired at the next reset"),
            evidence=seen(say("repair pending: yes"), command),
            why=say("until the reset the broken part stays in use; a further error may end more programs"),
            fix=(step(say("choose a window soon: let what runs end")), reset(device)),
            about=label(device),
        )


def _waiting(device: Device, retired: Retired) -> Finding | None:
    """A row that failed to be replaced, or waits for it."""
    if not (retired.rows_failed or retired.rows_pending):
        return None
    failed = say("broken memory stays in use: programs will be ended by uncorrected errors again and again")
    waits = say("until the reset the card works around the broken row; a further error may end more programs")
    shows = say(
        "replaced for uncorrected errors: {hard}, for corrected ones: {soft}",
        hard="?" if retired.rows_uncorrected is None else retired.rows_uncorrected,
        soft="?" if retired.rows_corrected is None else retired.rows_corrected,
    )
    return Finding(
        severity="fault" if retired.rows_failed else "warning",
        title=say("a row of memory could not be replaced")
        if retired.rows_failed
        else say("a row of memory waits to be replaced at the next reset"),
        evidence=seen(shows, details(device, "ROW_REMAPPER")),
        why=failed if retired.rows_failed else waits,
        fix=(DRAIN, REPLACE)
        if retired.rows_failed
        else (step(say("choose a window soon: let what runs end")), reset(device)),
        about=label(device),
    )


def _running_out(device: Device, banks: dict[str, int]) -> Finding | None:
    """A bank with few spare rows, or none."""
    none, few = banks.get("none"), banks.get("low")
    if not (none or few):
        return None
    used_up = say(
        "the next uncorrected error in it cannot be replaced, and makes the card one to be returned"
    )
    return Finding(
        severity="warning" if none else "note",
        title=say("a bank of memory has no spare rows left")
        if none
        else say("a bank of memory has few spare rows left"),
        evidence=seen(
            say("banks without a spare row: {count}", count=none)
            if none
            else say("banks with few spare rows: {count}", count=few),
            details(device, "ROW_REMAPPER"),
        ),
        why=used_up if none else say("the card has had many errors in one place; watch whether they go on"),
        fix=(step(say("plan a replacement; keep long jobs off this card until then")),)
        if none
        else (LOOK_AGAIN,),
        about=label(device),
    )
