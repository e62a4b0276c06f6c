"""Losses of preferences and rewards: laws that hold, doors that agree, figures of others."""

from __future__ import annotations

import re
import shlex
from functools import cache

import pytest

from rigright.arch.sources.open import open_model
from rigright.base.units import GIB
from rigright.demand import TrainingWish
from rigright.facts.training import objectives
from rigright.options.read import fill, read_wish, values_of
from rigright.options.rows import options_of, trains_as
from rigright.report.pages.plan_next import explain_flags
from rigright.terms.memory import weights_bytes
from rigright.verbs.explain_training import explain_training
from rigright.verbs.plan import plan

MODEL, ON = "qwen2.5-7b", "8x h100"
ROLLED = tuple(name for name, row in objectives().items() if row.rollout)
FIXED = {
    "trainer": "trl-1.14", "micro_batch": 2, "accumulate": 4, "dp": 8, "recompute": "full", "rollout_tp": 1,
    "waves": 1, "sharding": "fsdp",
}  # fmt: skip


@cache
def trained(objective, model=MODEL, on=ON, **said):
    fixed = {name: value for name, value in FIXED.items() if objectives()[objective].rollout or name in {
        "micro_batch", "accumulate", "dp", "recompute", "sharding"}}  # fmt: skip
    if fixed.get("trainer") not in objectives()[objective].trainers:
        fixed.pop("trainer", None)
    return explain_training(model, on, wish=TrainingWish(objective=objective, **{**fixed, **said}))


def phases(result):
    return dict(result.worst.phases_bytes)


@pytest.mark.parametrize("objective", objectives())
def test_adapters_take_no_more_than_all_weights(objective):
    full, lora = trained(objective, method="full"), trained(objective, method="lora")
    assert lora.peak_bytes <= full.peak_bytes
    assert phases(lora)["load"] < phases(full)["load"]


@pytest.mark.parametrize("objective", [name for name, row in objectives().items() if row.references])
def test_a_reference_is_a_frozen_copy_of_the_weights_and_of_adapters_it_is_none(objective):
    without = [trained(objective, method=method, references=0) for method in ("full", "lora")]
    with_one = [trained(objective, method=method, references=1) for method in ("full", "lora")]
    dropped, kept = (phases(a)["load"] - phases(b)["load"] for a, b in zip(with_one, without, strict=True))
    assert dropped == pytest.approx(weights_bytes(open_model(MODEL), "bf16") / 8, rel=0.1)
    assert kept == 0
    assert with_one[0].time.step_s.value > without[0].time.step_s.value


@pytest.mark.parametrize("objective", ROLLED)
def test_more_completions_and_longer_ones_take_no_less(objective):
    few, many = (trained(objective, group=size, prompts=8, accumulate=None) for size in (4, 16))
    assert phases(many)["rollout"] >= phases(few)["rollout"]
    assert many.time.step_s.value > few.time.step_s.value
    short, long = (trained(objective, completion_tok=size, seq_tok=size + 512) for size in (512, 2048))
    assert long.time.step_s.value > short.time.step_s.value
    assert phases(long)["rollout"] > phases(short)["rollout"]


def test_an_engine_that_sleeps_takes_no_more_than_one_that_stays_and_one_apart_nothing():
    said = {"method": "lora", "sharding": "none"}
    sleep, stays = (trained("grpo", rollout=mode, **said) for mode in ("sleep", "colocate"))
    apart = trained("grpo", rollout="apart", rollout_gpus=1, **said | {"dp": 7})
    assert phases(apart)["step"] < phases(sleep)["step"] < phases(stays)["step"]
    assert phases(sleep)["rollout"] == pytest.approx(phases(stays)["rollout"])


def test_a_critic_learns_and_a_reward_model_stands_beside():
    grpo, ppo = (trained(name, method="full", trainer="verl") for name in ("grpo", "ppo"))
    parts = {name: dict(one.worst.parts_bytes) for name, one in (("grpo", grpo), ("ppo", ppo))}
    assert parts["ppo"]["optimizer"] == pytest.approx(2 * parts["grpo"]["optimizer"])
    assert parts["ppo"]["frozen"] == pytest.approx(2 * parts["grpo"]["frozen"])
    assert ppo.time.step_s.value > grpo.time.step_s.value


