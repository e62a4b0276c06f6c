"""Strangers at both doors: engines, models and machines that no other draw has, most columns left open.

And one case is predicted to the bit as among many others, whatever the others are.
"""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from drawn_questions import THOROUGH, arch_of, differing, node_of, seeds

from rigright.base.errors import RigError
from rigright.base.record import replace
from rigright.choice.case import Case
from rigright.demand import ServingWish
from rigright.predict.cases import predict
from rigright.predict.ranks import worst
from rigright.predict.speed import speed, traffic_of
from rigright.search.single import single
from rigright.verbs.explain import explain_case

COUNT = 80 if THOROUGH else 12
MODELS = (
    *("Qwen/Qwen2.5-14B-Instruct", "google/gemma-2-9b", "mistralai/Mistral-Small-24B-Instruct-2501"),
    *("meta-llama/Llama-3.2-3B", "deepseek-ai/DeepSeek-R1", "Qwen/Qwen3-Coder-30B-A3B-Instruct"),
    *("mistralai/Mixtral-8x7B-Instruct-v0.1", "openai/gpt-oss-20b", "CohereForAI/c4ai-command-r-v01"),
)
MACHINES = ("l40", "2x a40", "4x a10", "2x rtx 5090", "4x h200", "8x mi325x", "2x rtx 6000 ada", "gh200")
ENGINES = ("lmdeploy", "exllama", "transformers", "deepspeed-mii", "sglang 0.4.6", "vllm 0.9", "ik_llama.cpp")
HOSTED = (
    *("rtx 4060 + 64gb ddr5-5600 2ch", "2x l4 + 128gb ddr4-3200 8ch", "2x rtx 3090 + 128gb ddr5-6000 2ch"),
    *("rtx 4090 + rtx 3090", "rtx 3060 12gb + rtx 4090"),
)
FIGURES = {
    "ttft_ms": ("ttft_s", 1e3),
    "tpot_ms": ("tpot_s", 1e3),
    "output_tok_s_total": ("output_tok_per_s", 1),
}
SEEN = ("ttft_s", "tpot_s", "user_tok_per_s", "output_tok_per_s")


def said(dice: random.Random) -> ServingWish:
    """A load, and little else."""
    load = {"users": float(dice.choice((1, 1, 3, 17, 90, 400)))}
    if dice.random() < 0.25:
        load = {"rate_per_s": dice.choice((0.3, 3.0))}
    return ServingWish(
        prompt_tok=dice.choice((333, 1500, 6000)), output_tok=dice.choice((2, 77, 900)),
        engine=dice.choice(ENGINES) if dice.random() < 0.5 else None, **load,
    )  # fmt: skip


def case_of(model: str, machine: str, *, wish: ServingWish) -> Case | None:
    """The case; None where such numbers do not run there."""
    try:
        return single(arch_of(model), node_of(machine), wish=wish).case
    except RigError:
        return None


@pytest.mark.parametrize("seed", seeds(8, quick=1))
def test_a_row_that_says_little_is_answered_as_the_question(seed, tmp_path):
    dice = random.Random(seed + 1000)  # noqa: S311 - a draw of questions
    rows, expected = [], []
    for _ in range(COUNT):
        model, machine, wish = dice.choice(MODELS), dice.choice(MACHINES), said(dice)
        case = case_of(model, machine, wish=wish)
        if case is None or case.serving.offload is not None:
            continue
        told = explain_case(case, machine=machine).speed
        if told is None:
            continue
        row = {
            "arch": model, "chip": re.sub(r"^\d+x ", "", machine), "n_chips": len(node_of(machine).cards),
            "mode": "serve", "prompt_tok": wish.prompt_tok, "output_tok": wish.output_tok,
            "load": wish.users or "", "rate_per_s": wish.rate_per_s or "", "engine": wish.engine or "",
        }  # fmt: skip
        engine, _, version = (wish.engine or "").partition(" ")
        row |= {"engine": engine, "engine_version": version}
        for metric, (name, scale) in FIGURES.items():
            rows.append({"id": len(rows), "metric": metric, **row})
            figure = getattr(told, name)
            expected.append([getattr(figure, end) * scale for end in ("value", "low", "high")])
    assert len(rows) > COUNT
    assert differing(rows, expected, tmp_path) == []


@pytest.mark.parametrize("seed", seeds(8, quick=1))
def test_a_case_is_predicted_among_others_as_alone_and_as_it_is_explained(seed):
    dice = random.Random(seed + 2000)  # noqa: S311 - a draw of questions
    drawn = (
        case_of(dice.choice(MODELS), dice.choice((*MACHINES, *HOSTED)), wish=said(dice)) for _ in range(COUNT)
    )
    cases = [replace(case, traffic=traffic_of(case)) for case in drawn if case is not None]
    assert len(cases) > COUNT // 2
    dice.shuffle(cases)
    together = predict(cases)
    for place, case in enumerate(cases):
        alone = predict([case])
        assert all(np.array_equal(alone[name], together[name][[place]], equal_nan=True) for name in alone), (
            case.arch.name
        )
        if worst(case).fits:
            told = speed(case)
            for name in SEEN:
                assert together[name][place] == pytest.approx(getattr(told, name).value, rel=1e-12), name
