"""What a person sees of plans, and what a script reads."""

from __future__ import annotations

import csv
import io
import json
import shlex
from dataclasses import replace

import pytest
from plan_made import REJECTED, figure, memory, plan, planned, tuned

from rigright.base.page import Bars
from rigright.base.plain import dumps
from rigright.base.words import say, tell
from rigright.demand import PlanWish
from rigright.faces.cli.main import verb_parser
from rigright.report.cells import width
from rigright.report.formats.csv import render as render_csv
from rigright.report.formats.html import render as render_html
from rigright.report.formats.markdown import render as render_markdown
from rigright.report.formats.text import render
from rigright.report.pages import plan as pages
from rigright.report.pages import plan_data as data
from rigright.report.screen import Screen
from rigright.search.record import Supply
from rigright.verbs.plan import plan as plan_verb

TWO = planned(plan(), plan("rtx-4090", 4, reasons=()))


def shown(result, *, why=False, details=False, **screen):
    return render(pages.page(result, why=why, details=details), Screen(**{"width": 100, **screen}))


def test_line_one_is_the_answer():
    assert (
        shown(TWO).splitlines()[0] == "✓ 2x RTX 5090 runs Llama-3.1-70B in awq4: 41 tok/s, $7,900 (2026-10)"
    )


def test_many_users_are_a_concurrency():
    assert "41 tok/s at concurrency 16" in shown(planned(plan(users=16.0)))


def test_what_one_owns_costs_nothing_to_buy():
    assert "41 tok/s, your own" in shown(planned(plan(how="own")))


def test_every_option_is_a_row_with_units_in_its_heads():
    lines = shown(TWO).splitlines()
    (head,) = [line for line in lines if line.startswith("machine")]
    for name in ("TTFT, s", "TPOT, ms", "$/1M tok"):
        assert name in head, name
    (row,) = [line for line in lines if line.startswith("4x RTX 4090")]
    assert row.split()[3:] == ["0.30", "24", "2.78"]  # what the answer says is not said again


def test_no_more_than_three_options_are_shown():
    many = planned(*(plan("rtx-4090", count) for count in range(1, 6)))
    assert sum("x RTX 4090  " in line for line in shown(many).splitlines()) == 3
    assert "5x RTX 4090" in shown(many, details=True)


def test_with_details_every_plan_is_a_column_and_every_figure_a_row():
    written = shown(TWO, details=True)
    for row in ("source", "layout", "weights", "engine", "TTFT", "TPOT", "output tok/s", "power"):
        assert any(line.startswith(row) for line in written.splitlines()), row
    (machines,) = [line for line in written.splitlines() if line.startswith("machine")]
    assert "2x RTX 5090" in machines
    assert "4x RTX 4090" in machines


@pytest.mark.parametrize("details", [False, True])
def test_a_figure_that_is_not_known_has_no_place(details):
    figures = {name: one for name, one in plan().figures.items() if name != "usd_per_mtok"}
    assert "1M tok" not in shown(planned(plan(figures=figures)), details=details)


def test_details_say_why_nothing_cheaper_will_do():
    written = shown(TWO, details=True)
    assert "why not cheaper" in written
    assert "1x RTX 4090, awq4, $0.20/hour: licence is x" in written


def missed(*broken, **changes):
    wish = PlanWish(prompt_tok=7000, output_tok=1192, **changes)
    return wish, tuple(
        replace(
            REJECTED,
            limit=limit,
            nearest=nearest,
            reason=say("TPOT {reached}, limit {bound}", reached=1, bound=2),
        )
        for limit, nearest in broken
    )


def test_a_limit_that_is_missed_is_line_one():
    result = planned(nearest=plan(), broken=(REJECTED,))
    assert (
        shown(result)
        .splitlines()[0]
        .startswith("✗ nothing meets every limit; closest is 2x RTX 5090: licence is x")
    )
    assert "limits missed" in shown(result, details=True)


def test_a_named_machine_that_misses_a_limit_says_how_often_it_holds():
    wish, broken = missed(("tpot_s", 0.07), on="2x rtx 5090", tpot_s=0.05)
    result = planned(nearest=plan(held={"tpot_s": 0.74}), broken=broken, wish=wish)
    assert shown(result).splitlines()[0] == (
        "✗ 2x RTX 5090 misses the limit: TPOT 1, limit 2 (met by 74% of requests)"
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"machines_needed": 22}, "serves 0.94 of 20 requests/s; needs about 22 of these machines"),
        ({}, "serves 0.94 of 20 requests/s; needs about 22 of these machines"),
        ({"n_chips": 1}, "serves 0.94 of 20 requests/s; needs about 22 of these GPUs"),
    ],
)
def test_overload_says_how_many_would_do(changes, said):
    wish, broken = missed(("requests_per_s", 0.94), on="4090", rate_per_s=20)
    line = " ".join(shown(planned(nearest=plan(**changes), broken=broken, wish=wish)).splitlines()[:2])
    assert line.startswith("✗ overloaded: ")
    assert said in " ".join(line.split())


def test_a_queue_without_end_is_an_overload():
    wish, broken = missed(("ttft_s", float("inf")), on="4090", rate_per_s=20, ttft_s=1)
    assert "overloaded: 2x RTX 5090 cannot serve 20 requests/s" in shown(
        planned(nearest=plan(), broken=broken, wish=wish)
    )


