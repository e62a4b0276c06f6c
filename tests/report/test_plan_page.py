"""What a person sees of plans, and what a script reads."""

from __future__ import annotations

import csv
import io
import json
import shlex

import pytest
from plan_made import REJECTED, figure, memory, plan, planned, tuned

from rigright.base.words import say
from rigright.demand import PlanWish
from rigright.faces.cli.main import verb_parser
from rigright.report.draw.cells import width
from rigright.report.formats.csv import render as render_csv
from rigright.report.formats.html import render as render_html
from rigright.report.formats.markdown import render as render_markdown
from rigright.report.formats.text import render
from rigright.report.page import Bars
from rigright.report.pages import plan as pages
from rigright.report.pages import plan_data as data
from rigright.report.plain import dumps
from rigright.report.screen import Screen
from rigright.search.record import Supply

TWO = planned(plan(), plan("rtx-4090", 4, reasons=()))


def shown(result, *, why=False, **screen):
    return render(pages.page(result, why=why), Screen(**{"width": 100, **screen}))


def test_the_verdict_says_cards_speed_price_power_and_what_comes_next():
    line = str(pages.verdict(TWO).said)
    assert line == (
        "fits on 2x GeForce RTX 5090 in awq4: 41 (35-47) tok/s, $7,900 to buy, 1.2 kW; "
        "next best 4x GeForce RTX 4090: 41 (35-47) tok/s, $7,900 to buy"
    )


def test_many_at_once_are_told_with_their_rate():
    assert "41 (35-47) tok/s for 16 at once" in str(pages.verdict(planned(plan(users=16.0))).said)


def test_what_one_owns_costs_nothing_to_buy():
    assert "yours already" in str(pages.verdict(planned(plan(how="own"))).said)


def test_every_plan_is_a_column_and_every_figure_a_row():
    written = shown(TWO)
    for row in ("from", "layout", "weights", "engine", "first token", "next tokens", "tok/s", "power"):
        assert any(line.startswith(row) for line in written.splitlines()), row
    (machines,) = [line for line in written.splitlines() if line.startswith("machine")]
    assert "2x GeForce RTX 5090" in machines
    assert "4x GeForce RTX 4090" in machines


def test_a_figure_nobody_has_leaves_no_row():
    figures = {name: one for name, one in plan().figures.items() if name != "usd_per_mtok"}
    assert "M tokens" not in shown(planned(plan(figures=figures)))


def test_why_not_cheaper_names_each_with_its_reason():
    written = shown(TWO)
    assert "why not cheaper" in written
    assert "1x RTX 4090, awq4, $0.20 an hour: the licence" in written


def test_an_impossible_wish_shows_what_comes_nearest_and_what_it_breaks():
    result = planned(nearest=plan(), broken=(REJECTED,))
    written = shown(result)
    assert "nothing keeps every limit" in written
    assert "nearest is 2x GeForce RTX 5090" in str(pages.verdict(result).said)
    assert "limits it breaks" in written


def test_nothing_at_all_still_says_what_lacks():
    written = shown(planned(broken=(REJECTED,), rejections=()))
    assert "nothing fits: 1x RTX 4090, awq4: the licence" in written
    assert shown(planned(rejections=()))


def bars_of(*memories):
    page = pages.page(planned(plan(memory=memories)))
    (bars,) = [part for part in page.parts if isinstance(part, Bars)]
    return bars.bars


def test_a_bar_for_each_unlike_rank():
    assert len(bars_of(memory(), memory(weights=12.0))) == 2
    assert len(bars_of(memory(), memory())) == 1


def test_a_bar_is_the_memory_of_a_rank():
    (bar,) = bars_of(memory())
    assert sum(piece.size for piece in bar.pieces) == pytest.approx((16 + 5 + 7 * 0.5 - 0.5) * 2**30)
    assert bar.limit == 31 * 2**30


def test_notes_of_plans_name_their_plan():
    stale = plan(notes=(say("the price is of {date}: look it up before acting on it", date="2023-03"),))
    assert "plan 1, 2: the price is of 2023-03" in shown(planned(stale, stale))
    assert "plan 1: the price is of 2023-03" in shown(planned(stale, plan()))


def commands(result):
    return [line.strip()[2:] for line in shown(result).splitlines() if line.strip().startswith("$ rigright")]


def test_the_next_commands_are_understood_by_the_program():
    found = commands(TWO)
    assert [shlex.split(line)[1] for line in found] == ["explain", "simulate", "compare", "plan"]
    for line in found:
        _, verb, *arguments = shlex.split(line)
        assert verb_parser(verb, "en").read(arguments)


def test_the_plan_explained_is_the_plan():
    words = shlex.split(commands(TWO)[0])
    told = dict(zip(words[3::2], words[4::2], strict=False))
    assert told["--on"] == "2x rtx-5090"
    assert told["--weights"] == "awq4"
    assert told["--context"] == "8192"
    assert told["--tp"] == "2"


def test_several_boxes_are_told_as_boxes():
    result = planned(plan("h100-sxm5-80gb", 16, n_nodes=2))
    assert "2 x (8x H100" in shown(result)
    assert "2 nodes of 8x h100-sxm5-80gb" in commands(result)[0]


@pytest.mark.parametrize("cells", [20, 40, 60, 80, 120])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_line_is_wider_than_the_screen_but_commands(cells, language):
    lines = shown(TWO, width=cells, unicode=False, language=language).splitlines()
    assert all(width(line) <= cells for line in lines if not line.strip().startswith("$"))


