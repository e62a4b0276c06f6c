"""Memory errors that error correction mends, where they are very many.

Single errors are normal: operators tolerate millions (Azure's health checks 20,000,000 of memory and 10,000
of SRAM, gcm 50,000,000). What tells is the rate, and the difference to the other cards: a card that has a
thousand times more than the others is wearing out.

Warning: 20,000,000 or more since the last reset. Note: 1,000 or more, and 100 times the median of the cards
of the same kind. XID 92 says the same from the driver's side. Source: azurehpc-health-checks, gcm.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import LOOK_AGAIN, details, kinds, label
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step
from rigright.machine.device import Device

TITLE = say("corrected memory errors")
MOST = 20_000_000
LEAST_ODD, ODD_TIMES = 1_000, 100


def check(case: Case) -> Iterator[Verdict]:
    """Each card against the limit, and against the others."""
    for devices in kinds(case):
        counted = [(device, count) for device in devices if (count := _count(device)) is not None]
        median = statistics.median(count for _, count in counted) if counted else 0.0
        for device, count in counted:
            if count >= MOST:
                yield _many(device, count)
            elif len(counted) > 2 and count >= max(LEAST_ODD, ODD_TIMES * median):
                yield Finding(
                    severity="note",
                    title=say("far more corrected memory errors than the other cards"),
                    evidence=seen(
                        say(
                            "{count}; the median of such cards here is {median}",
                            count=f"{count:,}",
                            median=f"{median:,.0f}",
                        ),
                        details(device, "ECC"),
                    ),
                    why=say("nothing is wrong yet; of these cards it is the one that will fail first"),
                    fix=(LOOK_AGAIN,),
                    confidence="likely",
                    about=label(device),
                )
            else:
                yield Fine(says=say("{count} since the last reset", count=count), about=label(device))


def _count(device: Device) -> int | None:
    return None if device.ecc is None else device.ecc.corrected_volatile


def _many(device: Device, count: int) -> Finding:
    return Finding(
        severity="warning",
        title=say("very many corrected memory errors"),
        evidence=seen(
            say("{count} since the last reset; operators allow {most}", count=f"{count:,}", most=f"{MOST:,}"),
            details(device, "ECC"),
        ),
        why=say("memory that is mended so often will fail for good, in the midst of a run"),
        fix=(
            step(say("reset the card at the next window, and look whether the count grows as fast again")),
            step(say("if it does, have the card replaced")),
        ),
        confidence="likely",
        about=label(device),
    )
