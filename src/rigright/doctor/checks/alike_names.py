"""Whether all cards of the machine are of one kind.

Engines that cut a model over cards run at the pace of the slowest and fill them to the size of the
smallest; CUDA orders cards by speed and nvidia-smi by slot, so numbers mean different cards unless
CUDA_DEVICE_ORDER=PCI_BUS_ID. Mixed cards are fine for separate programs: note; a warning where a plan has
cards exchange at every layer.

Source: CUDA programming guide (CUDA_DEVICE_ORDER); engines' placement, data/engines.toml.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step

TITLE = say("cards of one kind")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the machine."""
    found = answering(case)
    counts = Counter(device.name for device, _ in found if device.name)
    if len(found) < 2:
        return
    if len(counts) < 2:
        yield Fine(says=say("{count} alike", count=len(found)))
        return
    ordered = dict(case.machine.environment).get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    exchange = case.wanted is not None and case.wanted.tp > 1
    order = step(say("let numbers mean the same card everywhere"), "export CUDA_DEVICE_ORDER=PCI_BUS_ID")
    yield Finding(
        severity="warning" if exchange else "note",
        title=say("cards of different kinds in one machine"),
        evidence=seen(
            say("{text}", text=", ".join(f"{count}x {name}" for name, count in counts.items())),
            "nvidia-smi -L",
        ),
        why=say("a model cut over them runs at the pace of the slowest and in the memory of the smallest"),
        fix=(
            *(() if ordered else (order,)),
            step(
                say("plan with the very cards: placement for each is part of it"),
                "rigright plan MODEL --on here",
            ),
        ),
    )
