"""Whether HSA_OVERRIDE_GFX_VERSION makes cards run code that they can run.

The variable makes ROCm take every card for another chip. It is the way to run the kernels of gfx1030 on its
kin (gfx1031, gfx1032), and spreads from there into shell profiles, where it does harm: it holds for all cards
of a machine and for all programs, it outlives the card it was meant for, and it keeps kernels that were made
for a card from being used. Kernels of another generation are wrong code: page faults, hangs, wrong results.
Graphics inside processors (gfx1103, gfx1150) hang when they are taken for the card gfx1100.

Another generation, or a value that is no version: fault. A chip inside a processor taken for a card, or an
override of a card that an installed PyTorch knows by itself: warning. Source: ROCm/rocBLAS#1339,
ROCm/rocm-libraries#6320, ROCm/TheRock#1184.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.gfx import OVERRIDE, generation, override_of
from rigright.doctor.gpus import answering, label
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Severity, Verdict, seen, step
from rigright.doctor.stack import frameworks, variable
from rigright.machine.amd.isa import shares_memory

TITLE = say("cards run code of their own kind")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card of AMD, where the variable is set."""
    told = variable(case, OVERRIDE)
    cards = [device for device, _ in answering(case, vendor="amd")]
    if not told or not cards:
        return
    claimed = override_of(case)
    if claimed is None:
        yield _finding(told, "fault", title=say("it is no version: {value}", value=told), about=OVERRIDE)
        return
    for device in cards:
        found = None if device.isa is None else _judged(case, device.isa, claimed=claimed)
        if device.isa is None:
            why = say("its instruction set is not told")
            yield NotSeen(why=why, see="amd-smi static --asic", about=label(device))
        elif found is None:
            yield Fine(says=say("{isa} runs as {other}", isa=device.isa, other=claimed), about=label(device))
        else:
            yield _finding(told, found[0], title=found[1], about=label(device))


def _judged(case: Case, isa: str, *, claimed: str) -> tuple[Severity, Sentence] | None:
    """How bad it is for one card."""
    if isa == claimed:
        return None
    if generation(isa) != generation(claimed):
        return "fault", say(
            "{isa} is made to run code of another generation: {other}", isa=isa, other=claimed
        )
    if any(isa in (torch.archs or ()) for _, torch in frameworks(case, "torch")):
        return "warning", say("{isa} is taken for {other}, though PyTorch knows it", isa=isa, other=claimed)
    if shares_memory(isa) and not shares_memory(claimed) and generation(isa) == "11":
        return "warning", say(
            "{isa}, inside a processor, is taken for the card {other}", isa=isa, other=claimed
        )
    return None


def _finding(told: str, severity: Severity, *, title: Sentence, about: str) -> Finding:
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(f"{OVERRIDE}={told}", f"echo ${OVERRIDE}"),
        why=say("wrong code hangs the card, ends programs, or gives wrong results without a word"),
        fix=(
            step(say("leave the variable out, and take it out of shell profiles"), f"unset {OVERRIDE}"),
            step(say("see whether PyTorch has kernels for the card"), "rigright doctor --only torch_rocm"),
        ),
        about=about,
    )
