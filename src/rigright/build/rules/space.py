"""The case: board, cards, power supply and cooler go in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.units import KILO
from rigright.base.words import say
from rigright.build.judge import DOUBT, IMPOSSIBLE, BuildRule, Ruling, doubt, fine, impossible
from rigright.build.machine import Rig
from rigright.build.rules.slots import ON_CABLES, is_open

_SMALLER = {  # form of a board -> forms whose cases take it
    "ITX": {"ITX", "mATX", "ATX", "EATX", "EEB", "CEB", "XL-ATX"},
    "mATX": {"mATX", "ATX", "EATX", "EEB", "CEB", "XL-ATX"},
    "ATX": {"ATX", "EATX", "EEB", "CEB", "XL-ATX"},
    "CEB": {"CEB", "EEB", "EATX"},
    "EATX": {"EATX", "EEB", "XL-ATX"},
}
_RIGHT_HAND = 0.005  # m of a card's length that makers measure differently
_SAG_M = 0.32


def board(rig: Rig) -> Iterator[Ruling]:
    """The case takes the board's form."""
    case, own = rig.case, None if rig.board is None else rig.board.form
    if case is None or own is None or case.boards is None or rig.board is None:
        return
    if case.boards & _SMALLER.get(own, {own}):
        return
    large = own in {"EATX", "CEB", "XL-ATX"} and "ATX" in case.boards
    roomy = own == "EEB" and "ATX" in case.boards and ("Full" in (case.kind or "") or "EATX" in case.boards)
    yield Ruling(
        verdict=DOUBT if large or roomy else IMPOSSIBLE,
        parts=("board", "case"),
        reason=say(
            "{case} is listed for {forms} boards; {board} is {form}",
            case=case.name,
            forms=" / ".join(sorted(case.boards)),
            board=rig.board.name,
            form=own,
        ),
        do=say("compare the board's size with the case's tray")
        if large or roomy
        else say("use a case for {form}, or a smaller board", form=own),
    )


def length(rig: Rig) -> Iterator[Ruling]:
    """Cards are no longer than the case has room."""
    case = rig.case
    if case is None or case.card_m is None or is_open(rig) or rig.machine is not None:
        return
    for cards in rig.cards:
        least, usual = cards.length_m or cards.shape.least_m, cards.length_m or cards.shape.usual_m
        if least is None or usual is None:
            continue
        names = {
            "chip": cards.shape.model or cards.chip.name,
            "case": case.name,
            "most": f"{case.card_m * KILO:.0f}",
        }
        if least > case.card_m + _RIGHT_HAND:
            yield impossible(
                "gpu case",
                say(
                    "{chip} is {long} mm long; {case} has room for {most} mm",
                    long=f"{least * KILO:.0f}",
                    **names,
                ),
                do=say("use a longer case or a shorter card"),
            )
        elif usual > case.card_m + _RIGHT_HAND:
            yield doubt(
                "gpu case",
                say(
                    "most {chip} are {long} mm long; {case} has room for {most} mm",
                    long=f"{usual * KILO:.0f}",
                    **names,
                ),
                do=say("choose one of its shorter models"),
            )


def upright(rig: Rig) -> Iterator[Ruling]:
    """Cards of full height stand in no flat chassis, unless on a riser."""
    kind = "" if rig.case is None else rig.case.kind or ""
    flat = kind in {"rack 1U", "rack 2U"}
    tall = [
        cards
        for cards in rig.cards
        if "low-profile" not in cards.chip.form and (cards.shape.least_m or 1.0) > 0.17
    ]
    if not flat or not tall or rig.case is None or rig.machine is not None:
        return
    yield Ruling(
        verdict=DOUBT if kind == "rack 2U" and ON_CABLES.search(rig.remarks) else IMPOSSIBLE,
        parts=("gpu", "case"),
        reason=say(
            "{chip} is full height: it does not fit in {case}", chip=tall[0].chip.name, case=rig.case.name
        ),
        do=say("use a 4U chassis, a chassis with a riser, or a low-profile card"),
    )


