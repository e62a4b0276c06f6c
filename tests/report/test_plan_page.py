"""What a person sees of plans, and what a script reads."""

from __future__ import annotations

import csv
import io
import json
import shlex
from dataclasses import replace

import pytest
from plan_made import REJECTED, figure, memory, plan, planned, tuned

from rigright.base.money import show_money
from rigright.base.page import Bars, Commands, Line, Points, Table
from rigright.base.plain import dumps
from rigright.base.words import OLD_PRICE, say
from rigright.demand import PlanWish, Size
from rigright.faces.cli.main import verb_parser
from rigright.report.formats.csv import render as render_csv
from rigright.report.formats.html import render as render_html
from rigright.report.formats.markdown import render as render_markdown
from rigright.report.formats.text import render
from rigright.report.pages import plan as pages
from rigright.report.pages import plan_words as words
from rigright.report.pages.figures import COLUMNS, FIGURES
from rigright.report.screen import Screen, width
from rigright.search.record import Safe, Supply
from rigright.verbs.plan import plan as plan_verb
from spoken import pairs_whole, same, values

TWO = planned(plan(), plan("rtx-4090", 4, reasons=()))
ROWS = {name: figure.label for name, figure in FIGURES.items()}
VERDICT = {
    "machine": "2x RTX 5090", "model": "Llama-3.1-70B", "format": "awq4", "rate": "41",
    "usd": "$7,900", "date": "2026-10",
}  # fmt: skip
WITHOUT_PRICE = {name: VERDICT[name] for name in ("machine", "model", "format", "rate")}


def shown(result, *, why=False, details=False, **screen):
    return render(pages.page(result, why=why, details=details), Screen(**{"width": 100, **screen}))


def answer(result):
    """Line 1: its mark, and the values in it."""
    page = pages.page(result)
    return page.tone, values(page.title)


def parts(result, kind, **asked):
    return [part for part in pages.page(result, **asked).parts if isinstance(part, kind)]


def lines(result, tone, **asked):
    return [line.text for line in parts(result, Line, **asked) if line.tone == tone]


def columns(result):
    """The table of options: its figures by their names."""
    (table,) = parts(result, Table)
    wish = result.wish
    named = {
        FIGURES[name].titled(currency=wish.currency, percentile=wish.percentile): name for name in COLUMNS
    }
    return {
        named.get(column.head): [row[place] for row in table.rows]
        for place, column in enumerate(table.columns)
    }


def rows(result):
    """The table of details: what it tells of each plan, by the head of the row."""
    (table,) = parts(result, Table, details=True)
    return {row[0]: row[1:] for row in table.rows}


def test_line_one_is_the_answer():
    assert answer(TWO) == ("good", VERDICT)
    first = shown(TWO).splitlines()[0]
    assert first.startswith("✓ 2x RTX 5090 ")
    assert all(value in first for value in VERDICT.values())


def test_many_users_are_a_concurrency():
    assert answer(planned(plan(users=16.0))) == ("good", VERDICT | {"users": "16"})


def test_what_one_owns_costs_nothing_to_buy():
    tone, told = answer(planned(plan(how="own")))
    assert (tone, told) == ("good", WITHOUT_PRICE)


def test_every_option_is_a_row_and_what_the_answer_says_is_not_said_again():
    told = columns(TWO)
    assert {name: told[name] for name in ("ttft_s", "tpot_s", "usd_per_mtok")} == {
        "ttft_s": ["0.30", "0.30"], "tpot_s": ["24", "24"], "usd_per_mtok": ["2.78", "2.78"],
    }  # fmt: skip
    assert not {"usd", "output_tok_per_s", "power_w"} & set(told)
    (table,) = parts(TWO, Table)
    assert [row[0] for row in table.rows] == ["2x RTX 5090", "4x RTX 4090"]