def test_logits_of_completions_stand_whole_but_where_the_loss_is_fused():
    old, new = (phases(trained("grpo", trainer=name))["backward-start"] for name in ("trl-1.14", "trl"))
    chunked = phases(trained("grpo", trainer="trl-1.14", chunked_loss=True))["backward-start"]
    whole = 2 * 1536 * open_model(MODEL).vocab * 18
    assert 0.8 * whole < old - chunked <= whole  # beside chunks the layers work with more of their own
    assert new == chunked
    orpo, dpo = (phases(trained(name, trainer="trl"))["backward-start"] for name in ("orpo", "dpo"))
    assert orpo > dpo * 1.2


def test_a_pair_is_two_sequences():
    pair, single = trained("dpo", method="lora"), trained("kto", method="lora")
    assert pair.time.tok_per_step == 2 * single.time.tok_per_step
    assert pair.time.samples_per_s * pair.time.step_s.value == pytest.approx(2 * 4 * 8, rel=0.01)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("grpo", ("grpo", "")), ("GRPO LoRA", ("grpo", "lora")), ("qlora + dpo", ("dpo", "qlora")),
        ("强化学习", ("grpo", "")), ("偏好优化 LoRA", ("dpo", "lora")), ("reward model", ("reward", "")),
        ("rlhf", ("ppo", "")), ("lora", None), ("full", None), ("tulu-2-dpo-70b", None), ("gropo", None),
        ("DPO全参微调", ("dpo", "full")), ("simpo-qlora", ("simpo", "qlora")),
    ],
)  # fmt: skip
def test_a_loss_and_a_method_are_told_apart_in_what_people_type(text, read):
    assert trains_as(text) == read


@pytest.mark.parametrize("method", ["grpo", "dpo lora", "ppo"])
def test_the_next_command_of_a_plan_answers_with_its_figures(method):
    asked = read_wish({"on": ON, "method": method})
    first = (result := plan(MODEL, wish=asked)).plans[0]
    words = shlex.split(shlex.join(explain_flags(first, wish=result.wish)))
    named = {name.removeprefix("--"): value for name, value in zip(words, [*words[1:], ""], strict=True)
             if name.startswith("--")}  # fmt: skip
    on = named.pop("on")
    named = {name: "yes" if value.startswith("--") else value for name, value in named.items()}
    wish = fill(TrainingWish, "explain", values=values_of("explain", named))
    again = explain_training(MODEL, on, wish=wish)
    assert again.training == first.work
    assert again.time.tok_per_s == pytest.approx(first.figures["train_tok_per_s"].value, rel=1e-6)
    assert again.peak_bytes == pytest.approx(first.rank_bytes.value, rel=1e-6)


@pytest.mark.parametrize(
    ("on", "objective", "said"),
    [
        ("1x rtx 4090", "grpo", {"method": "full", "trainer": "trl-1.14"}),
        ("2x a100 80gb", "dpo", {"method": "full", "sharding": "none", "optimizer": "adamw",
                                 "micro_batch": 4}),
        ("4x a100 40gb", "ppo", {"method": "full", "optimizer": "adamw", "micro_batch": 8,
                                 "rollout": "sleep", "rollout_tp": 1, "waves": 1}),
        ("4x h100", "grpo", {"method": "full", "rollout": "colocate", "rollout_tp": 1, "waves": 1,
                             "sharding": "none", "optimizer": "adamw"}),
    ],
)  # fmt: skip
def test_what_a_remedy_promises_its_command_gives(on, objective, said):
    wish = TrainingWish(objective=objective, seq_tok=6144, **said)
    result = explain_training(MODEL, on, wish=wish)
    assert not result.fits
    assert result.remedies
    for remedy in result.remedies:
        pairs = re.findall(r"--([a-z-]+)(?: ([^-\s]\S*))?", remedy.flag)
        texts = {"objective": objective, **{name: value or "yes" for name, value in pairs}}
        values = values_of("explain", texts)
        changed = fill(TrainingWish, "explain", values=values)
        merged = {
            name: getattr(changed, name) if getattr(changed, name) is not None else getattr(wish, name)
            for name in TrainingWish.__slots__
        }
        after = explain_training(MODEL, on, wish=TrainingWish(**merged))
        assert after.fits == remedy.fits, remedy.flag
        assert after.peak_bytes == pytest.approx(remedy.peak_bytes), remedy.flag


