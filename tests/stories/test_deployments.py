"""Deployments that people know: what they report of them, held against what is told here.

Each range is what is commonly reported for such a machine, wide enough for versions and settings. A figure
need not lie inside; its band must meet the range, and it may not be off by more than half as much again.
"""

from __future__ import annotations

import pytest

SLACK = 1.5

ALONE = {  # one user: tokens a second
    "explain llama-3.1-8b --on 4090 --engine llama.cpp --weights Q4_K_M --context 2048": (115, 150),
    "explain llama-3.1-8b --on 4090 --engine llama.cpp --weights Q8_0 --context 2048": (78, 98),
    "explain llama-3.1-8b --on 3090 --engine llama.cpp --weights Q4_K_M --context 2048": (95, 135),
    "explain llama-3.1-8b --on 5090 --engine llama.cpp --weights Q4_K_M --context 2048": (150, 240),
    "explain llama-3.1-8b --on 'rtx 4060' --engine llama.cpp --weights Q4_K_M --context 2048": (36, 55),
    "explain llama-3.1-8b --on '7900 xtx' --engine llama.cpp --weights Q4_K_M --context 2048": (75, 125),
    "explain llama-3.1-70b --on '2x 3090' --engine llama.cpp --weights Q4_K_M --context 2048": (14, 20),
    "explain llama-3.1-70b --on '2x 4090' --engine llama.cpp --weights Q4_K_M --context 2048": (16, 21),
    "explain llama-3.1-8b --on 'm2 ultra' --engine llama.cpp --weights Q4_K_M --context 2048": (65, 95),
    "explain llama-3.1-70b --on 'm2 ultra' --engine llama.cpp --weights Q4_K_M --context 2048": (9, 15),
    "explain llama-3.1-8b --on 'm1' --engine llama.cpp --weights Q4_K_M --context 2048": (8, 14),
    "explain qwen3-30b-a3b --on 4090 --engine llama.cpp --weights Q4_K_M --context 2048": (120, 230),
    "explain llama-3.1-8b --on h100 --engine vllm --context 2048 --concurrency 1": (105, 165),
    "explain llama-3.1-8b --on 'a100 80gb' --engine vllm --context 2048 --concurrency 1": (70, 105),
}

TRAINED = {  # tokens a second of all cards, and the share of the peak that engineers reach
    "plan llama-2-7b --mode pretrain --on '64x h100' --tokens 1T --seq 4096": (
        (540_000, 850_000),
        (0.38, 0.58),
    ),
    "plan llama-2-7b --mode pretrain --on '8x a100 80gb' --tokens 1T --seq 4096": (
        (24_000, 33_000),
        (0.42, 0.66),
    ),
    "plan llama-2-7b --mode finetune --method lora --on 4090 --samples 50k --seq 1024": (
        (1_800, 4_200),
        (0.25, 0.6),
    ),
}

SERVED = {  # all users together: output tokens a second; seconds a token
    "plan llama-3.1-8b --on h100 --users 64 --prompt 512 --output 512 --weights bf16 --engine vllm": (
        3_000,
        7_000,
    ),
    "plan llama-3.1-70b --on '8x h100' --users 64 --prompt 1024 --output 1024 --weights fp8 --engine vllm": (
        1_500,
        4_000,
    ),
    "plan llama-3.1-8b --on 4090 --users 32 --prompt 512 --output 256 --weights bf16 --engine vllm": (
        500,
        1_700,
    ),
    "plan gpt-oss-120b --on h100 --users 64 --prompt 1024 --output 1024 --engine vllm": (1_800, 6_500),
}

SEEN = {  # images a second
    "plan resnet-50 --mode image --on 4090": (2_500, 7_000),
    "plan vit-base-patch16-224 --mode image --on 4090": (900, 3_500),
}


def meets(found, low, high):
    """Whether a band meets what is reported, and the figure is not far from it."""
    return found["low"] <= high and found["high"] >= low and low / SLACK <= found["value"] <= high * SLACK


@pytest.mark.parametrize("line", ALONE)
def test_one_user_reads_as_fast_as_people_report(ask, line):
    speed = ask(f"{line} --json").data["speed"]
    assert meets(speed["user_tok_per_s"], *ALONE[line]), speed["user_tok_per_s"]


@pytest.mark.parametrize("line", TRAINED)
def test_training_takes_as_long_as_it_does(ask, line):
    figures = ask(f"{line} --json").data["plans"][0]["figures"]
    pace, share = TRAINED[line]
    assert meets(figures["train_tok_per_s"], *pace), figures["train_tok_per_s"]
    assert share[0] <= figures["mfu"]["value"] <= share[1]


@pytest.mark.parametrize("line", SERVED)
def test_many_users_are_written_as_much_as_people_report(ask, line):
    data = ask(f"{line} --json").data
    assert meets(data["plans"][0]["figures"]["output_tok_per_s"], *SERVED[line])


@pytest.mark.parametrize("line", SEEN)
def test_pictures_are_looked_at_as_fast_as_people_report(ask, line):
    data = ask(f"{line} --json").data
    assert meets(data["plans"][0]["figures"]["images_per_s"], *SEEN[line])


def speed_of(ask, line):
    return ask(f"{line} --json").data["speed"]["user_tok_per_s"]["value"]


def test_cards_stand_in_the_order_that_everybody_knows(ask):
    """One model, one engine, one user: what has more bandwidth writes faster."""
    order = ("rtx 4060", "rtx 3060 12gb", "rtx 3090", "rtx 4090", "rtx 5090")
    speeds = [
        speed_of(ask, f"explain llama-3.1-8b --on '{chip}' --engine llama.cpp --weights Q4_K_M")
        for chip in order
    ]
    assert speeds == sorted(speeds)
    assert speeds[-1] > 2.5 * speeds[0]


def test_fewer_bits_write_faster_and_larger_models_slower(ask):
    bits = [
        speed_of(ask, f"explain llama-3.1-8b --on 3090 --engine llama.cpp --weights {name}")
        for name in ("F16", "Q8_0", "Q6_K", "Q4_K_M")
    ]
    assert bits == sorted(bits)
    sizes = [
        speed_of(ask, f"explain {name} --on 'a100 80gb' --engine vllm --concurrency 1")
        for name in ("qwen2.5-32b", "qwen2.5-14b", "qwen2.5-7b", "qwen2.5-1.5b")
    ]
    assert sizes == sorted(sizes)


def test_a_model_of_experts_writes_faster_than_a_dense_one_of_its_size(ask):
    sparse, dense = (
        speed_of(ask, f"explain {name} --on 4090 --engine llama.cpp --weights Q4_K_M --context 2048")
        for name in ("qwen3-30b-a3b", "qwen3-32b")
    )
    assert sparse > 2 * dense


def test_bands_are_neither_a_point_nor_a_shrug(ask):
    """The band of a chip with runs is narrower than that of one without, and both are honest."""
    widths = {}
    for chip in ("4090", "mtt s4000"):
        found = ask(
            f"explain llama-3.1-8b --on '{chip}' --engine llama.cpp --weights Q4_K_M --context 2048 --json"
        )
        told = found.data["speed"]["user_tok_per_s"]
        widths[chip] = told["high"] / told["low"]
    assert 1.05 < widths["4090"] < 2
    assert widths["4090"] < widths["mtt s4000"] < 8, "nothing of its kin was measured: wide, and still a band"
