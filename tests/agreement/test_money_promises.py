"""Limits of money and power: `explain` as `plan` types it says the same price, watts and tick."""

from __future__ import annotations

import json
import random
import shlex

import pytest
from drawn_questions import THOROUGH, seeds
from test_next_commands import asked, marked

COUNT = 30 if THOROUGH else 4
MODELS = (
    "qwen3-8b", "llama-3.3-70b", "mixtral-8x7b", "Qwen/Qwen3-30B-A3B", "gpt-oss-20b", "gemma-2-9b", "phi-4",
)  # fmt: skip
SAMPLES = ("sdxl", "resnet-50", "vit-base", "bge-m3")
MACHINES = (
    "rtx 4090", "2x rtx 3090", "4x l4", "8x h100", "4x a100 80gb", "8x mi300x", "2x h100", "m4 max 128gb",
    "8x t4",
)  # fmt: skip
FIGURES = ("usd", "usd_per_h", "usd_per_mtok", "usd_per_image", "usd_total", "power_w")


def limits(dice):
    """Limits of money and power, kept or missed, and what prices hang on."""
    budget = ("1500usd", "4000usd", "20000usd", "300000usd", "30000cny")
    words = dice.choice(([], ["--budget", dice.choice(budget)]))
    words += dice.choice(([], ["--per-hour", dice.choice(("0.3", "2", "20"))]))
    words += dice.choice(
        (["--watts", dice.choice(("300W", "900W", "5kW"))], ["--budget", "6000usd"][len(words) :])
    )
    words = words or ["--per-hour", "1"]
    machine = dice.choice((*MACHINES, None, None))
    words += [] if machine is None else [dice.choice(("--on", "--on", "--own")), machine]
    more = ([], [], ["--rent"], ["--buy"], ["--used"], ["--place", "DE"], ["--duty", "30%"])
    return words + dice.choice(more)


def serving(dice):
    """A question of serving."""
    words = [dice.choice((*MODELS, "whisper-large-v3"))]
    words += dice.choice(([], ["--concurrency", "8"], ["--rate", "2"]))
    words += dice.choice(([], [], ["--tpot", "50ms"], ["--ttft", "2s"]))
    return words + dice.choice(([], ["--per-mtok", dice.choice(("0.2", "1", "8"))]))


def samples(dice):
    """The same of whole samples."""
    return [dice.choice(SAMPLES), *dice.choice(([], ["--rate", "3"], ["--samples", "90000", "--days", "1"]))]


def training(dice):
    """The same of a training."""
    words = [dice.choice(MODELS), "--mode", "finetune", "--method", dice.choice(("lora", "qlora", "full"))]
    return words + dice.choice((["--tokens", "20M"], ["--tokens", "2B", "--days", "5"]))


def unlike(words):
    """What differs between a plan and the `explain` that it types; None where it types none."""
    code, said = asked([*words, "--json"])
    answer = json.loads(said) if code in {0, 1} else {"plans": []}
    plans = answer["plans"] or [one for one in (answer.get("nearest"),) if one is not None]
    if not plans or plans[0]["prefill"] is not None:
        return None
    page = asked(words)[1]
    line = next((line for line in page.splitlines() if "$ rigright explain" in line), None)
    if line is None:
        return None
    typed = shlex.split(line.strip().removeprefix("$ rigright "))
    if "--own" in words and "--own" not in typed:  # cards bought beside those that are there
        return None
    code, said = asked([*typed, "--json"])
    if code not in {0, 1}:
        return [shlex.join(typed), code]
    told, first = json.loads(said)["figures"], plans[0]["figures"]
    found = [
        (name, first.get(name), told.get(name))
        for name in FIGURES
        if (name in first) != (name in told)
        or (name in first and any(told[name][end] != pytest.approx(first[name][end], rel=1e-6)
                                  for end in ("value", "low", "high")))
    ]  # fmt: skip
    again = asked(typed)[1]
    return found + ([("tick", page[:80], again[:80])] if marked(page) != marked(again) else [])


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("kind", [serving, samples, training])
def test_explain_says_price_watts_and_tick_of_the_plan(kind, seed):
    dice = random.Random(f"{kind.__name__} {seed}")  # noqa: S311 - a draw of questions
    different, compared = [], 0
    for _ in range(COUNT):
        words = ["plan", *kind(dice), *limits(dice)]
        found = unlike(words)
        compared += found is not None
        different += [(shlex.join(words), found)] if found else []
    assert different == []
    assert compared > COUNT / 3


def test_nothing_is_priced_where_nobody_speaks_of_money():
    told = json.loads(asked(["explain", "qwen3-8b", "--on", "rtx 4090", "--json"])[1])
    assert told["supply"] is None
    assert told["figures"] == {}


@pytest.mark.parametrize("more", [[], ["--train", "qlora"]])
def test_a_budget_that_is_too_small_costs_the_tick_and_one_that_is_enough_does_not(more):
    words = ["explain", "qwen3-8b", "--on", "rtx 4090", "--buy", *more]
    page = asked([*words, "--budget", "500usd"])[1]
    assert "budget $500" in page.splitlines()[0]
    told = json.loads(asked([*words, "--budget", "50000usd", "--json"])[1])
    assert told["broken"] == []
    assert told["supply"]["how"] == "buy"
    assert told["figures"]["usd"]["value"] > 500
    owned = ["explain", "qwen3-8b", "--own", "rtx 4090", *more, "--budget", "500usd", "--json"]
    assert json.loads(asked(owned)[1])["broken"] == []
