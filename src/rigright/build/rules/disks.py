"""Drives: a place for each."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.build.judge import DOUBT, IMPOSSIBLE, BuildRule, Ruling, doubt
from rigright.build.machine import Rig
from rigright.build.rules.processor import LARGE, family_of
from rigright.build.rules.slots import long_slots

_USUAL_SATA = 8


def m2(rig: Rig) -> Iterator[Ruling]:
    """An M.2 slot for each M.2 drive, or a free slot for a carrier."""
    count = sum(disks.count for disks in rig.disks if disks.kind == "m2")
    board = rig.board
    if board is None or board.m2 is None or count <= board.m2:
        return
    slots = None if board.slots is None else len(board.slots)
    free = None if slots is None else slots - rig.n_cards
    crowded = free is not None and (free <= 0 or count - board.m2 > 4 * free)
    yield Ruling(
        verdict=IMPOSSIBLE if crowded else DOUBT,
        parts=("ssd", "board"),
        reason=say(
            "{count} M.2 drives, {have} M.2 slots on {board}", count=count, have=board.m2, board=board.name
        ),
        do=say("use fewer, larger drives")
        if crowded
        else say("put the rest on a carrier card in a free slot"),
    )


def others(rig: Rig) -> Iterator[Ruling]:
    """U.2 drives on desktop boards, many SATA drives."""
    family = family_of(rig)
    u2 = sum(disks.count for disks in rig.disks if disks.kind == "u2")
    if u2 and family is not None and family.socket not in LARGE:
        yield doubt(
            "ssd board",
            say("U.2 drives need an adapter on a desktop board"),
            do=say("use M.2 drives, or a powered M.2-to-U.2 adapter"),
        )
    sata = sum(disks.count for disks in rig.disks if disks.kind == "sata")
    if sata > _USUAL_SATA and long_slots(rig) is not None:
        yield doubt(
            "ssd board",
            say("{count} SATA drives: more than a board has ports", count=sata),
            do=say("add an HBA card, and count its slot"),
        )


RULES = (BuildRule(name="m2", judge=m2), BuildRule(name="drives", judge=others))
