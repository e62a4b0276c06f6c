"""`plan` from the wish to the plans: the main job, asked as people ask it."""

from __future__ import annotations

import json
import shlex

import pytest

from rigright.base.errors import AskError, DataError, MissingError
from rigright.demand import PlanWish
from rigright.faces.cli.main import main
from rigright.search.named import machine_flag
from rigright.verbs.compare import compare as compare_verb
from rigright.verbs.explain import explain as explain_verb
from rigright.verbs.plan import plan as plan_verb

SERVING = PlanWish(on="8x h100", prompt_tok=2048, output_tok=512, ttft_s=1.0, tpot_s=0.05)
HOME = PlanWish(work="chat", budget_usd=8000, chips=("4090", "5090", "3090"), buy=True)


@pytest.fixture(scope="module")
def served():
    return plan_verb("llama-3.1-70b", wish=SERVING)


@pytest.fixture(scope="module")
def bought():
    return plan_verb("qwen3-32b", wish=HOME)


def test_a_plan_keeps_every_limit(served):
    assert served.fits
    for plan in served.plans:
        assert plan.figures["ttft_s"].value <= 1.0
        assert plan.figures["tpot_s"].value <= 0.05
        assert plan.n_chips <= 8


def test_what_it_plans_explain_finds_to_fit(served):
    first = served.first
    answer = explain_verb(
        "llama-3.1-70b",
        f"{first.n_chips}x {first.chip.id}",
        wish=_as_asked(first),
    )
    assert answer.fits


def _as_asked(plan):
    from rigright.demand import ServingWish

    work, layout = plan.work, plan.layout
    return ServingWish(
        engine=work.engine,
        weights=work.weights,
        kv=work.kv,
        context_tok=work.context_tok,
        users=plan.concurrency,
        prompt_tok=work.prompt_tok,
        output_tok=SERVING.output_tok,
        tp=layout.tp,
        pp=layout.pp,
        dp=layout.dp,
    )


def test_a_budget_is_kept_by_all(bought):
    assert bought.fits
    assert all(plan.figures["usd"].value <= 8000 for plan in bought.plans)
    assert {plan.chip.id for plan in bought.plans} <= {"rtx-4090", "rtx-5090", "rtx-3090"}


def test_every_plan_says_why_it_is_there_or_stands_by_cost(bought):
    assert any(plan.reasons for plan in bought.plans)
    assert all(plan.supply.as_of for plan in bought.plans)


def test_an_impossible_budget_tells_the_nearest_and_the_limit_with_its_number():
    found = plan_verb("llama-3.1-70b", wish=PlanWish(budget_usd=300, users=100, chips=("4090",), buy=True))
    assert not found.fits
    assert found.first is not None
    assert "usd" in {one.limit for one in found.broken}
    assert found.broken[0].nearest is not None


def test_a_card_too_small_tells_what_is_missing():
    found = plan_verb("llama-3.1-70b", wish=PlanWish(on="1x 4090"))
    assert not found.fits
    assert found.broken[0].limit == "memory"


def test_what_was_assumed_while_reading_names_is_told(served):
    assert any("h100" in str(note) for note in served.notes)


def test_why_tells_formula_numbers_and_sources_of_the_first_plan():
    rows = plan_verb("llama-3.1-70b", wish=SERVING, why=True).why
    parts = {row.part for row in rows}
    assert {"weights", "rates", "TPOT", "TTFT", "80 %"} <= parts
    assert all(str(row.formula) and row.source for row in rows)


def test_own_prices_go_before_ours(tmp_path):
    prices = tmp_path / "mine.csv"
    prices.write_text("chip,usd\n4090,1000\n", encoding="utf-8")
    asked = {"work": "chat", "chips": ("4090",), "buy": True}
    ours = plan_verb("qwen3-8b", wish=PlanWish(**asked))
    mine = plan_verb("qwen3-8b", wish=PlanWish(**asked, prices_file=str(prices)))
    assert mine.first.supply.usd.value == 1000 * mine.first.n_chips
    assert ours.first.supply.usd.value > mine.first.supply.usd.value
    assert not mine.first.supply.stale


def test_own_prices_in_yuan(tmp_path):
    prices = tmp_path / "mine.csv"
    prices.write_text("chip,price,currency,as_of\nrtx 4090,14200,CNY,2026-11\n", encoding="utf-8")
    wish = PlanWish(work="chat", chips=("4090",), buy=True, prices_file=str(prices))
    assert 1500 < plan_verb("qwen3-8b", wish=wish).first.supply.usd.value < 2500