def test_no_more_than_three_options_are_shown():
    many = planned(*(plan("rtx-4090", count) for count in range(1, 6)))
    (table,) = parts(many, Table)
    assert [row[0] for row in table.rows] == [f"{count}x RTX 4090" for count in (1, 2, 3)]
    assert "5x RTX 4090" in shown(many, details=True)


def test_with_details_every_plan_is_a_column_and_every_figure_a_row():
    told = rows(TWO)
    assert {ROWS[name] for name in plan().figures} <= set(told)
    assert told[ROWS["output_tok_per_s"]] == ("41 (35-47)",) * 2
    assert ("2x RTX 5090", "4x RTX 4090") in told.values()
    assert ("tp 2", "tp 4") in told.values()
    assert ("vllm 0.21", "vllm 0.21") in told.values()


def test_a_figure_that_is_not_known_has_no_place():
    known = {name: one for name, one in plan().figures.items() if name != "usd_per_mtok"}
    for figures, there in ((known, False), (plan().figures, True)):
        result = planned(plan(figures=figures))
        assert ("usd_per_mtok" in columns(result)) is there
        assert (ROWS["usd_per_mtok"] in rows(result)) is there


def test_details_say_why_nothing_cheaper_will_do():
    (points,) = parts(TWO, Points, details=True)
    (cheaper,) = points.items
    assert values(cheaper) == {"label": "1x RTX 4090, awq4", "usd": "$0.20", "own": "x", "asked": "y"}


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
    assert answer(result) == ("bad", {"machine": "2x RTX 5090", "own": "x", "asked": "y"})
    assert shown(result).startswith("✗ ")
    assert parts(result, Points, details=True)[0].items == (REJECTED.reason,)
    assert parts(result, Points, details=True)[0].tone == "bad"


def test_a_named_machine_that_misses_a_limit_says_how_often_it_holds():
    wish, broken = missed(("tpot_s", 0.07), on="2x rtx 5090", tpot_s=0.05)
    result = planned(nearest=plan(held={"tpot_s": 0.74}), broken=broken, wish=wish)
    told = {"machine": "2x RTX 5090", "reached": "1", "bound": "2", "share": "74%"}
    assert answer(result) == ("bad", told)


def test_overload_says_how_many_would_do():
    wish, broken = missed(("requests_per_s", 0.94), on="4090", rate_per_s=20)
    titles = []
    for changes in ({"machines_needed": 22}, {}, {"n_chips": 1}):
        result = planned(nearest=plan(**changes), broken=broken, wish=wish)
        tone, told = answer(result)
        machine = f"{changes.get('n_chips', 2)}x RTX 5090"
        assert (tone, told) == (
            "bad", {"machine": machine, "served": "0.94", "rate": "20", "count": "22"},
        ), changes  # fmt: skip
        titles.append(pages.page(result).title)
    assert titles[0] == titles[1]
    assert not same(titles[1], titles[2]), "of one GPU more GPUs are needed, else more machines"


def test_a_queue_without_end_is_an_overload():
    wish, broken = missed(("ttft_s", float("inf")), on="4090", rate_per_s=20, ttft_s=1)
    told = answer(planned(nearest=plan(), broken=broken, wish=wish))
    assert told == ("bad", {"machine": "2x RTX 5090", "rate": "20"})


@pytest.mark.parametrize(
    ("sure", "safe", "tone"),
    [(0.97, None, "good"), (0.9, None, "good"), (0.89, None, "warn"), (0.5, None, "warn"),
     (0.5, Safe(concurrency=4.0, output_tok_per_s=300.0), "good")],
)  # fmt: skip
def test_a_tick_means_that_the_limit_holds_in_nine_cases_of_ten(sure, safe, tone):
    wish = PlanWish(prompt_tok=1, output_tok=1, ttft_s=1)
    result = planned(plan(certainty={"ttft_s": sure}, safe=safe), wish=wish)
    doubts = {"limit": "TTFT <= 1 s", "count": f"{int(10 * sure)}"} if tone == "warn" else {}
    assert answer(result) == (tone, VERDICT | doubts)
    assert shown(result).startswith("✓" if tone == "good" else "!")


