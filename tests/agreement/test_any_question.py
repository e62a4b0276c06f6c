"""Whatever is asked of `plan` is answered or refused by name, on its page as in its JSON."""

from __future__ import annotations

import io
import json
import random
import shlex
from contextlib import redirect_stderr, redirect_stdout

import pytest
from drawn_questions import THOROUGH, seeds

from rigright.faces.cli.main import main
from rigright.options.rows import METHODS
from rigright.verbs.plan import plan

COUNT = 60 if THOROUGH else 3
BUG = 70
MODELS = (
    "qwen3-0.6b", "mistral-nemo", "gemma-2-9b", "phi-3-mini", "llama-3.3-70b", "llama-3.1-405b", "kimi-k2",
    "qwen3-coder-30b", "falcon-40b", "jamba-1.5-mini", "mamba-2.8b", "qwen2.5-vl-7b", "deepseek-v2-lite",
)  # fmt: skip
MACHINES = (
    "rtx 4090", "2x rtx 5090", "4x a6000", "8x l40s", "mi300x", "8x mi250x", "m4 pro 48gb", "2x dgx spark",
    "rtx 4090 + 96gb", "t4", "4x v100 16gb", "gb200 nvl72", "2 nodes of 8x h200", "8x gaudi 3",
)  # fmt: skip


def serving(dice):
    """A load, of which some are too much for any such machine, and limits."""
    words = dice.choice((["--rate", "20"], ["--rate", "90/min"], ["--users", "300"], []))
    words = [*words, *dice.choice((["--ttft", "1s"], ["--tpot", "30ms"], ["--per-hour", "5"], []))]
    return [*words, *dice.choice((["--mode", "batch"], ["--mode", "rag"], ["--growth", "+50%"], []))]


def training(dice):
    """A training by each method."""
    words = ["--mode", "finetune", "--method", dice.choice(METHODS), "--tokens", "20M"]
    return [*words, *dice.choice((["--aim", "quality"], ["--seq", "16k"], ["--days", "2"], []))]


def asked(words):
    """The exit code and what it printed."""
    with redirect_stdout(io.StringIO()) as said, redirect_stderr(io.StringIO()) as refused:
        code = main(words)
    return code, said.getvalue() or refused.getvalue()


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("kind", [serving, training])
def test_a_question_is_answered_or_refused_on_its_page_as_in_its_json(kind, seed):
    dice = random.Random(f"{kind.__name__} {seed}")  # noqa: S311 - a draw of questions
    failed, answered = [], 0
    for _ in range(COUNT):
        words = ["plan", dice.choice(MODELS), *kind(dice), "--on", dice.choice(MACHINES)]
        (code, told), (page_code, page) = asked([*words, "--json"]), asked(words)
        if BUG in {code, page_code} or code != page_code:
            failed.append((shlex.join(words), code, page_code, page[-200:]))
        answered += told.startswith("{") and "error" not in json.loads(told)
    assert failed == []
    assert answered > COUNT / 3


@pytest.mark.parametrize("method", METHODS)
def test_every_method_that_can_be_typed_is_planned(method):
    words = ["plan", "qwen3-0.6b", "--mode", "finetune", "--method", method, "--tokens", "20M"]
    code, told = asked([*words, "--on", "rtx 4090", "--json"])
    assert code == 0
    assert {one["work"]["method"] for one in json.loads(told)["plans"]} == {method}


LIMITS = ({"rate": "20"}, {"tpot": "5ms"}, {"ttft": "100ms"}, {"rate": "1.5", "per-hour": "1"}, {})


@pytest.mark.parametrize("words", LIMITS if THOROUGH else LIMITS[:2])
def test_what_would_make_it_fit_serves_the_load_and_keeps_every_limit(words):
    from rigright.options.read import read_wish

    found = plan("llama-3.3-70b", wish=read_wish({"on": "rtx 4090", **words}))
    assert found.first is None
    assert found.steps or words
    for step in found.steps:
        for name in ("ttft_s", "tpot_s", "usd_per_h"):
            bound = getattr(found.wish, name)
            assert bound is None or step.plan.figures[name].value <= bound, (step.label, name)
        assert "ttft_s" in step.plan.figures, step.label


APART = (  # two things that cannot both be; each word is named in the refusal
    ("plan qwen3-8b --on 'rtx 4090' --vendor amd", "--on", "--vendor"),
    ("plan qwen3-8b --on 'rtx 4090' --chips h100", "--on", "--chips"),
    ("plan qwen3-8b --rent --used", "--used", "--rent"),
    ("plan qwen3-8b --spot --used", "--used", "--spot"),
    ("plan qwen3-8b --weights fp8 --quality bf16", "fp8", "--quality bf16"),
    ("plan qwen3-8b --weights q4_k_m --quality fp8", "q4_k_m", "--quality fp8"),
    ("plan gte-large --image-size 256 --on 'rtx 4090'", "--image-size", "gte-large"),
    ("explain gte-large --image-size 256 --on 'rtx 4090'", "--image-size", "gte-large"),
    ("explain qwen3-8b --on '8x h100' --ep 4", "Qwen3-8B", "--ep"),
    ("explain qwen3-8b --on '8x h100' --attention-dp", "Qwen3-8B", "--attention-dp"),
    ("explain gpt-oss-20b --on '2x h100' --engine llama.cpp --attention-dp", "llama.cpp", "--attention-dp"),
    ("explain kimi-k2 --on '8x h200' --tp 8 --ep 6", "--tp 8", "--ep 6"),
    ("explain qwen3-8b --on '8x h100' --ep 4 --train", "ep 4", "0 experts"),
    ("plan qwen3-8b --on '2x rtx 3090' --cloud aws", "--on '2x rtx 3090'", "--cloud aws"),
    ("explain qwen3-8b --on h100 --gpu-layers 9 --engine vllm", "--gpu-layers", "--engine vllm"),
    ("explain gpt-oss-20b --on l4 --cpu-moe 9 --engine sglang", "--cpu-moe", "--engine sglang"),
    ("plan qwen3-8b --mode finetune --method qlora --trainer torchtitan", "torchtitan", "qlora"),
    ("explain qwen3-8b --train --trainer unsloth --tp 2 --on '2x h100'", "--trainer unsloth", "--tp 2"),
    ("explain qwen3-8b --train --trainer liger --pp 4 --on '8x h100'", "--trainer liger", "--pp 4"),
    ("explain qwen3-8b --train dora --trainer titan --on '2x h100'", "torchtitan", "dora"),
    ("build qwen3-8b --mode finetune --method lora --trainer megatron-deepspeed", "Megatron-Deep", "lora"),
)


@pytest.mark.parametrize(("typed", "one", "other"), APART)
def test_what_cannot_both_be_is_refused_by_both_names(typed, one, other):
    code, told = asked(shlex.split(typed))
    assert code == 2, told
    assert one in told
    assert other in told


@pytest.mark.parametrize("words", ["--weights fp8 --quality fp8", "--weights q4 --quality q4_k_m"])
def test_a_format_as_good_as_was_allowed_is_taken(words):
    code, told = asked(["plan", "qwen3-8b", "--on", "rtx 4090", *words.split()])
    assert code == 0, told
