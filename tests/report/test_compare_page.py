"""What a person sees of things compared, and what a script reads."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from plan_made import REJECTED, plan

import spoken
from rigright.base.page import Line, Plot, Table
from rigright.base.plain import dumps
from rigright.demand import PlanWish
from rigright.report.formats.csv import render as render_csv
from rigright.report.formats.html import render as render_html
from rigright.report.formats.text import render
from rigright.report.pages import compare as pages
from rigright.report.pages.compare_sheets import FRACTIONS
from rigright.report.pages.figures import COLUMNS, FIGURES
from rigright.report.screen import Screen, width
from rigright.verbs.comparing.sheets import Compared, Contender, RankPass, Roof

ROOF = Roof(
    peak_flops_per_s=200e12,
    bytes_per_s=1e12,
    token=RankPass(flops=1e12, size_bytes=20e9, time_s=0.025),
    prompt=RankPass(flops=40e12, size_bytes=20e9, time_s=0.4),
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
    )


FAST = {**plan().figures, "output_tok_per_s": plan().figures["ttft_s"].__class__(value=99, low=90, high=110)}
BOTH = compared(contender("5090"), contender("4090", plan=plan("rtx-4090", 1, figures=FAST)))


def shown(result, *, details=False, **screen):
    return render(pages.page(result, details=details), Screen(**{"width": 100, **screen}))


def answer(result):
    """Line 1: its mark, and for each name what is claimed of it."""
    page = pages.page(result)
    return page.tone, spoken.shown(page.title)


def columns(result):
    (table,) = [part for part in pages.page(result).parts if isinstance(part, Table)]
    named = {FIGURES[name].titled(currency=result.wish.currency): name for name in COLUMNS}
    return {
        named.get(column.head): [row[place] for row in table.rows]
        for place, column in enumerate(table.columns)
    }


def rows(result):
    page = pages.page(result, details=True)
    (table,) = [part for part in page.parts if isinstance(part, Table)]
    return {row[0]: row[1:] for row in table.rows}


def test_line_one_is_ratios():
    assert answer(BOTH) == ("good", ["RTX 4090", "2.4"])
    assert shown(BOTH).startswith("✓ RTX 4090: 2.4x ")


def test_a_share_of_the_power_is_a_fraction():
    figures = {**FAST, "power_w": replace(FAST["power_w"], value=1200 / 9)}
    both = compared(
        contender("5090", plan=plan("rtx-5090", 1)),
        contender("m4", plan=plan("rtx-4090", 1, figures=figures)),
    )
    assert answer(both) == ("good", ["RTX 4090", "2.4"])
    claims = dict(spoken.pairs_whole(pages.page(both).title))
    assert claims["part"] == FRACTIONS[9]


def test_under_unlike_loads_nothing_is_called_faster():
    both = compared(contender("5090"), contender("4090", plan=plan("rtx-4090", 1, users=64.0, figures=FAST)))
    assert answer(both) == answer(BOTH)
    claim, usual = (dict(spoken.pairs_whole(pages.page(one).title))["claims"] for one in (both, BOTH))
    (lead,) = BOTH.claims
    assert usual == pages.claim(lead)
    assert claim == pages.claim(lead, even=False) != usual


def test_prices_to_buy_and_to_rent_stand_apart():
    rented = plan("rtx-4090", 1, how="rent", figures={**FAST, "usd_per_h": FAST["usd_per_h"]})
    told = columns(compared(contender("5090"), contender("cloud", plan=rented)))
    assert list(told).index("usd") < list(told).index("usd_per_h")
    assert told["usd"] == ["7,900", ""]
    assert told["usd_per_h"] == ["", "0.41"]


def test_the_best_of_a_row_is_marked_and_what_is_alike_is_not():
    told = rows(BOTH)
    assert told[FIGURES["output_tok_per_s"].label] == ("41 (35-47)", "* 99 (90-110)")
    assert not any("*" in cell for cell in told[FIGURES["tpot_s"].label])


def test_the_roofline_shows_each_roof_and_both_its_passes():
    page = pages.page(BOTH, details=True)
    (plot,) = [part for part in page.parts if isinstance(part, Plot)]
    assert [(curve.letter, *spoken.shown(curve.name)[:2]) for curve in plot.curves] == [
        ("A", "RTX 5090", "200"),
        ("B", "RTX 4090", "200"),
    ]
    assert [(spot.letter, spot.curve) for spot in plot.spots] == [("a", 0), ("1", 0), ("b", 1), ("2", 1)]
    assert "<svg" in render_html(page, Screen())


def test_one_that_cannot_stands_apart_with_its_reason():
    result = compared(
        contender("5090"), contender("1060", plan=None, fits=False, broken=(REJECTED,), roof=None)
    )
    assert answer(result) == ("warn", ["1060"])
    (miss,) = [part for part in pages.page(result).parts if isinstance(part, Line) and part.tone == "bad"]
    assert spoken.values(miss.text) == {"label": "1060", "own": "x", "asked": "y"}
    assert "✗ 1060: " in shown(result)


def test_none_that_can_is_said():
    lost = contender("1060", plan=None, fits=False, broken=(REJECTED,), roof=None)
    none = compared(lost, contender("1050", plan=None, fits=False, roof=None))
    assert answer(none) == ("bad", ["model"])


@pytest.mark.parametrize("cells", [20, 50, 80])
def test_it_stays_within_the_screen(cells):
    for line in shown(BOTH, width=cells, unicode=False).splitlines():
        assert width(line) <= cells or line.strip().startswith("$")


def test_a_script_reads_plans_winners_and_roofs():
    told = json.loads(dumps(pages.plain(BOTH, "en"), "en"))
    assert told["wins"]["output_tok_per_s"] == ["4090"]
    first = told["contenders"][0]
    assert first["roof"]["token"]["flops_per_byte"] == pytest.approx(50)
    assert first["roof"]["token"]["flops_per_s"] == pytest.approx(40e12)
    assert first["plan"]["figures"]["tpot_s"]["low"] < first["plan"]["figures"]["tpot_s"]["value"]


def test_a_spreadsheet_holds_the_table():
    head, *rows = csv.reader(io.StringIO(render_csv(pages.page(BOTH), Screen())))
    assert head[1:3] == ["tok/s", "TTFT, s"]
    assert [row[:2] for row in rows] == [["2x RTX 5090", "41"], ["1x RTX 4090", "41"]]
