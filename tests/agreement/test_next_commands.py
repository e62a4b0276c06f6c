"""What `plan` prints to type next gives the plan again: its memory, its speed, its band, its tick."""

from __future__ import annotations

import io
import json
import random
import shlex
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace

import pytest
from drawn_questions import THOROUGH, seeds

from rigright.demand import Training
from rigright.faces.cli.main import main
from rigright.options.read import read_wish
from rigright.report.pages.plan_next import explain_flags, next_commands
from rigright.verbs.plan import plan

COUNT = 40 if THOROUGH else 5
MODELS = ("qwen3-8b", "llama-3.3-70b", "mixtral-8x7b", "Qwen/Qwen3-30B-A3B", "gpt-oss-20b", "gpt2")
SAMPLES = ("sdxl", "resnet-50", "vit-base", "bge-m3", "flux.1-dev", "sd3.5-large")
DRAFTING = ("deepseek-v3", "zai-org/GLM-4.5-Air")
MACHINES = (
    *("rtx 4090", "2x rtx 4090", "4x l4", "8x l40s", "8x h100", "2x 8x h100", "4x a100 80gb", "8x mi300x"),
    *("dgx spark", "4x b200", None, None),
)
BESIDE = (  # a part in main memory, a processor alone, more than one machine's worth of cards
    *(
        "rtx 4090 + 128gb",
        "2x rtx 3090 + 256gb",
        "ryzen 9950x + 64gb",
        "16x h100",
        "12x a100 80gb sxm",
        "2x mi300x",
    ),
    *("m4 max 128gb", "2x dgx spark", "gb200 nvl72"),
)
SERVED = ("ttft_s", "tpot_s", "output_tok_per_s")


def serving(dice):
    """A question of serving, as it is typed."""
    drafts = dice.random() < 0.2
    words = [dice.choice(DRAFTING if drafts else MODELS), *(["--draft", "0.7"] if drafts else [])]
    load = dice.choice((["--concurrency", "8"], ["--concurrency", "200"], ["--rate", "2"], []))
    words += load
    if dice.random() < 0.5:
        words += ["--prompt", "2000", "--output", "300"]
    if dice.random() < 0.4:
        words += ["--ttft", "2s", "--tpot", "60ms"]
    return words


def limited(dice):
    """The same with a kind of work and limits, kept or missed, in some statistic."""
    words = [dice.choice(MODELS)]
    words += dice.choice(([], ["--mode", dice.choice(("chat", "rag", "agent", "batch", "serve"))]))
    words += dice.choice(([], ["--concurrency", "3"], ["--concurrency", "64"], ["--rate", "2"]))
    words += dice.choice(([], ["--ttft", dice.choice(("100ms", "1s", "8s"))]))
    words += dice.choice(([], ["--tpot", dice.choice(("12ms", "35ms", "120ms"))]))
    words += dice.choice(([], ["--percentile", dice.choice(("p50", "p95"))]))
    words += dice.choice(([], [], ["--tok-per-s", dice.choice(("200", "9000"))]))
    return words + dice.choice(([], [], ["--growth", "1.5x"]))


def beside(dice):
    """The same on machines of other kinds, of larger models."""
    words = [dice.choice(("qwen3-32b", "gpt-oss-120b", "llama-3.3-70b", "qwen3-8b", "mixtral-8x7b"))]
    words += dice.choice((["--concurrency", "4"], ["--rate", "0.2"], []))
    return [*words, "--on", dice.choice(BESIDE)]


def speech(dice):
    """The same of what is heard."""
    return [dice.choice(("whisper-large-v3", "whisper-small")), *dice.choice((["--concurrency", "16"], []))]


def training(dice):
    """The same of a training."""
    work = dice.choice((["pretrain"], *(["finetune", "--method", one] for one in ("lora", "qlora", "full"))))
    amount = dice.choice((["--tokens", "1M"], ["--tokens", "40B"], ["--samples", "9000", "--epochs", "3"]))
    words = [dice.choice(MODELS), "--mode", *work, *amount, *dice.choice(([], ["--days", "2"]))]
    return words + (["--seq", dice.choice(("1024", "8192"))] if dice.random() < 0.4 else [])


def pictures(dice):
    """The same of whole samples."""
    words = [dice.choice(SAMPLES)]
    words += dice.choice(([], ["--rate", "3"], ["--samples", "90000", "--days", "1"], ["--latency", "9s"]))
    words += ["--steps", "20"] if words[0] == "sdxl" and dice.random() < 0.5 else []
    return words + (["--image-size", "512"] if words[0] == "sdxl" and dice.random() < 0.4 else [])


def asked(words):
    """The exit code and what it printed."""
    with redirect_stdout(io.StringIO()) as said, redirect_stderr(io.StringIO()):
        code = main(words)
    return code, said.getvalue()


def marked(page):
    """The sign that a page begins with."""
    return page.split(maxsplit=1)[0]


