"""A power limit beside the name of a machine: "rtx 3090 @ 250w", "2x 4090 限功耗 300W"."""

from __future__ import annotations

import re

from rigright.base.errors import AskError
from rigright.base.patterns import pattern
from rigright.base.record import replace
from rigright.base.words import say
from rigright.facts.chips import Chip

LEAST_SHARE = 0.5  # of a card's power, below which nobody measured what it still reaches
_LIMIT = pattern(
    r"\s*[,，(（]?\s*(?:(?:power[- ]?)?(?:limit(?:ed)?|capped|cap)(?:\s+(?:to|at|of))?|at|@|"
    r"限(?:制)?(?:功耗|功率)?(?:到|为|在)?|功耗(?:限制?|墙|上限)?(?:到|为|在)?)?\s*"
    r"(?<![\w.])(\d{2,4})\s*(?:w(?:atts?)?|瓦)(?![a-z0-9])(?!\s*(?:psu|supply|power supply|电源))"
    r"\s*(?:each|per (?:card|gpu)|每张|每卡|power limit)?\s*[)）]?",
    re.IGNORECASE,
)


def split_limit(text: str) -> tuple[str, float | None]:
    """A machine without its power limit, and watts of each card."""
    found = {float(watts) for watts in _LIMIT.findall(text)}
    if len(found) > 1:
        raise AskError(
            say('"{text}" has several power limits', text=text),
            hint=say("one limit holds for every card: {example}", example='"2x rtx 3090 @ 250W"'),
        )
    return (_LIMIT.sub(" ", text).strip(), found.pop()) if found else (text, None)


def limited(chip: Chip, watts: float) -> Chip:
    """The chip under a power limit: what it computes follows power, as laws have it; its memory does not."""
    if chip.tdp_w is None or watts >= chip.tdp_w:
        return chip
    least = f"{LEAST_SHARE * chip.tdp_w:.0f}"
    if watts < float(least):
        raise AskError(
            say("{chip}: no speed known below {watts} W", chip=chip.name, watts=least),
            hint=say("limit it to {low}-{high} W", low=least, high=f"{chip.tdp_w:.0f}"),
        )
    return replace(chip, name=f"{chip.name} @ {watts:.0f}W", tdp_w=watts)