def test_a_broken_price_file_names_the_place(tmp_path):
    for number, (table, told) in enumerate(
        (
            ("chip,usd\n4090,\n", "2: .*usd"),
            ("chip,usd\n4090,many\n", '2: .*usd: .*"many"'),
            ("chip,usd\nno such card,5\n", '2: .*"no such card"'),
            ("chip,usd,as_of\n4090,5,someday\n", "as_of"),
            ("card,usd\n4090,5\n", "chip"),
        )
    ):
        prices = tmp_path / f"mine{number}.csv"
        prices.write_text(table, encoding="utf-8")
        with pytest.raises(DataError, match=told):
            plan_verb("qwen3-8b", wish=PlanWish(chips=("4090",), prices_file=str(prices)))


def test_a_price_file_that_is_not_there():
    with pytest.raises(MissingError, match=r"nowhere\.csv"):
        plan_verb("qwen3-8b", wish=PlanWish(prices_file="nowhere.csv"))


@pytest.mark.parametrize(
    ("model", "wish", "said"),
    [
        ("llama-3.1-8b", {"clouds": ("nowhere",)}, "aws"),
        ("llama-3.1-8b", {"vendors": ("nowhere",)}, "NVIDIA"),
        ("llama-3.1-8b", {"engines": ("nothing",)}, "nothing"),
        ("llama-3.1-8b", {"weights": ("fp3",)}, "fp3"),
        ("llama-3.1-8b", {"kv": ("fp3",)}, "fp3"),
        ("llama-3.1-8b", {"quality": "best"}, "best"),
        ("llama-3.1-8b", {"chips": ("no such chip",)}, "no such"),
        ("llama-3.1-8b", {"users": 5, "rate_per_s": 5}, "--concurrency and --rate"),
        ("llama-3.1-8b", {"on": "4090", "owned": "4090"}, "--on and --own"),
        ("llama-3.1-8b", {"prompt_tok": 4096, "output_tok": 4096, "context_tok": 4096}, "8,192.*4,096"),
        ("llama-3.1-8b", {"clouds": ("aws",), "buy": True}, "--buy and --cloud"),
        ("llama-3.1-8b", {"users": 0}, "--concurrency is 0"),
        ("llama-3.1-8b", {"budget_usd": -5}, "--budget is .*-5"),
        ("bert-base-uncased", {"work": "chat"}, "--mode embed"),
        ("llama-3.1-8b", {"steps": 20}, "--steps"),
        ("resnet50", {"users": 8, "kv": ("fp8",)}, "--concurrency"),
        ("resnet50", {"work": "pretrain", "train_tok": 1e9}, "--tokens"),
        ("resnet50", {"engines": ("vllm",)}, "--engine"),
        ("llama-3.1-8b", {"work": "image"}, r"--mode serve \| chat"),
    ],
)
def test_a_wish_that_cannot_be_says_so(model, wish, said):
    with pytest.raises(AskError, match=said):
        plan_verb(model, wish=PlanWish(**wish))


def test_explain_tells_the_same_speed_as_the_plan(served):
    for plan in served.plans:
        told = explain_verb("llama-3.1-70b", machine_flag(plan), wish=_as_asked(plan)).speed
        assert told.tpot_s.value == pytest.approx(plan.figures["tpot_s"].value, rel=1e-9)
        assert told.ttft_s.value == pytest.approx(plan.figures["ttft_s"].value, rel=1e-9)
        assert told.output_tok_per_s.value == pytest.approx(plan.figures["output_tok_per_s"].value, rel=1e-9)


NAMED = (
    ["llama-3.1-8b", "--on", "rtx 3060 12gb"],
    ["qwen3-32b", "--on", "rtx 5090"],
    ["llama-3.1-70b", "--on", "8x h100", "--prompt", "512", "--users", "32"],
)