def supply(rig: Rig) -> Iterator[Ruling]:
    """The case takes the supply's form and length."""
    case = rig.case
    if case is None or is_open(rig):
        return
    for supply in dict.fromkeys(rig.supplies):
        names = {"psu": supply.name, "case": case.name}
        if supply.form == "CRPS" and "rack" not in (case.kind or ""):
            yield doubt(
                "psu case",
                say("{psu} is a server power supply: {case} has no bay for it", **names),
                do=say("mount it outside with a breakout board, or use an ATX power supply"),
            )
        elif (
            case.psu_form is not None
            and supply.form in {"ATX", "SFX"}
            and supply.form not in case.psu_form
            and not (supply.form == "SFX" and "ATX" in case.psu_form)
        ):
            yield impossible(
                "psu case",
                say(
                    "{psu} is {form}; {case} takes {takes}",
                    form=supply.form,
                    takes=" / ".join(sorted(case.psu_form)),
                    **names,
                ),
                do=say("use a power supply of that form factor"),
            )
        elif case.psu_m is not None and supply.length_m is not None and supply.length_m > case.psu_m:
            yield impossible(
                "psu case",
                say(
                    "{psu} is {long} mm long; {case} has room for {most} mm",
                    long=f"{supply.length_m * KILO:.0f}",
                    most=f"{case.psu_m * KILO:.0f}",
                    **names,
                ),
                do=say("use a shorter power supply"),
            )
    if (
        len(rig.supplies) > 1
        and "Tower" in (case.kind or "")
        and "server edition" not in case.name.casefold()
    ):
        yield doubt(
            "psu case",
            say(
                "{case} has one power supply bay; {count} are listed", case=case.name, count=len(rig.supplies)
            ),
            do=say("check for a second bay, or mount one outside"),
        )


def cooler(rig: Rig) -> Iterator[Ruling]:
    """The cooler is no higher than the case; a radiator has a place."""
    case, fan = rig.case, rig.cooler
    if case is None or fan is None or is_open(rig):
        return
    names = {"cooler": fan.name, "case": case.name}
    if (
        fan.type != "liquid"
        and fan.height_m is not None
        and case.cooler_m is not None
        and fan.height_m > case.cooler_m
    ):
        yield impossible(
            "cooler case",
            say(
                "{cooler} is {high} mm high; {case} has room for {most} mm",
                high=f"{fan.height_m * KILO:.0f}",
                most=f"{case.cooler_m * KILO:.0f}",
                **names,
            ),
            do=say("use a lower or a liquid cooler"),
        )
    if (
        fan.radiator_mm is not None
        and fan.radiator_mm >= 280
        and (case.kind or "").startswith(("Mini ITX", "rack 1", "rack 2", "rack 3"))
    ):
        yield doubt(
            "cooler case",
            say("unknown whether a {size} mm radiator fits {case}", size=fan.radiator_mm, case=case.name),
            do=say("check the case's manual"),
        )


def _sag(rig: Rig) -> Iterator[Ruling]:
    """Long heavy cards are held up."""
    heavy = [
        cards for cards in rig.cards if (cards.usual_slots or 0) >= 3 and (cards.shape.usual_m or 0) >= _SAG_M
    ]
    if heavy and rig.case is not None and not is_open(rig):
        yield fine(
            "gpu case", say("{chip} weighs 1.5 to 2.5 kg: use a support bracket", chip=heavy[0].chip.name)
        )


def rack(rig: Rig) -> Iterator[Ruling]:
    """What stands in a rack is no higher than the place in it."""
    most = None if rig.room is None else rig.room.units
    what = rig.machine or rig.case
    if most is None or what is None:
        return
    if rig.machine is None:
        height = re.match(r"rack (\d{1,2})U", what.kind or "")
        high, mounts = int(height[1]) if height else None, height is not None
    else:
        high, mounts = rig.machine.units, rig.machine.kind in {"server", "modules"}
    names = {"machine": what.name, "most": most, "high": high or 0}
    if not mounts:
        wrong = say("{machine} does not mount in a rack", **names)
        yield impossible("case room", wrong, do=say("use a rack case"))
    elif high is None:
        yield doubt("case room", say("height of {machine} unknown", **names))
    elif high > most:
        wrong = say("{machine} is {high}U high; the rack has room for {most}U", **names)
        yield impossible("case room", wrong, do=say("use a lower chassis, or more rack space"))


RULES = (
    BuildRule(name="case-board", judge=board),
    BuildRule(name="card-length", judge=length),
    BuildRule(name="card-height", judge=upright),
    BuildRule(name="psu-form", judge=supply),
    BuildRule(name="cooler-height", judge=cooler),
    BuildRule(name="sag", judge=_sag),
    BuildRule(name="rack", judge=rack),
)