@pytest.mark.parametrize(
    ("held", "percentile", "mark"),
    [({"ttft_s": 0.97}, 0.95, "✓"), ({"ttft_s": 0.93}, 0.95, "!"), ({"ttft_s": 0.93}, None, "✓"),
     ({"ttft_s": 0.74}, None, "!"), ({}, 0.99, "✓")],
)  # fmt: skip
def test_a_tick_means_that_the_limit_holds_for_the_share_asked(held, percentile, mark):
    wish = PlanWish(prompt_tok=1, output_tok=1, ttft_s=1, percentile=percentile)
    line = " ".join(shown(planned(plan(held=held), wish=wish)).partition("\n\n")[0].split())
    assert line.startswith(mark)
    told = [f"TTFT <= 1 s in only {share:.0%} of requests" for share in held.values() if mark == "!"]
    assert all(one in line for one in told)
    assert ("in only" in line) == bool(told)


def test_cards_that_are_paid_for_and_idle_get_no_tick():
    supply = replace(plan().supply, n_chips=8)
    line = shown(planned(plan(supply=supply)), width=200).splitlines()[0]
    assert line.startswith("!")
    assert "6 of 8 GPUs stay idle" in line


def test_nothing_at_all_still_says_what_lacks():
    written = shown(planned(broken=(replace(REJECTED, limit="memory"),), rejections=()))
    assert written.startswith("✗ does not fit: 1x RTX 4090, awq4: licence is x")
    assert shown(planned(rejections=())).startswith("✗ no machine found for Llama-3.1-70B")


def test_amounts_are_in_the_currency_of_the_reader():
    wish = PlanWish(prompt_tok=1, output_tok=1, currency="CNY")
    written = shown(planned(plan(), plan("rtx-4090", 4), wish=wish), width=200)
    assert "¥56,100 (2026-10)" in written
    assert "¥/1M tok" in written
    assert "$" not in written.partition("next")[0]


def bars_of(*memories):
    page = pages.page(planned(plan(memory=memories)), details=True)
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
    stale = plan(notes=(say("prices as of {date}; verify before buying", date="2023-03"),))
    assert "option 1, 2: prices as of 2023-03" in shown(planned(stale, stale), details=True)
    assert "option 1: prices as of 2023-03" in shown(planned(stale, plan()), details=True)


def test_old_prices_are_one_line():
    note = say("prices as of {date}; verify before buying", date="2023-03")
    old = plan(notes=(note,), supply=replace(plan().supply, as_of="2023-03", stale=True))
    written = shown(planned(old, old))
    assert written.count("verify before buying") == 1


def commands(result, **asked):
    return [
        line.strip()[2:]
        for line in shown(result, **asked).splitlines()
        if line.strip().startswith("$ rigright")
    ]


def test_the_next_commands_are_understood_by_the_program():
    found = commands(TWO, details=True)
    assert [shlex.split(line)[1] for line in found] == ["explain", "simulate", "compare", "plan"]
    assert commands(TWO) == [found[0], "rigright plan llama-3.1-70b --details"]
    for line in (*found, *commands(TWO)):
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
    page = pages.page(TWO, details=True)
    for made in (render_markdown(page, Screen()), render_html(page, Screen())):
        assert "✓ 2x RTX 5090 runs" in made
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
    assert "in total" in shown(planned(plan(figures=days)), details=True)
    endless = {**plan().figures, "usd_total": figure(4000.0)}
    assert "in total" not in shown(planned(plan(figures=endless)), details=True)


TRAINED = planned(
    tuned(),
    wish=PlanWish(work="pretrain", train_tok=10e9, seq_tok=4096, global_batch=1024, method="full", days=30),
)


def test_a_training_says_how_long_it_takes_and_what_it_comes_to():
    line = str(pages.verdict(TRAINED).said)
    assert "done in 2.5 d" in line
    assert "8x A100 SXM4 80GB trains Llama-3.1-70B (full, zero1): " in line
    assert "35,000 tok/s" in line
    assert "$528 in total" in line


def test_a_training_is_titled_by_its_tokens_and_steps():
    written = shown(TRAINED, details=True, width=200)
    assert "pre-train, full, 10.0 B tokens, steps of 1,024 x 4,096, within 30 d" in written


def test_a_training_shows_its_fullest_rank_and_its_steps():
    written = shown(TRAINED, details=True)
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
    assert "TTFT p95, s" in shown(planned(plan(), wish=wish), width=200)
    written = shown(planned(plan(), wish=wish), details=True, width=200)
    assert "TTFT, p95" in written
    assert "for 95% of requests" in written


def test_each_plan_says_what_its_speed_is_based_on():
    figures = {**plan().figures, "tpot_s": figure(0.02, mark="physics")}
    written = shown(planned(plan(), plan(figures=figures)), details=True)
    (row,) = [line for line in written.splitlines() if line.startswith("based on")]
    assert "benchmarks of this" in row
    assert "datasheet only" in row
    assert "80 % band 37-46 tok/s, based on benchmarks of this GPU generation" in shown(TWO)


def test_an_image_model_is_planned_in_images():
    drawn = {"images_per_s": figure(2.5), "latency_s": figure(3.2), "usd_per_image": figure(0.0002)}
    kept = {name: one for name, one in plan().figures.items() if name in {"usd", "power_w", "headroom"}}
    result = planned(plan(figures=kept | drawn), wish=PlanWish(work="image", image_px=1024))
    assert "2.5 images/s" in str(pages.verdict(result).said)
    assert "$/1K images" in shown(result)
    assert not any(" simulate " in line for line in commands(result, details=True))
    assert "--context" not in commands(result)[0]


@pytest.mark.parametrize(("budget", "told"), [(800.0, True), (50.0, False)])
def test_a_budget_that_buys_the_card_but_no_computer_around_it_says_so(budget, told):
    """Most people who ask for one card have a computer that it goes into."""
    found = plan_verb("qwen3-8b", wish=PlanWish(work="chat", buy=True, budget_usd=budget))
    line = tell(pages.verdict(found).said, language="en")
    assert line.startswith("nothing meets every limit")
    assert ("the card alone costs $" in line) is told
