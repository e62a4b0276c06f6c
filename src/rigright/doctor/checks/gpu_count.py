"""Whether a board that bears eight cards shows all of them.

Boards with NVSwitch bear two, four, eight or sixteen cards. Any other count on such a board means that
cards are missing: fallen off the bus, not started, or kept from the driver. In a container or a virtual
machine a share of the cards is normal, and nothing is said. Cards that the bus shows and the driver does
not have a check of their own.

Warning, likely: on a real machine, cards of a board with switches, a count that is no power of two. Source:
NVIDIA HGX and DGX data sheets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import see_kernel_log
from rigright.doctor.record import Case, Evidence, Finding, Fine, Verdict, step
from rigright.facts.chips import Chip
from rigright.facts.fabrics import fabric_of

TITLE = say("all cards of a board are there")
LEAST = 3


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each kind of card on a board with switches."""
    system = case.machine.system
    if system.is_contained or system.is_virtual:
        return
    kinds = Counter(chip for chip in case.chips if chip is not None and fabric_of(chip).kind == "switch")
    silent = case.chips.count(None)
    for chip, answer in kinds.items():
        count = answer + silent  # a card that does not say what it is, is there, and has a check of its own
        boxed = fabric_of(chip).domain <= 16  # a rack's domain tells nothing of one box
        if boxed and count >= LEAST and count & (count - 1):
            yield _short(chip, count)
        elif boxed:
            yield Fine(says=say("{count} of {chip}", count=count, chip=chip.name))


def _short(chip: Chip, count: int) -> Finding:
    whole = 1 << count.bit_length()
    return Finding(
        severity="warning",
        title=say("cards are missing: {count} of {whole}", count=count, whole=whole),
        evidence=(
            Evidence(
                shows=say(
                    "boards with {chip} bear 2, 4, 8 or 16; the driver shows {count}",
                    chip=chip.name,
                    count=count,
                ),
                command="nvidia-smi -L",
            ),
            Evidence(shows=say("what the bus shows"), command="lspci -d 10de: -nn"),
        ),
        why=say(
            "jobs for the whole machine do not start, and layouts with 2, 4 or 8 cards do not come out even"
        ),
        fix=(
            see_kernel_log(),
            step(say("look whether the bus shows the missing card"), "lspci -d 10de: -nn"),
            step(
                say("switch the machine off and on: a reboot often does not bring a lost card back"),
                disturbs=True,
            ),
            step(say("if it stays away, have the card replaced")),
        ),
        confidence="likely",
    )
