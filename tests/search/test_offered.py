"""Chips that no shop or cloud of our tables sells: known by name, and never proposed of themselves."""

from __future__ import annotations

from rigright.demand import PlanWish
from rigright.facts.chips import by_id, chips
from rigright.search.market import market_on
from rigright.search.question import kinds_of
from rigright.verbs.own import today

UNSOLD = {chip.id for chip in chips() if not chip.offered}


def ids(**wish):
    kinds = kinds_of(PlanWish(**wish), counts=(1, 2), market=market_on(today()))
    return {kind.card.chip.id for kind in kinds}


def test_the_catalogue_holds_what_can_be_had():
    assert len(UNSOLD) > 20
    assert not UNSOLD & ids()
    assert {"rtx-4090", "rtx-3090", "h100-sxm5-80gb"} <= ids()
    assert "tesla-p40" in ids(used=True)


def test_a_chip_that_is_named_is_planned_with_all_the_same():
    assert ids(chips=("gtx 1660 ti",)) == {"gtx-1660-ti"}
    assert ids(owned="2x Tesla M40 12GB") >= {"tesla-m40-12gb"}
    assert not by_id()["gtx-1660-ti"].offered
