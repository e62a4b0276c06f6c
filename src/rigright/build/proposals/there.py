"""A PC that is there: the cards it takes as it stands, and what has to be changed for others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from itertools import islice, product

from rigright.base.words import Sentence, say
from rigright.build.judge import IMPOSSIBLE, OK, Ruling, judge
from rigright.build.machine import Rig
from rigright.build.proposals.propose import (
    DOUBT_USD,
    OF_CASE,
    cards_of,
    finish,
    own_usd,
    propose,
    supplies_for,
)
from rigright.build.proposals.record import RECOMMENDED, BuildWish, Proposed
from rigright.facts.shop.tables import Board, Enclosure, PowerSupply, cases

FEW = 3  # supplies and cases that are tried
_SLOT = Board(name="board", slots=(16,))  # where nothing is said of slots: every board has one


def proposed(wanted: BuildWish, *, today: date) -> Proposed:
    """The machines around cards: the PC that is there, or all that can be bought."""
    if wanted.pc is None:
        return propose(wanted, today=today)
    if wanted.machines > 1:
        return Proposed(variants=(), refusals=(), nearest=say("one PC cannot hold several machines"))
    board = wanted.pc.board or (_SLOT if wanted.pc.machine is None else None)
    board = board and replace(board, slots=board.slots or _SLOT.slots)
    bare = replace(wanted.pc, board=board, room=wanted.circuit)
    known = {ruling.reason for ruling in judge(bare)}
    rig = replace(bare, cards=cards_of(wanted))
    tried = [(item, _new(item, known)) for item in _changed(rig, _new(rig, known))]
    able = [pair for pair in tried if all(ruling.verdict != IMPOSSIBLE for ruling in pair[1])]
    if not able:
        worst = next(ruling for ruling in tried[0][1] if ruling.verdict == IMPOSSIBLE)
        return Proposed(variants=(), refusals=(), nearest=worst.sentence)
    best = min(able, key=lambda pair: _price(pair[0], rig) + DOUBT_USD * len(pair[1]))[0]
    made = finish(RECOMMENDED, best, wanted=wanted, today=today, limit_w=wanted.limit_w)
    changed = {"gpu": True, "psu": best.supplies != rig.supplies, "case": best.case != rig.case}
    items = tuple(item for item in made.items if changed.get(item.kind))
    return Proposed(variants=(replace(made, items=items),), refusals=())


def _new(rig: Rig, known: set[Sentence]) -> list[Ruling]:
    """What speaks against cards in a machine, the worst first; not what was so without them."""
    return [ruling for ruling in judge(rig) if ruling.verdict != OK and ruling.reason not in known]


def _changed(rig: Rig, against: list[Ruling]) -> Iterator[Rig]:
    """The machine as it stands; with another power supply, case, or both, where those are what is wrong."""
    parts = {part for ruling in against for part in ruling.parts}
    supplies: list[tuple[PowerSupply, ...]] = [rig.supplies]
    enclosures: list[Enclosure | None] = [rig.case]
    if "psu" in parts:
        supplies += [units for units in supplies_for(rig, refusals={}) if len(units) == 1][:FEW]
    if "case" in parts:
        priced = sorted((case for case in cases() if own_usd(case)), key=lambda case: own_usd(case) or 0.0)
        roomy = (case for case in priced if not judge_case(replace(rig, case=case)))
        enclosures += islice(roomy, FEW)
    for units, case in product(supplies, enclosures):
        yield replace(rig, supplies=units, case=case)


def judge_case(rig: Rig) -> list[Ruling]:
    """What speaks against its case."""
    return [ruling for ruling in judge(rig, OF_CASE) if ruling.verdict != OK]


def _price(rig: Rig, before: Rig) -> float:
    """What is bought for it."""
    supplies = sum(own_usd(unit) or 0.0 for unit in rig.supplies if rig.supplies != before.supplies)
    case = own_usd(rig.case) if rig.case is not None and rig.case != before.case else 0.0
    return supplies + (case or 0.0)