LONG = {"seq_tok": 3072, "completion_tok": 1024, "group": 4, "prompts": 1, "micro_batch": 4}
PUBLISHED = [  # GiB on the fullest GPU: source, date, model, machine, loss, what was said, measured
    ("huggingface/trl issue 3456, 2025-05", "qwen3-0.6b", "1x a100 80gb", "grpo",
     {**LONG, "method": "full", "references": 0, "recompute": "none", "accumulate": 1, "dp": 1}, 48.1),
    ("huggingface/trl issue 3456, 2025-05", "qwen3-1.7b", "1x a100 80gb", "grpo",
     {**LONG, "method": "full", "references": 0, "recompute": "none", "accumulate": 1, "dp": 1}, 76.3),
]  # fmt: skip
HELD_OUT = [  # never looked at while a figure was chosen: whether it ran, or what it took
    ("modelscope/ms-swift issue 3848, 2025-04", "qwen2.5-3b", "8x a100 80gb", "grpo",
     {"method": "lora", "rank": 64, "targets": "linear", "sharding": "none", "rollout": "apart",
      "rollout_gpus": 1, "group": 7, "micro_batch": 1, "accumulate": 1, "dp": 7,
      "seq_tok": 2048, "completion_tok": 1024}, 12.0),
    ("verl docs/perf/device_tuning, 2025-06", "qwen2-7b", "2x h800", "grpo",
     {"method": "full", "trainer": "verl", "offload": "all-cpu", "dp": 2}, True),
    ("verl docs/perf/device_tuning, 2025-06", "qwen2.5-14b", "4x h800", "grpo",
     {"method": "full", "trainer": "verl", "offload": "all-cpu", "dp": 4}, True),
    ("OpenRLHF README, 8B PPO with the hybrid engine, 2025", "llama-3-8b", "8x a100 80gb", "ppo",
     {"method": "full", "trainer": "openrlhf", "sharding": "zero3"}, True),
    ("OpenRLHF issue 887, 2025-03", "qwen2.5-7b", "3x h100", "grpo",
     {"method": "full", "trainer": "openrlhf", "sharding": "zero3", "dp": 3, "micro_batch": 1,
      "seq_tok": 37888, "completion_tok": 36864, "offload": "none"}, False),
]  # fmt: skip


@pytest.mark.parametrize(("source", "model", "on", "objective", "said", "measured"), PUBLISHED + HELD_OUT)
def test_published_runs_take_what_was_measured(source, model, on, objective, said, measured):
    result = trained(objective, model, on, **said)
    if isinstance(measured, bool):
        assert result.fits == measured, source
        return
    took = result.worst
    learner = {name: size for name, size in took.phases_bytes if name != "rollout"}
    beside = 0 if "swift" in source else took.used_bytes - took.allocated_bytes  # it reads its allocator
    assert (max(learner.values()) + beside) / GIB == pytest.approx(measured, rel=0.15), source


@pytest.mark.parametrize(("verb", "name"), [("plan", "method"), ("explain", "train")])
def test_a_loss_and_a_method_may_be_said_apart(verb, name):
    option = next(row for row in options_of(verb) if row.name == name)
    assert option.joins("dpo", "lora") == "dpo lora"
    assert option.joins("lora", "qlora") is None
    assert option.joins("dpo", "grpo") is None
