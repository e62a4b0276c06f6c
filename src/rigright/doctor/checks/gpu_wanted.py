"""Whether the machine has the cards a plan was made for.

Only with `doctor --for PLAN`. Fewer cards than planned, or other ones: fault, the plan does not hold here.
Figures of a plan are for its very chip, and so are memory and layout.

Source: the plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step
from rigright.facts.chips import by_id

TITLE = say("the cards of the plan")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each kind of card in the plan."""
    if case.wanted is None:
        return
    here = Counter(chip.id for _, chip in answering(case) if chip is not None)
    for wanted, count in Counter(case.wanted.chips).items():
        name = by_id()[wanted].name
        if here[wanted] >= count:
            yield Fine(says=say("{count} of {chip} are here", count=here[wanted], chip=name))
        else:
            yield _missing(case, name, wanted=count, here=here[wanted])


def _missing(case: Case, name: str, *, wanted: int, here: int) -> Finding:
    there = Counter(device.name or device.vendor for device, _ in answering(case))
    listed = ", ".join(f"{count}x {kind}" for kind, count in there.items())
    return Finding(
        severity="fault",
        title=say(
            "the plan wants {wanted} of {chip}, and {here} answer", wanted=wanted, chip=name, here=here
        ),
        evidence=seen(
            say("here: {cards}", cards=listed) if listed else say("here: no card answers"), "nvidia-smi -L"
        ),
        why=say(
            "memory, layout and speed of the plan are of other cards; it will not start, or not as planned"
        ),
        fix=(
            step(say("look for missing cards: the other checks say why one does not answer")),
            step(say("or plan for what is here"), "rigright plan MODEL --on here"),
        ),
        verify="rigright doctor --only gpu_wanted --for PLAN.json",
    )
