"""Main memory against the cards' memory.

The guides contradict each other: one asks for twice the cards' memory, one for four times, one for 8 to 16
GB for each GB of a card (which nobody builds). What the work needs: a checkpoint passes through main memory
on its way to the cards, loaders hold batches, offloading holds what does not fit. As much as the cards hold
together is a floor that works for serving; twice is comfortable for training.

Warning: less than half the cards' memory; note: less than all of it. Unified memory has nothing to compare.
Source: guides 2 and 3 and their contradiction (look-up myths); DGX H100 ships 2 TiB for 640 GiB of cards.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import show_bytes
from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step

TITLE = say("main memory large enough for the cards")
HALF, WHOLE = 0.5, 0.98  # what the firmware keeps is not counted as missing


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for a machine whose cards have memory of their own."""
    memory = case.machine.memory
    cards = [
        one.mem_total_bytes
        for one, chip in case.pairs
        if not one.unified_memory and not (chip is not None and chip.unified_memory)
    ]
    usable = min(
        (size for size in (memory.total_bytes, memory.limit_bytes) if size is not None), default=None
    )
    if usable is None or not cards or any(size is None for size in cards):
        return
    held = sum(size for size in cards if size is not None)
    if usable >= WHOLE * held:
        yield Fine(
            says=say("{memory} for {cards} of the cards", memory=show_bytes(usable), cards=show_bytes(held))
        )
        return
    limited = memory.limit_bytes is not None and memory.limit_bytes == usable
    title = say(
        "{memory} of main memory for {cards} of the cards", memory=show_bytes(usable), cards=show_bytes(held)
    )
    raised = step(say("raise the container's memory limit"))
    more = step(say("add memory: as much as the cards hold together, twice for training"), disturbs=True)
    yield Finding(
        severity="warning" if usable < HALF * held else "note",
        title=title,
        evidence=seen(title, "free -h; cat /sys/fs/cgroup/memory.max"),
        why=say(
            "loading a model passes through main memory; loaders, checkpoints and offloading need it too"
        ),
        fix=(raised,)
        if limited
        else (more, step(say("or load with safetensors, which maps files and needs little"))),
        verify="free -h",
        confidence="likely",
    )