def test_cards_that_are_paid_for_and_idle_get_no_tick():
    supply = replace(plan().supply, n_chips=8)
    assert answer(planned(plan(supply=supply))) == ("warn", VERDICT | {"idle": "6", "paid": "8"})


def test_nothing_at_all_still_says_what_lacks():
    lacking = planned(broken=(replace(REJECTED, limit="memory"),), rejections=())
    assert answer(lacking) == ("bad", {"label": "1x RTX 4090, awq4", "own": "x", "asked": "y"})
    assert answer(planned(rejections=())) == ("bad", {"model": "Llama-3.1-70B"})


def test_amounts_are_in_the_currency_of_the_reader():
    wish = PlanWish(prompt_tok=1, output_tok=1, currency="CNY")
    result = planned(plan(), plan("rtx-4090", 4), wish=wish)
    assert answer(result) == ("good", VERDICT | {"usd": "¥56,100"})
    assert columns(result)["usd_per_mtok"] == ["19.7", "19.7"]
    signs = {values(figure.titled(currency=wish.currency)).get("sign") for figure in FIGURES.values()}
    assert signs == {None, "¥"}
    assert "$" not in shown(result, width=200).partition("$ rigright")[0]


def bars_of(*memories):
    (bars,) = parts(planned(plan(ranks=memories)), Bars, details=True)
    return bars.bars


def test_a_bar_for_each_unlike_rank():
    assert len(bars_of(memory(), memory(weights=12.0))) == 2
    assert len(bars_of(memory(), memory())) == 1


def test_a_bar_is_the_memory_of_a_rank():
    (bar,) = bars_of(memory())
    assert sum(piece.size for piece in bar.pieces) == pytest.approx((16 + 5 + 7 * 0.5 - 0.5) * 2**30)
    assert bar.limit == 31 * 2**30


OLD = say("prices as of {date}; verify before buying", date="2023-03").of(OLD_PRICE)


def test_notes_of_plans_name_their_plan():
    stale = plan(notes=(OLD,))
    for plans, places in (((stale, stale), "1, 2"), ((stale, plan()), "1")):
        told = [values(said) for said in lines(planned(*plans), "dim", details=True)]
        assert {"places": places, "date": "2023-03"} in told


def test_old_prices_are_one_line():
    old = plan(notes=(OLD,), supply=replace(plan().supply, as_of="2023-03", stale=True))
    (line,) = lines(planned(old, old), "warn")
    assert values(line) == {"date": "2023-03"}
    assert not [said for said in lines(planned(old, old), "dim") if "date" in values(said)]


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
    assert answer(result)[1]["machine"].startswith("2 x (8x H100")
    assert "2 nodes of 8x h100-sxm5-80gb" in commands(result)[0]


@pytest.mark.parametrize("cells", [20, 40, 60, 80, 120])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_line_is_wider_than_the_screen_but_commands(cells, language):
    found = shown(TWO, width=cells, unicode=False, language=language).splitlines()
    assert all(width(line) <= cells for line in found if not line.strip().startswith("$"))


def test_other_forms_hold_the_same_figures():
    page = pages.page(TWO, details=True)
    for made in (render_markdown(page, Screen()), render_html(page, Screen())):
        assert "✓ 2x RTX 5090 " in made
        assert "41 (35-47)" in made
        assert "$7,900" in made


def test_a_spreadsheet_has_a_row_a_plan_and_units_in_its_heads():
    rows = list(csv.DictReader(io.StringIO(render_csv(pages.sheet(TWO), Screen()))))
    assert [row["plan"] for row in rows] == ["1", "2"]
    assert float(rows[0]["output_tok_per_s"]) == 41
    assert float(rows[0]["output_tok_per_s_low"]) == 35
    assert rows[0]["price_as_of"] == "2026-10"
    assert float(rows[0]["tpot_s"]) == pytest.approx(0.0244)


