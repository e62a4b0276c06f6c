"""Where nothing fits, the page says what would do and how to ask for it."""

from __future__ import annotations

from rigright.base.page import Commands
from rigright.demand import PlanWish
from rigright.report.pages.plan import page
from rigright.verbs.plan import plan as plan_verb


def test_the_page_says_what_would_do_and_the_command():
    asked = "rigright plan llama-3.3-70b --on '1x rtx 3090'"
    result = plan_verb("llama-3.3-70b", wish=PlanWish(on="1x rtx 3090"), asked=asked)
    found = page(result)
    assert str(found.title).startswith("does not fit: 1x RTX 3090, ")
    assert "1 more GeForce RTX 3090 is enough" in str(found.title)
    (commands,) = (part for part in found.parts if isinstance(part, Commands))
    assert commands.items[0].startswith("rigright plan llama-3.3-70b --on '2x GeForce RTX 3090'")
