"""Errors that NVLink links count.

A link sends a packet again after an error (replay) and is brought up anew after many (recovery). Some
replays are normal over weeks; a recovery means that the link was down for a moment. Any recovery: warning;
1,000 replays or more since the driver loaded: warning; the link most likely has a bad contact.

Sources: DCGM (a single fatal error fails a link), NVIDIA's NVLink error counters; 1,000 is our own limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering, label, reset
from rigright.doctor.record import Case, Evidence, Finding, Fine, Verdict, as_root, step
from rigright.machine.device import Device

TITLE = say("NVLink links without errors")
MANY_REPLAYS = 1_000
MOST_SHOWN = 4


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card that counts errors of its links."""
    for device, _ in answering(case, vendor="nvidia"):
        counted = [(link.index, dict(link.errors)) for link in device.links or () if link.errors]
        if not counted:
            continue
        bad = [
            (index, errors)
            for index, errors in counted
            if errors.get("recovery", 0) > 0 or errors.get("replay", 0) >= MANY_REPLAYS
        ]
        if bad:
            yield _finding(device, bad)
        else:
            yield Fine(says=say("{count} links", count=len(counted)), about=label(device))


def _finding(device: Device, bad: list[tuple[int, dict[str, int]]]) -> Finding:
    command = f"nvidia-smi nvlink -e -i {device.index}"
    told = [
        say(
            "link {link}: {counts}",
            link=index,
            counts=", ".join(f"{name} {count:,}" for name, count in errors.items() if count),
        )
        for index, errors in bad
    ]
    return Finding(
        severity="warning",
        title=say("a link of NVLink counts errors"),
        evidence=tuple(Evidence(shows=one, command=command) for one in told[:MOST_SHOWN]),
        why=say(
            "each repeat costs time in every collective, and a link that wears will go down in a long run"
        ),
        fix=(
            as_root(
                say("set the counters to zero, and look again after an hour of work"),
                f"nvidia-smi nvlink -re -i {device.index}",
            ),
            reset(device),
            step(say("if the same link counts again, have the card or its board replaced")),
        ),
        verify=command,
        confidence="likely",
        about=label(device),
    )