def test_a_script_reads_plans_in_si_units():
    told = json.loads(dumps(pages.plain(TWO, "en"), "en"))
    assert told["fits"] is True
    assert told["wish"]["tpot_s"] == 0.05
    first = told["plans"][0]
    assert first["figures"]["tpot_s"]["low"] < first["figures"]["tpot_s"]["value"]
    assert first["layout"]["tp"] == 2
    assert first["memory"][0]["weights"] == 16 * 2**30
    assert told["why_not"][0]["limit"] == "tpot_s"


def test_what_does_not_fit_is_an_answer_too():
    told = json.loads(dumps(pages.plain(planned(nearest=plan(), broken=(REJECTED,)), "zh"), "zh"))
    assert told["fits"] is False
    assert told["plans"] == []
    assert told["nearest"]["chip"] == "rtx-5090"
    assert told["broken"][0]["nearest"] == 0.07


def test_few_bits_get_no_tick_and_are_told_what_holds_four():
    found = plan_verb(
        "llama-3.1-70b", wish=PlanWish(on="rtx 5090 + 64gb"), asked="rigright plan llama-3.1-70b"
    )
    line = pages.verdict(found)
    assert found.is_lossy
    assert (line.tone, {one.kind for one in found.steps}) == ("warn", {"cards", "memory", "rent"})
    assert not any(one.planned.is_lossy for one in found.steps)
    typed = [pages.on_step(found, one) for one in found.steps if one.kind == "memory"]
    assert typed[0].endswith("--quality Q4_K_M")
    assert (
        pages.verdict(plan_verb("llama-3.1-70b", wish=replace(found.typed, weights=("Q2_K",)))).tone == "good"
    )


def test_unknown_prices_are_said_as_unknown():
    figures = {name: one for name, one in plan().figures.items() if not name.startswith("usd")}
    unknown = planned(
        plan(
            figures=figures,
            supply=Supply(how="buy", label="x", n_units=1, usd=None, usd_per_h=None, as_of=None),
        )
    )
    assert answer(unknown) == (
        "good",
        {name: VERDICT[name] for name in ("machine", "model", "format", "rate")},
    )
    own = pages.page(planned(plan(how="own"))).title
    assert pages.page(unknown).title != own, "that no price is known is said, and is no price of nothing"


def test_the_sum_over_years_is_shown_where_work_ends():
    endless = {**plan().figures, "usd_total": figure(4000.0)}
    assert ROWS["usd_total"] in rows(planned(plan(figures={**endless, "days": figure(12.0)})))
    assert ROWS["usd_total"] not in rows(planned(plan(figures=endless)))


TRAINED = planned(
    tuned(),
    wish=PlanWish(work="pretrain", train_tok=10e9, seq_tok=4096, global_batch=1024, method="full", days=30),
)


def test_a_training_says_how_long_it_takes_and_what_it_comes_to():
    assert answer(TRAINED) == (
        "good",
        {
            "machine": "8x A100 SXM4 80GB", "model": "Llama-3.1-70B", "text": "zero1",
            "time": "2.5 d", "rate": "35,000", "usd": "$528", "date": "2026-10",
        },
    )  # fmt: skip


def test_a_training_is_titled_by_its_tokens_and_steps():
    told = values(lines(TRAINED, "dim", details=True)[0])
    wanted = {"tokens": "10.0 B", "batch": "1,024", "seq": "4,096", "time": "30 d"}
    assert {name: told[name] for name in wanted} == wanted


def test_a_training_shows_its_fullest_rank_and_its_steps():
    (bars,) = parts(TRAINED, Bars, details=True)
    (piece,) = bars.bars[0].pieces
    assert piece.size == TRAINED.first.rank_bytes.value
    told = rows(TRAINED)
    assert {"size": "2 x 16", "recompute": "selective"} in [values(*cells) for cells in told.values()]
    assert "full, zero1" in {str(cell) for cells in told.values() for cell in cells}


