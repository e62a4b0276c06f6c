"""What `plan` prints to type next gives the plan again: its memory, its speed, its band, its tick."""

from __future__ import annotations

import io
import json
import random
import shlex
from contextlib import redirect_stderr, redirect_stdout

import pytest
from drawn_questions import THOROUGH, seeds

from rigright.faces.cli.main import main

COUNT = 40 if THOROUGH else 5
MODELS = ("qwen3-8b", "llama-3.3-70b", "mixtral-8x7b", "Qwen/Qwen3-30B-A3B", "gpt-oss-20b", "gpt2")
SAMPLES = ("sdxl", "resnet-50", "vit-base", "bge-m3", "flux.1-dev", "sd3.5-large")
DRAFTING = ("deepseek-v3", "zai-org/GLM-4.5-Air")
MACHINES = (
    *("rtx 4090", "2x rtx 4090", "4x l4", "8x l40s", "8x h100", "2x 8x h100", "4x a100 80gb", "8x mi300x"),
    *("dgx spark", "4x b200", None, None),
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


def training(dice):
    """The same of a training."""
    work = dice.choice((["pretrain"], *(["finetune", "--method", one] for one in ("lora", "qlora", "full"))))
    words = [dice.choice(MODELS), "--mode", *work, "--tokens", dice.choice(("1M", "1B"))]
    return words + (["--seq", dice.choice(("1024", "8192"))] if dice.random() < 0.4 else [])


def pictures(dice):
    """The same of whole samples."""
    words = [dice.choice(SAMPLES)]
    words += ["--steps", "20"] if words[0] == "sdxl" and dice.random() < 0.5 else []
    return words + (["--image-size", "512"] if words[0] == "sdxl" and dice.random() < 0.4 else [])


def asked(words):
    """The exit code and what it printed."""
    with redirect_stdout(io.StringIO()) as said, redirect_stderr(io.StringIO()):
        code = main(words)
    return code, said.getvalue()


def figures(plan, told):
    """Pairs that should be alike: of the plan, and of what was typed next."""
    if "ranks" in told:
        rank = max(told["ranks"], key=lambda one: one["least_bytes"])
        most = max(told["ranks"], key=lambda one: one["used_bytes"])
        for end, name in (("value", "used_bytes"), ("low", "used_low_bytes"), ("high", "used_high_bytes")):
            yield f"memory {end}", plan["rank_bytes"][end], most[name]
        yield (
            "least memory",
            plan["least_bytes"]["high"],
            plan["least_bytes"]["value"]
            and (rank["least_bytes"] * plan["least_bytes"]["high"] / plan["least_bytes"]["value"]),
        )
        if told["time"] is not None:
            each, chips = told["time"]["tok_per_s_per_chip"], plan["n_chips"]
            for end in ("value", "low", "high"):
                yield f"tok/s {end}", plan["figures"]["train_tok_per_s"][end], each[end] * chips
            yield "MFU", plan["figures"]["mfu"]["value"], told["time"]["mfu"]
        return
    if told["samples"] is not None:
        name = f"{told['samples']['unit']}_per_s"
        for end in ("value", "low", "high"):
            yield f"{name} {end}", plan["figures"][name][end], told["samples"][name][end]
            yield f"batch {end}", plan["figures"]["latency_s"][end], told["samples"]["batch_s"][end]
    parts, own = min(told["cards"], key=lambda one: one["spare_bytes"])["parts_bytes"], plan["memory"][0]
    yield from ((name, round(size), round(parts.get(name, 0.0))) for name, size in own.items())  # bytes
    for name in SERVED if told["samples"] is None else ():
        for end in ("value", "low", "high"):
            yield f"{name} {end}", plan["figures"][name][end], told["speed"][name][end]


@pytest.mark.parametrize("seed", seeds(8, quick=1))
@pytest.mark.parametrize("kind", [serving, training, pictures])
def test_explain_as_plan_types_it_is_the_plan(kind, seed):
    dice = random.Random(seed)  # noqa: S311 - a draw of questions
    different, compared = [], 0
    for _ in range(COUNT):
        words = ["plan", *kind(dice)]
        machine = dice.choice(MACHINES)
        words += [] if machine is None else ["--on", machine]
        code, said = asked([*words, "--json"])
        plans = json.loads(said)["plans"] if not code else []
        if not plans or plans[0]["prefill"] is not None:  # pools of workers are asked each by itself
            continue
        _, page = asked(words)
        line = next(line for line in page.splitlines() if "$ rigright explain" in line)
        typed = shlex.split(line.strip().removeprefix("$ rigright "))
        code, said = asked([*typed, "--json"])
        told = json.loads(said)
        unlike = [one for one in figures(plans[0], told) if one[1] != pytest.approx(one[2], rel=1e-6)]
        if page[:1] != asked(typed)[1][:1]:
            unlike.append(("tick", page[:80], asked(typed)[1][:80]))
        if code or unlike:
            different.append((shlex.join(words), shlex.join(typed), unlike))
        compared += 1
    assert different == []
    assert compared >= COUNT / 3