def figures(first, told):
    """Pairs that should be alike: of the plan, and of what was typed next."""
    if "ranks" in told:
        rank = max(told["ranks"], key=lambda one: one["least_bytes"])
        most = max(told["ranks"], key=lambda one: one["used_bytes"])
        for end, name in (("value", "used_bytes"), ("low", "used_low_bytes"), ("high", "used_high_bytes")):
            yield f"memory {end}", first["rank_bytes"][end], most[name]
        yield (
            "least memory",
            first["least_bytes"]["high"],
            first["least_bytes"]["value"]
            and (rank["least_bytes"] * first["least_bytes"]["high"] / first["least_bytes"]["value"]),
        )
        if told["time"] is not None:
            each, chips = told["time"]["tok_per_s_per_chip"], first["n_chips"]
            for end in ("value", "low", "high"):
                yield f"tok/s {end}", first["figures"]["train_tok_per_s"][end], each[end] * chips
            yield "MFU", first["figures"]["mfu"]["value"], told["time"]["mfu"]
        return
    if told["samples"] is not None:
        name = f"{told['samples']['unit']}_per_s"
        for end in ("value", "low", "high"):
            yield f"{name} {end}", first["figures"][name][end], told["samples"][name][end]
            yield f"batch {end}", first["figures"]["latency_s"][end], told["samples"]["batch_s"][end]
    parts, own = min(told["cards"], key=lambda one: one["spare_bytes"])["parts_bytes"], first["memory"][0]
    yield from ((name, round(size), round(parts.get(name, 0.0))) for name, size in own.items())  # bytes
    yield "share", first["held"], told["held"]
    yield "certainty", {name: first["certainty"][name] for name in told["certainty"]}, told["certainty"]
    yield "safe", first["safe"] or {}, told["safe"] or {}
    for name in SERVED if told["samples"] is None and "ttft_s" in first["figures"] else ():
        for end in ("value", "low", "high"):
            yield f"{name} {end}", first["figures"][name][end], told["speed"][name][end]


@pytest.mark.parametrize("seed", seeds(8, quick=1))
@pytest.mark.parametrize("kind", [serving, limited, training, pictures, beside, speech])
def test_explain_as_plan_types_it_is_the_plan(kind, seed):
    dice = random.Random(seed)  # noqa: S311 - a draw of questions
    different, compared = [], 0
    for _ in range(COUNT):
        words = ["plan", *kind(dice)]
        machine = None if "--on" in words else dice.choice(MACHINES)
        words += [] if machine is None else ["--on", machine]
        code, said = asked([*words, "--json"])
        answer = json.loads(said) if code in {0, 1} else {"plans": []}
        plans = answer["plans"] or [one for one in (answer.get("nearest"),) if one is not None]
        if not plans or plans[0]["prefill"] is not None:  # pools of workers are asked each by itself
            continue
        _, page = asked(words)
        line = next((line for line in page.splitlines() if "$ rigright explain" in line), None)
        if line is None:  # another machine is what comes next
            assert not page.startswith("\u2713")
            continue
        typed = shlex.split(line.strip().removeprefix("$ rigright "))
        code, said = asked([*typed, "--json"])
        told = json.loads(said)
        unlike = [one for one in figures(plans[0], told) if one[1] != pytest.approx(one[2], rel=1e-6)]
        again = asked(typed)[1]  # that cards are paid for and idle is a doubt of plan alone
        if plans[0]["supply"]["n_chips"] in {None, plans[0]["n_chips"]} and marked(page) != marked(again):
            unlike.append(
                ("tick", page[:80], again[:80])
            )  # cards that are paid for and idle are doubts of plan
        if code or unlike:
            different.append((shlex.join(words), shlex.join(typed), unlike))
        compared += 1
    assert different == []
    assert compared >= COUNT / 3


@pytest.mark.parametrize(
    "words",
    [
        ["qwen3-14b", "--on", "gh200", "--context", "16k", "--concurrency", "40"],
        ["phi-4", "--on", "rtx 4090", "--context", "16k", "--concurrency", "300", "--mode", "batch"],
        ["mistral-nemo", "--on", "l40s", "--ttft", "3s", "--percentile", "p99", "--aim", "quality"],
        ["phi-4", "--on", "rtx pro 6000", "--tpot", "70ms", "--aim", "price"],
        ["qwen3-embedding-8b", "--on", "rtx 4060 ti 16gb + 96gb", "--samples", "50000"],  # tight
    ][:: 1 if THOROUGH else 2],
)
def test_what_stays_open_in_a_plan_stays_open_in_what_is_typed_next(words):
    """A prompt that may fill the context, and a load as high as the limits leave it for most aims."""
    _, page = asked(["plan", *words])
    first = json.loads(asked(["plan", *words, "--json"])[1])["plans"][0]
    line = next(line for line in page.splitlines() if "$ rigright explain" in line)
    typed = shlex.split(line.strip().removeprefix("$ rigright "))
    told = json.loads(asked([*typed, "--json"])[1])
    assert [one for one in figures(first, told) if one[1] != pytest.approx(one[2], rel=1e-6)] == []
    assert marked(page) == marked(asked(typed)[1])


