"""What a person sees of things compared, and what a script reads."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from plan_made import REJECTED, plan

from rigright.base.plain import dumps
from rigright.demand import PlanWish
from rigright.report.cells import width
from rigright.report.formats.csv import render as render_csv
from rigright.report.formats.html import render as render_html
from rigright.report.formats.text import render
from rigright.report.pages import compare as pages
from rigright.report.screen import Screen
from rigright.verbs.comparing.compared import Compared, Contender, Pass, Roof, winners

ROOF = Roof(
    peak_flops_per_s=200e12,
    bytes_per_s=1e12,
    token=Pass(flops=1e12, size_bytes=20e9, time_s=0.025),
    prompt=Pass(flops=40e12, size_bytes=20e9, time_s=0.4),
)


def contender(asked, **changes):
    return Contender(**{"asked": asked, "plan": plan(), "fits": True, "roof": ROOF} | changes)


def compared(*contenders):
    return Compared(
        model="some/model",
        wish=PlanWish(prompt_tok=1024, output_tok=256, users=8),
        contenders=contenders,
        asked="rigright compare 4090 5090 --for llama-3.1-8b",
        model_asked="llama-3.1-8b",
        wins=winners(contenders),
    )


FAST = {**plan().figures, "output_tok_per_s": plan().figures["ttft_s"].__class__(value=99, low=90, high=110)}
BOTH = compared(contender("5090"), contender("4090", plan=plan("rtx-4090", 1, figures=FAST)))


def shown(result, *, details=False, **screen):
    return render(pages.page(result, details=details), Screen(**{"width": 100, **screen}))


def test_line_one_is_ratios():
    assert shown(BOTH).splitlines()[0] == "✓ RTX 4090: 2.4x faster"


def test_a_share_of_the_power_is_a_fraction():
    figures = {**FAST, "power_w": replace(FAST["power_w"], value=1200 / 9)}
    both = compared(
        contender("5090", plan=plan("rtx-5090", 1)),
        contender("m4", plan=plan("rtx-4090", 1, figures=figures)),
    )
    assert shown(both).splitlines()[0] == "✓ RTX 4090: 2.4x faster, a ninth of the power"


def test_under_unlike_loads_nothing_is_called_faster():
    both = compared(contender("5090"), contender("4090", plan=plan("rtx-4090", 1, users=64.0, figures=FAST)))
    assert shown(both).splitlines()[0] == "✓ RTX 4090: 2.4x the throughput"


def test_prices_to_buy_and_to_rent_stand_apart():
    rented = plan("rtx-4090", 1, how="rent", figures={**FAST, "usd_per_h": FAST["usd_per_h"]})
    lines = shown(compared(contender("5090"), contender("cloud", plan=rented)), width=120).splitlines()
    (head,) = [line for line in lines if line.startswith("machine")]
    assert head.index("buy, $") < head.index("rent, $/hour")
    row = next(line for line in lines if line.startswith("1x RTX 4090"))
    assert row[head.index("buy, $") : head.index("buy, $") + 6].strip() == ""


def test_the_best_of_a_row_is_marked_and_what_is_alike_is_not():
    rows = shown(BOTH, details=True).splitlines()
    (rate,) = [row for row in rows if row.startswith("output tok/s")]
    assert "* 99" in rate
    assert "*" not in next(row for row in rows if row.startswith("TPOT"))


def test_the_roofline_shows_each_roof_and_both_its_passes():
    written = shown(BOTH, details=True)
    for line in (
        "A RTX 5090: 200 TFLOP/s dense",
        "B RTX 4090",
        "a decode on A",
        "2 prefill on B",
    ):
        assert line in written
    assert "<svg" in render_html(pages.page(BOTH, details=True), Screen())


def test_one_that_cannot_stands_apart_with_its_reason():
    result = compared(
        contender("5090"), contender("1060", plan=None, fits=False, broken=(REJECTED,), roof=None)
    )
    written = shown(result)
    assert written.startswith("! misses the limits: 1060")
    assert "✗ 1060: licence is x" in written


def test_none_that_can_is_said():
    lost = contender("1060", plan=None, fits=False, broken=(REJECTED,), roof=None)
    assert "none of these can run model" in shown(
        compared(lost, contender("1050", plan=None, fits=False, roof=None))
    )


@pytest.mark.parametrize("cells", [20, 50, 80])
def test_it_stays_within_the_screen(cells):
    for line in shown(BOTH, width=cells, unicode=False).splitlines():
        assert width(line) <= cells or line.strip().startswith("$")


def test_a_script_reads_plans_winners_and_roofs():
    told = json.loads(dumps(pages.plain(BOTH, "en"), "en"))
    assert told["wins"]["output_tok_per_s"] == ["4090"]
    first = told["things"][0]
    assert first["roof"]["token"]["flops_per_byte"] == pytest.approx(50)
    assert first["roof"]["token"]["flops_per_s"] == pytest.approx(40e12)
    assert first["plan"]["figures"]["tpot_s"]["low"] < first["plan"]["figures"]["tpot_s"]["value"]


def test_a_spreadsheet_holds_the_table():
    lines = render_csv(pages.page(BOTH), Screen()).splitlines()
    assert lines[0].startswith('machine,tok/s,"TTFT, s"')
    assert lines[1].startswith("2x RTX 5090,41,")
