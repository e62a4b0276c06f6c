"""Slots and lanes: a slot for each card, the lanes behind it, room between cards."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from rigright.base.words import say
from rigright.build.judge import DOUBT, IMPOSSIBLE, BuildRule, Ruling, doubt, fine, impossible
from rigright.build.machine import Rig
from rigright.build.rules.processor import chipset_of, family_of

ON_CABLES = re.compile(
    r"riser|oculink|slimsas|mcio|bifurcat|splitter|plx|pcie switch|c-payne|cpayne|extension|adapter card|"
    r"x1 |延长线|转接|拆分|桥接板"
)
_PLACES = {"ITX": 1, "mATX": 4, "ATX": 7, "CEB": 7, "EATX": 8, "EEB": 8, "XL-ATX": 9}
_WHOLE = 0.15  # of a slot, that a card may be wider than whole ones


def is_open(rig: Rig) -> bool:
    """Whether cards hang free, in a frame or a chassis made for risers."""
    kind = "" if rig.case is None else rig.case.kind or ""
    return kind in {"open frame", "rack 4U GPU"}


def on_cables(rig: Rig) -> bool:
    """Whether cards may stand away from the board."""
    return is_open(rig) or ON_CABLES.search(rig.remarks) is not None


def long_slots(rig: Rig) -> int | None:
    """Slots a card goes into without an adapter."""
    board = rig.board
    if board is None:
        return None
    if board.slots is not None:
        return sum(slot >= (8 if board.together else 2) for slot in board.slots)  # x2 and x4 may be long ones
    return 1 if board.form == "ITX" else None


def _slot_each(rig: Rig) -> Iterator[Ruling]:
    """A slot for each card."""
    have, board = long_slots(rig), rig.board
    if have is None or board is None or not rig.cards:
        return
    names = {"cards": rig.n_cards, "board": board.name, "slots": have}
    if rig.n_cards <= have:
        if (
            not board.together
            and rig.n_cards > sum(slot >= 16 for slot in board.slots or (16,))
            and not on_cables(rig)
        ):
            yield doubt(
                "gpu board",
                say(
                    "{cards} cards: slots of {board} that are not x16 must be open-ended or full-length",
                    **names,
                ),
                do=say("check a photo of the board, or use a riser"),
            )
        return
    if on_cables(rig):
        every = (
            len(board.slots or (1,))
            + (board.m2 or 2)
            + sum(slot >= 16 for slot in board.slots or (16,))
            * (3 if "bifurc" in rig.remarks or "splitter" in rig.remarks or "拆分" in rig.remarks else 1)
        )
        yield Ruling(
            verdict=DOUBT
            if rig.n_cards <= every or "switch" in rig.remarks or "plx" in rig.remarks
            else IMPOSSIBLE,
            parts=("gpu", "board"),
            reason=say(
                "{cards} cards, {slots} full-length slots on {board}: the rest need x1, M.2 or "
                "bifurcated slots",
                **names,
            ),
            do=say("check that the BIOS supports bifurcation, and expect slow links"),
        )
    else:
        yield impossible(
            "gpu board",
            say("{cards} cards, {slots} usable slots on {board}", **names),
            do=say("use a board with more slots (Threadripper, EPYC, Xeon W), or fewer cards"),
        )


def others(rig: Rig) -> Iterator[Ruling]:
    """Network cards find a slot beside the GPUs, be it a short one."""
    board = rig.board
    if board is None or board.slots is None or not rig.nics or on_cables(rig):
        return
    if rig.n_cards <= len(board.slots) < rig.n_cards + rig.nics:
        yield impossible(
            "nic board",
            say(
                "{count} cards and network cards, {slots} slots on {board}",
                count=rig.n_cards + rig.nics,
                slots=len(board.slots),
                board=board.name,
            ),
            do=say("use a board with a fast onboard port, or with more slots"),
        )


def lanes(rig: Rig) -> Iterator[Ruling]:
    """Each card has enough lanes where the board's are known."""
    board = rig.board
    if rig.n_cards < 2 or rig.machine is not None or board is None or not board.together:
        return
    served = sorted(board.together, reverse=True)[: rig.n_cards]
    shown_lanes = " ".join(f"x{number}" for number in served)
    if len(served) < rig.n_cards:
        return
    if min(served) >= 8:
        yield fine("gpu board", say("lanes: {lanes}", lanes=shown_lanes))
        return
    yield doubt("gpu board", say("lanes with all cards installed: {lanes}", lanes=shown_lanes), do=_SLOW)


_SLOW = say("fine for pipeline parallel (layer split); slow for tensor parallel and training")


