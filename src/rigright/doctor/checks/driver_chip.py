"""Whether the driver knows the chips: new enough for the newest, not too new for the oldest.

A chip works from the first driver that knew it on, and not with branches after the last that did: 580 is
the last branch for Maxwell, Pascal and Volta.

Too old or too new: fault. Sources: data/cuda.csv (the first CUDA, and its driver, that knew a chip),
data/driver_branches.csv, each row with its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step
from rigright.doctor.stack import capabilities, driver, numbers
from rigright.facts.drivers import branch_of, last_branch
from rigright.facts.software import driver_of_chip, written

TITLE = say("the driver knows the cards")
_SHOW = "nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a kind of chip."""
    have = numbers(driver(case))
    said = driver(case)
    if have is None or said is None or case.machine.system.virtual == "wsl2":
        return
    branch = branch_of(written(have))
    for capability, name in capabilities(case).items():
        first = driver_of_chip(capability)
        if first is not None and have < first and have[0] < first[0]:
            yield Finding(
                severity="fault",
                title=say(
                    "driver {driver} is too old for {chip}: from {first} on",
                    driver=said,
                    chip=name,
                    first=written(first),
                ),
                evidence=seen(say("driver {driver}", driver=said), _SHOW),
                why=say("the card may be shown, but programs do not run on it, or at a crawl"),
                fix=(step(say("install a driver of a branch that knows it"), "rigright setup --script"),),
                confidence="likely",
                about=name,
            )
        elif branch is not None and capability < branch.cc_min:
            last = last_branch(capability)
            yield Finding(
                severity="fault",
                title=say("driver {driver} no longer knows {chip}", driver=said, chip=name),
                evidence=seen(say("driver {driver}", driver=said), _SHOW),
                why=say("no program can use the card"),
                fix=(
                    step(
                        say(
                            "go back to branch {branch}, the last for this chip",
                            branch=last.branch if last else "?",
                        ),
                        "rigright setup --script",
                    ),
                ),
                about=name,
            )
        else:
            yield Fine(says=say("{driver} knows it", driver=said), about=name)
