"""Where nothing fits, the page says what would do and how to ask for it."""

from __future__ import annotations

from rigright.base.page import Commands
from rigright.demand import PlanWish
from rigright.report.pages.plan import page
from rigright.verbs.plan import plan as plan_verb
from spoken import pairs_whole, values


def test_the_page_says_what_would_do_and_the_command():
    asked = "rigright plan llama-3.3-70b --on '1x rtx 3090'"
    result = plan_verb("llama-3.3-70b", wish=PlanWish(on="1x rtx 3090"), asked=asked)
    found = page(result)
    assert found.tone == "bad"
    told = values(found.title)
    assert told["label"].startswith("1x RTX 3090, ")
    step = result.steps[0]
    assert dict(pairs_whole(found.title))["change"] == step.label
    assert values(step.label) == {"count": "1", "chip": "GeForce RTX 3090"}
    (commands,) = (part for part in found.parts if isinstance(part, Commands))
    assert commands.items[0].startswith("rigright plan llama-3.3-70b --on '2x GeForce RTX 3090'")
