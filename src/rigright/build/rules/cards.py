"""Cards: what goes into a slot at all, air, links between them, makers side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.words import say
from rigright.build.judge import DOUBT, IMPOSSIBLE, BuildRule, Ruling, doubt, impossible
from rigright.build.machine import Cards, Rig
from rigright.build.rules.slots import is_open, on_cables
from rigright.facts.shop.cards import OPEN, PASSIVE, SOLDERED

_DUCTED = re.compile(
    r"fan|shroud|duct|blower|3d[- ]?print|water|block|liquid|风扇|风道|导风|涡轮|鼓风|水冷|暴力"
)
_ADAPTED = re.compile(r"sxm2?[- ]?(?:to|2)[- ]?pcie|pcie adapter|adapter board|转接")
_FULL_AIR_W = 75.0
_SIDE_BY_SIDE_W = 200.0


def _names(cards: Cards) -> dict[str, object]:
    return {"count": cards.count, "chip": cards.chip.name, "form": cards.chip.form}


def pluggable(rig: Rig) -> Iterator[Ruling]:
    """Modules, chips of laptops and of Macs go into no slot."""
    if rig.machine is not None:
        return
    for cards in rig.cards:
        if not cards.chip.form.startswith(SOLDERED) or cards.chip.form.startswith("OAM/PCIe"):
            continue
        if cards.chip.form == "cloud only":
            yield impossible(
                "gpu",
                say("{chip} is available in clouds only", **_names(cards)),
                do=say("rent it, or use a PCIe card"),
            )
            continue
        adapted = cards.chip.form.startswith("SXM2") and _ADAPTED.search(rig.remarks) is not None
        yield Ruling(
            verdict=DOUBT if adapted else IMPOSSIBLE,
            parts=("gpu", "board"),
            reason=say("{chip} is {form}: it does not fit a PCIe slot", **_names(cards)),
            do=say("hobbyist SXM2 adapters exist: you must solve power and cooling yourself")
            if adapted
            else say("use its PCIe version, or a complete machine with these modules"),
        )


def air(rig: Rig) -> Iterator[Ruling]:
    """Passive cards need a server's air, open ones room between them."""
    if rig.machine is not None or not rig.cards:
        return
    kind = "" if rig.case is None else rig.case.kind or ""
    for cards in rig.cards:
        if cards.shape.cooling != PASSIVE:
            continue
        if kind.startswith("rack") or _DUCTED.search(_remarks_but(rig)):
            continue
        closed = "Tower" in kind or "Desktop" in kind
        weak = (cards.watts or 300.0) <= _FULL_AIR_W
        yield Ruling(
            verdict=IMPOSSIBLE if closed and not weak else DOUBT,
            parts=("gpu", "case"),
            reason=say("{chip} has no fans: it needs server airflow", **_names(cards)),
            do=say("add a blower or a ducted fan to each card, and add it to the list"),
        )
    hot = [
        card for card in rig.cards if card.shape.cooling == OPEN and (card.watts or 0.0) >= _SIDE_BY_SIDE_W
    ]
    count = sum(item.count for item in hot)
    loose = any(item.shape.blowers and (item.least_slots or 3) <= 2 for item in hot)  # they may be blowers
    if count >= 3 and rig.case is not None and not is_open(rig) and not on_cables(rig):
        yield Ruling(
            verdict=IMPOSSIBLE if count >= 4 and "Tower" in kind and not loose else DOUBT,
            parts=("gpu", "case"),
            reason=say(
                "{count} open-air cards of {watts} W side by side heat each other in {case}",
                count=count,
                watts=f"{max(item.watts or 0 for item in hot):.0f}",
                case=rig.case.name,
            ),
            do=say("use blower cards, water blocks, or an open frame with risers"),
        )


def _remarks_but(rig: Rig) -> str:
    """What was written, without the processor's cooler."""
    cooler = "" if rig.cooler is None else rig.cooler.name.casefold()
    case = "" if rig.case is None else rig.case.name.casefold()
    return rig.remarks.replace(cooler or "\0", "").replace(case or "\0", "")


def bridge(rig: Rig) -> Iterator[Ruling]:
    """NVLink bridges join pairs of like cards that have the connector."""
    asked = [card for card in rig.cards if card.bridged]
    for cards in asked:
        link = cards.chip.link or ""
        if "bridge" not in link:
            if cards.chip.form.startswith("PCIe"):
                yield impossible(
                    "gpu",
                    say("{chip} has no NVLink connector", **_names(cards)),
                    do=say("remove NVLink: these cards communicate over PCIe"),
                )
        elif cards.count % 2:
            yield Ruling(
                verdict=IMPOSSIBLE if cards.count == 1 else DOUBT,
                parts=("gpu",),
                reason=say(
                    "NVLink bridges connect pairs; with {count}x {chip} one is left over", **_names(cards)
                ),
                do=say("use an even number of cards"),
            )
        elif rig.board is not None and not rig.board.places:
            yield doubt(
                "gpu board",
                say("unknown whether the slot spacing of {board} matches the bridge", board=rig.board.name),
                do=say("bridges come for 2, 3 or 4 slots: measure before you buy"),
            )
    if asked and len({item.chip.id for item in asked}) > 1:
        yield impossible(
            "gpu",
            say(
                "NVLink connects identical cards only: {chips}",
                chips=" + ".join(item.chip.name for item in asked),
            ),
            do=say("use two of the same model"),
        )


def makers(rig: Rig) -> Iterator[Ruling]:
    """Cards of several makers do not work together."""
    vendors = sorted({cards.chip.vendor for cards in rig.cards})
    if len(vendors) > 1:
        yield doubt(
            "gpu",
            say("{vendors}: few engines can use both", vendors=" + ".join(vendors)),
            do=say("llama.cpp with Vulkan can; vLLM and PyTorch need GPUs of one vendor"),
        )


RULES = (
    BuildRule(name="pluggable", judge=pluggable),
    BuildRule(name="air", judge=air),
    BuildRule(name="nvlink", judge=bridge),
    BuildRule(name="makers", judge=makers),
)