def held_by(plan, wish):
    """Fields of a plan that the options of `explain` can say: each with another value."""
    layout = dict.fromkeys(("tp", "pp", "dp", "ep", "cp"), 2)
    if isinstance(plan.work, Training):
        more = {
            "trainer": "liger", "method": "qlora", "optimizer": "sgd", "precision": "fp32", "micro_batch": 3,
            "seq_tok": 1000, "recompute": "selective", "flash": False, "chunked_loss": True, "rank": 77,
            "targets": "ffn", "sharding": "zero3", "schedule": "gpipe", "virtual_stages": 2, "accumulate": 9,
            "offload": "optimizer-cpu", "compiled": True, "base": "int8",
        }  # fmt: skip
        return layout | {"sequence_parallel": True}, more
    more = {
        "engine": "vllm 0.10", "weights": "awq4", "kv": "fp8", "context_tok": 4096, "prompt_tok": 777,
        "budget_tok": 1234, "max_seqs": 77, "utilisation": 0.5, "graphs": False,
    }  # fmt: skip
    more |= {"batch": 33} if plan.concurrency is None and wish.rate_per_s is None else {}
    return layout | {"attention_dp": True}, more


@pytest.mark.parametrize("said", [{"users": "16"}, {"rate": "2"}, {"mode": "finetune", "method": "lora"}])
def test_every_choice_that_explain_can_be_told_stands_in_its_flags(said):
    found = plan("qwen3-8b", wish=read_wish({"on": "8x h100", **said}))
    first = found.plans[0]
    layout, work = held_by(first, found.wish)
    silent = []
    for group, others in (("layout", layout), ("work", work)):
        for name, value in others.items():
            base = replace(first, layout=replace(first.layout, tp=4, pp=4, dp=4))
            if name == "base":
                base = replace(base, work=replace(base.work, method="qlora"))
            told = replace(base, **{group: replace(getattr(base, group), **{name: value})})
            if explain_flags(told, wish=found.wish) == explain_flags(base, wish=found.wish):
                silent.append(name)
    assert silent == []


def test_each_pool_of_workers_apart_is_asked_by_itself():
    words = [
        "plan",
        "llama-3.3-70b",
        "--on",
        "8x h100",
        "--concurrency",
        "200",
        "--prompt",
        "8000",
        "--plans",
        "20",
    ]
    data = json.loads(asked([*words, "--json"])[1])
    apart = [one for one in data["plans"] if one["prefill"] is not None]
    found = plan("llama-3.3-70b", wish=read_wish({
        "on": "8x h100", "users": "200", "prompt": "8000", "plans": "20",
    }))  # fmt: skip
    for one in (one for one in found.plans if one.prefill is not None):
        typed = [shlex.split(line) for line in next_commands(found, one)]
        explained = [line for line in typed if line[1] == "explain"]
        assert len(explained) == 2
        assert all(asked([*line[1:], "--json"])[0] in {0, 1} for line in explained)
    assert len(apart) == sum(one.prefill is not None for one in found.plans)


@pytest.mark.parametrize(
    "words",
    [
        ["falcon-mamba-7b", "--mode", "pretrain", "--samples", "20000", "--rent"],
        ["zai-org/GLM-4.5-Air", "--mode", "finetune", "--method", "qlora", "--batch", "96", "--rent"],
        ["gpt-oss-120b", "--mode", "pretrain", "--tokens", "2B", "--batch", "1024", "--buy"],
    ][:: 1 if THOROUGH else 3],
)
def test_a_length_that_decides_and_nobody_said_stays_open_in_what_is_typed_next(words):
    _, page = asked(["plan", *words])
    line = next(line for line in page.splitlines() if "$ rigright explain" in line)
    _, told = asked(shlex.split(line.strip().removeprefix("$ rigright ")))
    assert "depends on --seq" in page
    assert "depends on --seq" in told
    assert page[:1] == told[:1]


@pytest.mark.parametrize(
    "machine",
    [
        "epyc 9654 + 384gb",
        "2x epyc 9354 + 512gb",
        "ryzen 9950x + 96gb",
        "epyc 7443 + 256gb 4ch ddr4-2933",
        "7950x + 64gb ddr5-6000",
    ],
)
def test_a_processor_alone_is_named_as_it_is_read(machine):
    model = ["--for", "qwen3-8b"]
    assert asked(["cost", machine, *model])[0] == 0
    _, page = asked(["compare", machine, "rtx 3090", *model, "--aim", "power", "--concurrency", "1"])
    first = plan("qwen3-8b", wish=read_wish({"on": machine})).result.plans[0]
    again = plan("qwen3-8b", wish=read_wish({"on": explain_flags(first)[1]})).result.plans[0]
    line = next((line for line in page.splitlines() if "$ rigright explain" in line), "$ rigright --version")
    assert asked(shlex.split(line.strip().removeprefix("$ rigright ")))[0] == 0
    assert again.chip == first.chip
    assert again.figures == first.figures