@pytest.mark.parametrize("words", NAMED, ids=" ".join)
def test_the_explain_command_that_is_printed_tells_the_figures_of_the_plan(words, capsys):
    assert main(["plan", *words, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)["plans"][0]
    assert main(["plan", *words]) == 0
    typed = next(line for line in capsys.readouterr().out.splitlines() if "$ rigright explain" in line)
    assert main([*shlex.split(typed.strip().removeprefix("$ "))[1:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["weights"], told["kv"]) == (plan["work"]["weights"], plan["work"]["kv"])
    assert told["context_tok"] == plan["work"]["context_tok"]
    parts = [card["parts_bytes"] for card in told["cards"]]
    assert max(parts, key=lambda one: sum(one.values())) == max(
        plan["memory"], key=lambda one: sum(one.values())
    )
    for name in ("ttft_s", "tpot_s", "output_tok_per_s"):
        assert told["speed"][name]["value"] == pytest.approx(plan["figures"][name]["value"], rel=1e-9), name


def test_the_same_question_of_a_larger_machine_keeps_what_was_asked(capsys):
    assert main(["plan", "llama-3.1-70b", "--on", "a100", "--weights", "bf16", "--engine", "sglang"]) == 0
    typed = next(line for line in capsys.readouterr().out.splitlines() if "$ rigright plan" in line)
    assert "--weights bf16" in typed
    assert "--engine sglang" in typed
    assert main(shlex.split(typed.strip().removeprefix("$ "))[1:]) == 0
    assert capsys.readouterr().out.startswith(("✓", "[ok]"))


def test_compare_tells_the_same_as_the_plan(served):
    plan = served.first
    one = compare_verb(("8x h100", "8x a100 80gb"), model="llama-3.1-70b", wish=_work(SERVING)).contenders[0]
    assert one.plan.chip == plan.chip
    assert one.plan.figures["tpot_s"].value == pytest.approx(plan.figures["tpot_s"].value)


def _work(wish):
    from dataclasses import replace

    return replace(wish, on=None)


TUNING = PlanWish(
    work="finetune", method="lora", train_tok=10e6, seq_tok=2048, chips=("4090", "h100 sxm"), days=2
)


def test_a_tuning_is_planned_within_its_deadline():
    found = plan_verb("llama-3.1-8b", wish=TUNING, why=True)
    assert found.fits
    assert all(plan.figures["days"].value <= 2 for plan in found.plans)
    assert {"tok/s", "80 %", "memory"} <= {row.part for row in found.why}
    assert found.wish.global_batch


def test_a_tuning_planned_is_one_that_explain_finds_to_fit():
    from rigright.demand import TrainingWish
    from rigright.verbs.explain_training import explain_training

    plan = plan_verb("llama-3.1-8b", wish=TUNING).first
    work = plan.work
    wish = TrainingWish(
        method=work.method, trainer=work.trainer, seq_tok=work.seq_tok, micro_batch=work.micro_batch,
        accumulate=work.accumulate, recompute=work.recompute, sharding=work.sharding,
        tp=plan.layout.tp, pp=plan.layout.pp, dp=plan.layout.dp,
    )  # fmt: skip
    assert explain_training("llama-3.1-8b", f"{plan.n_chips}x {plan.chip.id}", wish=wish).fits


def test_trainings_are_compared_by_time_and_money():
    found = compare_verb(("4090", "h100 sxm"), model="llama-3.1-8b", wish=_bare(TUNING))
    assert {"days", "train_tok_per_s"} <= set(found.wins)
    assert all(one.roof is None for one in found.contenders)


def _bare(wish):
    from dataclasses import replace

    return replace(wish, chips=())


def test_unlike_cards_are_named_and_asked_for_as_they_stand():
    from rigright.facts.nodes import find_node
    from rigright.search.named import machine, machine_flag

    found = plan_verb("llama-3.1-70b", wish=PlanWish(on="2x 3090 + 1x 4090", work="chat"), why=True)
    mixed = [plan for plan in found.plans if plan.n_chips == 3]
    assert mixed
    for plan in mixed:
        assert machine(plan) == "2x RTX 3090 + 1x RTX 4090"
        assert find_node(machine_flag(plan)).n_cards == 3


def test_an_image_model_is_planned_told_why_and_compared():
    wish = PlanWish(work="image", chips=("4090", "5090"), buy=True, most_chips=2)
    found = plan_verb("sdxl", wish=wish, why=True)
    assert found.fits
    assert all(plan.figures["images_per_s"].value > 0 for plan in found.plans)
    assert {"images/s", "80 %"} <= {row.part for row in found.why}
    sides = compare_verb(("1x 4090", "1x 5090"), model="sdxl", wish=PlanWish(work="image"))
    slow, fast = (item.figures["images_per_s"].value for item in sides.contenders)
    assert slow < fast


@pytest.mark.parametrize(("field", "option"), [("most_chips", "--max-chips"), ("prompt_tok", "--prompt")])
def test_a_wrong_number_is_told_by_the_option_that_was_typed(field, option):
    with pytest.raises(AskError, match=f"^{option} is 0"):
        plan_verb("llama-3.1-8b", wish=PlanWish(**{field: 0}))


def test_a_budget_is_told_as_it_was_said_with_the_rate_and_its_date():
    from rigright.options.read import read_wish
    from rigright.report.pages.plan_words import work

    wish = read_wish({"chips": "rtx 4090", "budget": "60000 CNY"})
    found = plan_verb("llama-3.1-8b", wish=wish)
    assert "60000 CNY" in str(work(found.wish))
    assert sum("CNY at 7.1 " in str(note) for note in found.notes) == 1
    plain = plan_verb("llama-3.1-8b", wish=read_wish({"chips": "rtx 4090", "budget": "$8000"}))
    assert not any("CNY" in str(note) for note in plain.notes)


def test_a_single_picture_is_told_with_its_steps():
    found = plan_verb("sdxl", wish=PlanWish(on="rtx 4090", steps=30)).result
    assert all(any("30" in _values(note) for note in plan.notes) for plan in found.plans)


def _values(note):
    """All that a sentence is filled with, of the sentences in it, too."""
    values = [value for _, value in getattr(note, "values", ())]
    return {str(value) for value in values}.union(*map(_values, values))
