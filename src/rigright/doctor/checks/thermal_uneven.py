"""Whether one card is much hotter than its neighbours at the same work.

Cards of one kind that all work lie within some ten degrees of each other; the inner ones of a row run
warmer. More than 15 degrees above the median of at least three is a fan, a heat sink that came loose, or
air that goes round.

Warning, likely. Source: comparison within the machine; the limit is our own.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import AIR, is_busy, kinds, label
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step

TITLE = say("cards of one kind are equally warm")
MOST_C = 15
LEAST_CARDS = 3
_COMMAND = "nvidia-smi --query-gpu=index,temperature.gpu,power.draw,fan.speed --format=csv"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each kind of which at least three work."""
    for devices in kinds(case):
        warm = [(one, one.thermal.gpu_c) for one in devices if one.thermal.gpu_c is not None and is_busy(one)]
        if len(warm) < LEAST_CARDS:
            continue
        median = statistics.median(gpu_c for _, gpu_c in warm)
        hot = [(device, gpu_c) for device, gpu_c in warm if gpu_c > median + MOST_C]
        for device, gpu_c in hot:
            yield Finding(
                severity="warning",
                title=say("the card is much hotter than the others at the same work"),
                evidence=seen(
                    say(
                        "{temperature} °C; the others {median} °C",
                        temperature=f"{gpu_c:.0f}",
                        median=f"{median:.0f}",
                    ),
                    _COMMAND,
                ),
                why=say("it will be the first to slow down, and the others will wait for it"),
                fix=(
                    AIR,
                    step(say("have its heat sink seated anew if the air is good")),
                ),
                confidence="likely",
                about=label(device),
            )
        if not hot:
            yield Fine(
                says=say("all within {most} degrees of {median} °C", most=MOST_C, median=f"{median:.0f}")
            )