def shared_lanes(rig: Rig) -> Iterator[Ruling]:
    """The processor's lanes, shared among cards on a board whose own are not known."""
    family, chipset, board = family_of(rig), chipset_of(rig), rig.board
    if rig.n_cards < 2 or rig.machine is not None or family is None or (board and board.together):
        return
    have = family.card_lanes * rig.cpu_count
    names = {"lanes": have, "cards": rig.n_cards, "board": "" if board is None else board.name}
    if have / rig.n_cards < 4:
        says = say("{lanes} CPU lanes for {cards} cards: fewer than 4 each", **names)
        do = say("use a platform with more lanes: Threadripper, EPYC, Xeon W")
    elif have / rig.n_cards < 8:
        says = say("{lanes} CPU lanes for {cards} cards: some get x4 or chipset lanes", **names)
        do = _SLOW
    elif have == 16 and board is not None and chipset is not None and chipset.splits is False:
        says = say("{board}: the second slot has x4 or less, from the chipset", **names)
        do = say("fine for pipeline parallel (layer split); for tensor parallel use a board with x8/x8")
    elif have == 16 and board is not None:
        says = say("{board}: unknown whether its slots run x8/x8 with two cards", **names)
        do = say('look for "x8/x8" in its manual; x4 from the chipset slows tensor parallel')
    else:
        return
    yield doubt("gpu cpu board", says, do=do)


def widths(rig: Rig, *, usual: bool) -> list[int] | None:
    """Whole slots that each card covers, narrow ones first."""
    numbers: list[int] = []
    for cards in rig.cards:
        wide = cards.usual_slots if usual else cards.least_slots
        if wide is None:
            return None
        numbers += [max(1, math.ceil(wide - _WHOLE))] * cards.count
    return sorted(numbers)


def shown(wide: list[int]) -> str:
    """Widths for people: "2 + 3 + 3", "14x 2"."""
    if len(wide) > 4 and len(set(wide)) == 1:
        return f"{len(wide)}x {wide[0]}"
    return " + ".join(map(str, wide))


def fits(rig: Rig, wide: list[int]) -> bool:
    """Whether cards of such widths stand in the board's slots side by side, within the case."""
    board, case = rig.board, rig.case
    most = None if case is None or is_open(rig) else case.slots
    span = None if board is None else _PLACES.get(board.form or "")
    if most is not None and sum(wide) > max(most, 0):
        return False
    if board is not None and board.places and board.slots:
        lanes = board.together or (16,) * len(board.places)
        places = sorted(place for place, number in zip(board.places, lanes, strict=False) if number >= 2)
        end, left = 0, list(wide)
        for place in places:
            if left and place > end and (most is None or place + left[0] - 1 <= max(most, min(7, most))):
                end = place + left.pop(0) - 1
        return not left
    if span is None:
        return True
    return sum(wide[:-1]) + 1 <= span


def spacing(rig: Rig) -> Iterator[Ruling]:
    """Cards stand side by side without covering each other's slots."""
    have = long_slots(rig)
    if rig.n_cards < 1 or rig.board is None or rig.machine is not None:
        return
    if have is not None and rig.n_cards > have:
        return  # told by `slot_each`
    least, usual = widths(rig, usual=False), widths(rig, usual=True)
    if least is None or usual is None:
        return
    closed = rig.case is not None and not is_open(rig)
    names = {"cards": rig.n_cards, "wide": shown(least), "board": rig.board.name,
             "case": "" if rig.case is None else rig.case.name}  # fmt: skip
    if not fits(rig, least):
        if is_open(rig) and ON_CABLES.search(rig.remarks) is not None:
            yield fine("gpu case", say("cards on riser cables"))
        elif on_cables(rig) or (rig.case is None and rig.n_cards > 1):
            yield doubt(
                "gpu board",
                say("cards are {wide} slots wide: they do not all fit on {board}", **names),
                do=say("use riser cables in an open frame or a GPU chassis"),
            )
        else:
            yield impossible(
                "gpu board case",
                say("cards are {wide} slots wide: too wide for {board} in {case}", **names),
                do=say("use two-slot blower cards, an open frame with risers, or fewer cards"),
            )
    elif closed and not on_cables(rig) and not fits(rig, usual):
        names["wide"] = shown(usual)
        yield doubt(
            "gpu board case",
            say("most of these cards are {wide} slots wide: too wide for {board} in {case}", **names),
            do=say('choose the narrowest models, and add "(2-slot)" to the list'),
        )


RULES = (
    BuildRule(name="slots", judge=_slot_each),
    BuildRule(name="nic-slots", judge=others),
    BuildRule(name="lanes", judge=lanes),
    BuildRule(name="shared-lanes", judge=shared_lanes),
    BuildRule(name="spacing", judge=spacing),
)
