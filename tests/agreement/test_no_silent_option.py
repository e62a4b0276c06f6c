"""No option is taken without a word: it changes the answer to some question, and elsewhere it is refused."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from functools import cache

import pytest
from drawn_questions import THOROUGH

from rigright.faces.cli.main import main
from rigright.options.rows import options_of

EVERY = 31  # of the options one is tried in a quick run
ECHOED = frozenset({"asked", "next", "wish"})  # parts of an answer that repeat the question
TYPED = frozenset({"serve", "buy", "flash", "no-attention-dp"})  # what holds unless something else is typed
QUESTION = {  # what every question of a verb says already
    *(
        ("explain", "on"),
        ("simulate", "on"),
        ("simulate", "rate"),
        ("simulate", "concurrency"),
        ("fit", "on"),
    ),
    ("explain", "sequence-parallel"),  # every trainer that cuts tensors does so
}
VALUES = {
    "images": "3x640x480", "turns": "4", "shared": "300", "offload-kv": "ram 300gb",
    "on": "4x l40s", "own": "2x rtx 3090", "chips": "l40s", "vendor": "amd", "cloud": "gcp", "max-chips": "1",
    "mode": "rag", "prompt": "333", "output": "77", "context": "3000", "concurrency": "7", "rate": "0.37",
    "cached": "37%", "draft": "70%", "draft-tokens": "3", "image-size": "320", "frames": "25",
    "steps": "13", "batch": "12",
    "engine": "sglang", "weights": "fp8", "kv": "fp8", "quality": "bf16", "step-tokens": "768",
    "max-seqs": "11", "util": "0.7", "gpu-layers": "5", "cpu-moe": "3", "tp": "2", "pp": "2", "dp": "2",
    "ep": "2", "cp": "2", "train": "lora", "tokens": "123M", "samples": "7777", "epochs": "3", "seq": "777",
    "method": "qlora", "trainer": "deepspeed", "days": "0.001", "optimizer": "lion", "precision": "fp32",
    "micro-batch": "3", "accumulate": "5", "recompute": "full", "rank": "55", "targets": "ffn",
    "base": "int8",
    "objective": "kto", "group": "4", "prompts": "24", "completion": "600", "rollout": "colocate",
    "rollout-gpus": "3", "rollout-tp": "2", "waves": "7",
    "references": "2", "sharding": "zero2", "offload": "optimizer-cpu", "schedule": "gpipe",
    "virtual-stages": "4", "requests": "77", "arrivals": "gamma", "burst": "4", "burstiness": "3",
    "period": "1h", "think": "3s", "prompt-spread": "0.7", "output-spread": "0.7", "seed": "5",
    "policy": "static", "chunks": "off", "replicas": "2", "prefill-workers": "1", "router": "round-robin",
    "ttft": "1ms", "tpot": "1ms", "latency": "1ms", "percentile": "p99", "tok-per-s": "10M",
    "budget": "500usd", "per-hour": "0.01usd", "per-mtok": "0.0001usd", "watts": "30", "licence": "mit",
    "growth": "30x", "grows-to": "405B", "tariff": "0.55usd", "place": "DE", "customer": "company",
    "have": "b650, 64gb, 850w", "room": "rack 2U",
    "pue": "1.9", "years": "7", "duty": "20%", "cooling": "45%", "space": "500usd",
    "upkeep": "7%", "people": "900usd", "api": "0.15/0.6", "mtok": "50", "hours": "200", "after": "2",
    "then": "1x rtx 5090", "task": "embed", "family": "qwen3", "min-params": "7B", "max-params": "3B",
    "aim": "power", "plans": "1", "limit": "2",
}  # fmt: skip
BESIDE = {  # what an option says something beside
    "offload-kv": ["--mode", "agent", "--concurrency", "90"], "turns": ["--concurrency", "90"],
    "draft-tokens": ["--draft", "70%"], "rank": [], "customer": ["--place", "DE"],
    "epochs": ["--samples", "1M"],
    "days": ["--samples", "1M"], "burst": ["--arrivals", "burst"], "burstiness": ["--arrivals", "gamma"],
    "period": ["--arrivals", "diurnal"], "router": ["--replicas", "3"], "then": ["--after", "2"],
    "group": ["--objective", "grpo"], "prompts": ["--objective", "grpo"],
    "completion": ["--objective", "grpo"], "rollout": ["--objective", "grpo"],
    "rollout-gpus": ["--objective", "grpo", "--rollout", "apart"], "waves": ["--objective", "grpo"],
    "rollout-tp": ["--objective", "grpo"],
    "api": ["--mtok", "900"], "base": ["--train", "qlora"],
}  # fmt: skip
SERVED, MIXED, DRAFTS = "qwen3-8b", "mixtral-8x7b", "zai-org/GLM-4.5-Air"
ASKED = {  # questions of each verb, the plainest first
    "plan": (
        [SERVED], [SERVED, "--on", "4x l40s"], [SERVED, "--on", "2x rtx 3090", "--concurrency", "90"],
        [SERVED, "--mode", "finetune", "--on", "8x h100"], [SERVED, "--mode", "pretrain", "--tokens", "1B"],
        ["bge-m3", "--on", "2x l4"], ["sdxl"], [DRAFTS, "--on", "8x h200"], ["llama-3.1-8b"],
    ),
    "explain": (
        [SERVED, "--on", "4x h100"], [MIXED, "--on", "4x h100", "--concurrency", "40"],
        [SERVED, "--on", "4x h100", "--train"], [SERVED, "--on", "8x h100", "--train", "lora"],
        [SERVED, "--on", "8x h100", "--train", "--pp", "2", "--schedule", "interleaved"],
        [SERVED, "--on", "8x h100", "--train", "--tp", "2", "--trainer", "megatron"],
        ["bge-m3", "--on", "l4"], ["sdxl", "--on", "2x l4"], ["resnet-50", "--on", "2x l4", "--train"],
        [SERVED, "--on", "rtx 4060 + 64gb"], ["qwen3-30b-a3b", "--on", "rtx 4090 + 128gb"],
        [DRAFTS, "--on", "8x h200"],
    ),
    "simulate": (
        [SERVED, "--on", "2x h100", "--rate", "3", "--requests", "60"],
        [MIXED, "--on", "4x h100", "--concurrency", "20", "--requests", "60", "--prompt", "5000"],
        [SERVED, "--on", "h100", "--rate", "9", "--requests", "90", "--prompt", "9000"],
        [SERVED, "--on", "rtx 4060 + 64gb"], ["qwen3-30b-a3b", "--on", "rtx 4090 + 128gb"],
        [SERVED, "--on", "2x h100", "--rate", "3"],
    ),
    "compare": (
        ["2x rtx 4090", "h100", "--for", SERVED], ["2x l40s", "4x l40s", "--for", SERVED, "--rate", "1"],
        ["8x l40s", "h100", "--for", SERVED, "--mode", "finetune"], ["2x l4", "h100", "--for", "bge-m3"],
        ["l4", "h100", "--for", "sdxl"], ["8x h200", "8x mi300x", "--for", DRAFTS],
        ["aws", "gcp", "--for", SERVED],
        ["rtx 5090", "2x rtx 4090", "--for", "llama-3.1-8b"],
    ),
    "cost": (
        ["2x rtx 4090"], [SERVED], ["2x rtx 4090", "--for", SERVED],
        ["4x l40s", "--for", SERVED, "--rate", "1"], [SERVED, "--mode", "finetune"],
        [SERVED, "--mode", "pretrain", "--tokens", "1B"], ["bge-m3"], ["sdxl"],
        ["8x h200", "--for", DRAFTS], ["rtx 3090"], ["llama-3.1-8b"],
    ),
    "fit": (["2x rtx 4090"], []),
}  # fmt: skip
NAMES = [
    (verb, option)
    for verb in ASKED
    for option in options_of(verb)
    if option.name in VALUES or (option.is_flag and option.name not in TYPED)
    if (verb, option.name) not in QUESTION
]
TRIED = NAMES if THOROUGH else NAMES[::EVERY]


@cache
def answered(words):
    """The exit code and the answer, without what repeats the question."""
    with redirect_stdout(io.StringIO()) as said, redirect_stderr(io.StringIO()):
        code = main([*words, "--json"])
    return code, told(json.loads(said.getvalue()))


def told(answer):
    if isinstance(answer, dict):
        return {name: told(part) for name, part in answer.items() if name not in ECHOED}
    return [told(part) for part in answer] if isinstance(answer, list) else answer


def outcomes(verb, option):
    """Of each question: None where the option is refused, else whether it changes the answer."""
    for question in ASKED[verb]:
        if option.flag in question or any(f"--{alias}" in question for alias in option.aliases):
            continue
        plain = (verb, *question, *BESIDE.get(option.name, []))
        first = answered(plain)
        said = answered((*plain, option.flag, *([] if option.is_flag else [VALUES[option.name]])))
        if first[0] != 2:
            yield None if said[0] == 2 else said != first


def test_every_option_has_a_value_to_try():
    left = {
        option.name
        for verb in ASKED
        for option in options_of(verb)
        if not option.is_flag and option.name not in VALUES
    }
    assert left == {"prices", "trace", "setup", "out", "currency"}, "files, and what JSON is without"


@pytest.mark.parametrize(("verb", "option"), TRIED, ids=lambda one: getattr(one, "name", one))
def test_an_option_changes_some_answer(verb, option):
    assert any(outcomes(verb, option))
