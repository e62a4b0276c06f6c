"""Memory errors that error correction could not mend.

An uncorrected error means that a program read wrong data: the driver ends it (XID 48, 94, 95). Errors since
the last reset are a fault; errors of the card's whole life with none since the reset are worth knowing, for
the rows they struck have been taken out of use. AMD counts apart what was found wrong before anybody read it
(deferred): warning.

Thresholds: more than 0. Sources: gpud and gcm (uncorrected 0), NVIDIA's GPU memory error management guide.
Cards without error correction, as GeForce, tell nothing, and nothing is said of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import LOOK_AGAIN, answering, bad_pages_line, details, label, reset, unread
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step
from rigright.machine.device import Device, Ecc

TITLE = say("uncorrected memory errors")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card with error correction."""
    for device, _ in answering(case):
        ecc = device.ecc
        if ecc is None or ecc.on is False:
            continue
        if ecc.uncorrected_volatile is None and ecc.uncorrected_aggregate is None:
            yield unread(device, details(device, "ECC"))
        elif ecc.uncorrected_volatile:
            yield Finding(
                severity="fault",
                title=say("uncorrected memory errors since the last reset"),
                evidence=seen(
                    say(
                        "{count} since the reset, {ever} ever",
                        count=ecc.uncorrected_volatile,
                        ever="?" if ecc.uncorrected_aggregate is None else ecc.uncorrected_aggregate,
                    ),
                    details(device, "ECC"),
                ),
                why=say(
                    "a program read wrong data and was ended, or its result is wrong; it will happen again"
                ),
                fix=(
                    step(
                        say("let what runs end; check results written since the error against a second run")
                    ),
                    reset(device),
                    step(say("see whether rows wait to be replaced"), bad_pages_line(device))
                    if device.vendor != "amd"
                    else step(say("see which pages of memory are bad"), bad_pages_line(device)),
                    step(say("if errors come back after the reset, have the card replaced")),
                ),
                about=label(device),
            )
        elif ecc.deferred_volatile:
            yield _deferred(device, ecc)
        elif ecc.uncorrected_aggregate:
            yield _past(device, ecc)
        else:
            yield Fine(says=say("none"), about=label(device))


def _deferred(device: Device, ecc: Ecc) -> Finding:
    return Finding(
        severity="warning",
        title=say("memory holds wrong data that no program has read yet"),
        evidence=seen(
            say("{count} deferred errors since the last reset", count=ecc.deferred_volatile),
            details(device, "ECC"),
        ),
        why=say("the driver takes such pages out of use; a program that reads one first is ended"),
        fix=(step(say("see which pages of memory are bad"), bad_pages_line(device)), LOOK_AGAIN),
        about=label(device),
    )


def _past(device: Device, ecc: Ecc) -> Finding:
    return Finding(
        severity="note",
        title=say("uncorrected memory errors in the past, none since the last reset"),
        evidence=seen(
            say("{count} in the life of the card", count=ecc.uncorrected_aggregate), details(device, "ECC")
        ),
        why=say(
            "the struck memory has been replaced by spare rows; a card that goes "
            "on collecting them is failing"
        ),
        fix=(LOOK_AGAIN,),
        about=label(device),
    )