def test_other_forms_hold_the_same_figures():
    page = pages.page(TWO)
    for made in (render_markdown(page, Screen()), render_html(page, Screen())):
        assert "41 (35-47)" in made
        assert "$7,900" in made


def test_a_spreadsheet_has_a_row_a_plan_and_units_in_its_heads():
    rows = list(csv.DictReader(io.StringIO(render_csv(data.sheet(TWO), Screen()))))
    assert [row["plan"] for row in rows] == ["1", "2"]
    assert float(rows[0]["output_tok_per_s"]) == 41
    assert float(rows[0]["output_tok_per_s_low"]) == 35
    assert rows[0]["price_as_of"] == "2026-10"
    assert float(rows[0]["tpot_s"]) == pytest.approx(0.0244)


def test_a_script_reads_plans_in_si_units():
    told = json.loads(dumps(data.plain(TWO, "en"), "en"))
    assert told["fits"] is True
    assert told["wish"]["tpot_s"] == 0.05
    first = told["plans"][0]
    assert first["figures"]["tpot_s"]["low"] < first["figures"]["tpot_s"]["value"]
    assert first["layout"]["tp"] == 2
    assert first["memory"][0]["weights"] == 16 * 2**30
    assert told["why_not"][0]["limit"] == "tpot_s"


def test_what_does_not_fit_is_an_answer_too():
    told = json.loads(dumps(data.plain(planned(nearest=plan(), broken=(REJECTED,)), "zh"), "zh"))
    assert told["fits"] is False
    assert told["plans"] == []
    assert told["nearest"]["chip"] == "rtx-5090"
    assert told["broken"][0]["nearest"] == 0.07


def test_unknown_prices_are_said_as_unknown():
    figures = {name: one for name, one in plan().figures.items() if not name.startswith("usd")}
    unknown = Supply(how="buy", label="x", n_units=1, usd=None, usd_per_h=None, as_of=None)
    line = str(pages.verdict(planned(plan(figures=figures, supply=unknown))).said)
    assert "no price known" in line
    assert "$0" not in line


def test_the_sum_over_years_is_shown_where_work_ends():
    days = {**plan().figures, "days": figure(12.0), "usd_total": figure(4000.0)}
    assert "in all" in shown(planned(plan(figures=days)))
    assert "in all" not in shown(planned(plan(figures={**plan().figures, "usd_total": figure(4000.0)})))


TRAINED = planned(
    tuned(),
    wish=PlanWish(work="pretrain", train_tok=10e9, seq_tok=4096, global_batch=1024, method="full", days=30),
)


def test_a_training_says_how_long_it_takes_and_what_it_comes_to():
    line = str(pages.verdict(TRAINED).said)
    assert "done in 2.5 d" in line
    assert "35,000 (31,500-38,500) tok/s" in line
    assert "$528 in all" in line


def test_a_training_is_titled_by_its_tokens_and_steps():
    title = shown(TRAINED, width=200).splitlines()[0]
    assert "pre-train, full, 10.0 B tokens, steps of 1,024 x 4,096, within 30 d" in title


def test_a_training_shows_its_fullest_rank_and_its_steps():
    written = shown(TRAINED)
    assert "fullest rank" in written
    assert "micro-batches 2 x 16, recompute selective" in written
    assert "full, zero1" in written


def test_a_training_is_explained_as_it_was_planned():
    line = commands(TRAINED)[0]
    _, verb, *arguments = shlex.split(line)
    options = verb_parser(verb, "en").read(arguments)
    assert (options.train, options.trainer, options.tp, options.dp) == ("full", "megatron", "2", "4")
    assert (options.micro_batch, options.accumulate, options.sharding) == ("2", "16", "zero1")
    assert options.sequence_parallel


def test_a_training_in_a_spreadsheet():
    (row,) = csv.DictReader(io.StringIO(render_csv(data.sheet(TRAINED), Screen())))
    assert row["engine"] == "megatron"
    assert float(row["days"]) == 2.5


def test_figures_of_a_percentile_say_so():
    wish = PlanWish(prompt_tok=100, output_tok=10, ttft_s=1, percentile=0.95)
    written = shown(planned(plan(), wish=wish), width=200)
    assert "first token, p95" in written
    assert "for 95% of requests" in written


def test_each_plan_says_what_its_speed_is_known_by():
    figures = {**plan().figures, "tpot_s": figure(0.02, mark="physics")}
    (row,) = [
        line for line in shown(planned(plan(), plan(figures=figures))).splitlines() if "known by" in line
    ]
    assert "runs of such chips" in row
    assert "the data sheet alone" in row


def test_an_image_model_is_told_in_images():
    drawn = {"images_per_s": figure(2.5), "latency_s": figure(3.2), "usd_per_image": figure(0.0002)}
    kept = {name: one for name, one in plan().figures.items() if name in {"usd", "power_w", "headroom"}}
    result = planned(plan(figures=kept | drawn), wish=PlanWish(work="image", image_px=1024))
    assert "2.5 (2.2-2.8) images/s" in str(pages.verdict(result).said)
    written = shown(result)
    assert "1,000 images" in written
    assert not any(" simulate " in line for line in commands(result))
    assert "--context" not in commands(result)[0]