def test_a_training_is_explained_as_it_was_planned():
    line = commands(TRAINED)[0]
    _, verb, *arguments = shlex.split(line)
    options = verb_parser(verb, "en").read(arguments)
    assert (options.train, options.trainer, options.tp, options.dp) == ("full", "megatron", "2", "4")
    assert (options.micro_batch, options.accumulate, options.sharding) == ("2", "16", "zero1")
    assert options.sequence_parallel


def test_a_training_in_a_spreadsheet():
    (row,) = csv.DictReader(io.StringIO(render_csv(pages.sheet(TRAINED), Screen())))
    assert row["engine"] == "megatron"
    assert float(row["days"]) == 2.5


def test_figures_of_a_percentile_say_so():
    wish = PlanWish(prompt_tok=100, output_tok=10, ttft_s=1, percentile=0.95)
    result = planned(plan(), wish=wish)
    (table,) = parts(result, Table)
    assert [values(column.head)["at"] for column in table.columns if "at" in values(column.head)] == [
        " p95"
    ] * 2
    assert [values(head) for head in rows(result)].count({"share": "95"}) == 2
    assert values(lines(result, "dim", details=True)[0])["share"] == "95%"


def test_each_plan_says_what_its_speed_is_based_on():
    figures = {**plan().figures, "tpot_s": figure(0.02, mark="physics")}
    told = rows(planned(plan(), plan(figures=figures)))
    assert (words.MARKS["fitted"], words.MARKS["physics"]) in told.values()
    (basis,) = lines(TWO, "dim")
    assert values(basis) == {"band": "37-46"}
    assert dict(basis.values)["unit"] == FIGURES["output_tok_per_s"].head
    assert dict(basis.values)["basis"] == words.MARKS["fitted"]


def test_an_image_model_is_planned_in_images():
    drawn = {"images_per_s": figure(2.5), "latency_s": figure(3.2), "usd_per_image": figure(0.0002)}
    kept = {name: one for name, one in plan().figures.items() if name in {"usd", "power_w", "headroom"}}
    result = planned(plan(figures=kept | drawn), wish=PlanWish(work="image", picture=Size.square(1024)))
    assert answer(result)[1]["rate"] == "2.5"
    assert columns(result)["usd_per_image"] == ["0.20"]
    assert not any(" simulate " in line for line in commands(result, details=True))
    assert "--context" not in commands(result)[0]


def test_a_budget_that_buys_the_card_but_no_computer_around_it_says_so():
    """Most people who ask for one card have a computer that it goes into."""
    for budget, told in ((800.0, True), (50.0, False)):
        wish = PlanWish(work="chat", buy=True, budget_usd=budget, chips=("rtx 3090", "rtx 4090", "rtx 5090"))
        found = plan_verb("qwen3-8b", wish=wish)
        tone, said = answer(found)
        assert tone == "bad"
        card = found.first.supply.usd.value
        assert (card <= budget) is told
        assert ("usd" in said) is told
        assert not told or said["usd"] == show_money(card, "USD")


def test_the_page_says_what_would_do_and_the_command():
    asked = "rigright plan llama-3.3-70b --on '1x rtx 3090'"
    result = plan_verb("llama-3.3-70b", wish=PlanWish(on="1x rtx 3090"), asked=asked)
    found = pages.page(result)
    assert found.tone == "bad"
    told = values(found.title)
    assert told["label"].startswith("1x RTX 3090, ")
    change = dict(pairs_whole(found.title))["change"]
    step = next(one for one in result.steps if one.label == change)
    before = result.steps[: result.steps.index(step)]  # a tick goes before what has none
    assert pages.verdict(step.planned).tone == "good"
    assert all(pages.verdict(one.planned).tone != "good" for one in before)
    cards = next(one for one in result.steps if one.kind == "cards")
    assert values(cards.label) == {"count": "1", "chip": "GeForce RTX 3090"}
    (commands,) = (part for part in found.parts if isinstance(part, Commands))
    assert commands.items[0].startswith(f"rigright plan llama-3.3-70b --on {shlex.quote(step.on)}")
