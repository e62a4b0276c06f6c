"""A case asked of `explain`, and told as a row of a table of runs to `validate`: one figure, one band."""

from __future__ import annotations

import random
import re

import pytest
from drawn_questions import (
    DESK,
    HUGE,
    LARGE,
    MIDDLE,
    RACK,
    SMALL,
    THOROUGH,
    arch_of,
    differing,
    judged_rows,
    node_of,
    seeds,
)

from rigright.base.errors import RigError
from rigright.choice.case import Case
from rigright.demand import ServingWish
from rigright.facts.engines import find_engine
from rigright.report.pages import explain as pages
from rigright.search.single import single
from rigright.verbs.explain import explain_case
from rigright.verbs.serving.explained import Explained

COUNT = 100 if THOROUGH else 35
SERVED = {
    "ttft_ms": ("ttft_s", 1e3),
    "tpot_ms": ("tpot_s", 1e3),
    "output_tok_s_total": ("output_tok_per_s", 1),
    "requests_s_total": ("output_tok_per_s", None),
}
# of one user, without a server around the engine
STREAMED = {"decode_tok_s_per_user": ("user_tok_per_s", 1), "prefill_tok_s": ("prefill_tok_per_s", 1)}
PLACES = ((SMALL, DESK), (SMALL, RACK), (MIDDLE, DESK), (MIDDLE, RACK), (LARGE, RACK), (HUGE, RACK[-14:]))
CUTS = (
    {"tp": 2},
    {"tp": 4, "ep": 4},
    {"tp": 8, "ep": 8, "attention_dp": True},
    {"pp": 2},
    {"tp": 2, "dp": 2},
)
ENGINES = ("vllm", "sglang", "tensorrt-llm", "llama.cpp", "ollama", "vllm 0.12", "sglang 0.5.2")
OPEN = {  # what a question may leave to us, in the words of both doors
    "engine": ("engine", "engine_version", "backend"),
    "weights": ("weights",),
    "kv": ("kv",),
    "context_tok": ("context_tok",),
    "tp": ("tp", "pp", "ep", "attention_dp"),
    "attention_dp": ("attention_dp",),
}
SETTINGS = {  # of an engine -> the column of a table, what is drawn
    "max_seqs": ("max_num_seqs", (4, 32, 512)),
    "budget_tok": ("max_num_batched_tokens", (1024, 4096, 16384)),
    "utilisation": ("gpu_memory_utilization", (0.8, 0.95)),
}


def drawn(dice):
    """A model, a machine, and what was said of serving it."""
    models, machines = dice.choice(PLACES)
    said = {"users": dice.choice((1, 1, 2, 8, 32, 100, 300, 700))}
    if dice.random() < 0.2:
        said = {"rate_per_s": dice.choice((0.1, 0.5, 2.0, 8.0))}
    said["requests"] = dice.choice((None, None, 40, 400, 5000))
    if dice.random() < 0.7:
        said |= {"prompt_tok": dice.choice((100, 1024, 3500)), "output_tok": dice.choice((1, 128, 500))}
    if dice.random() < 0.3:
        said["context_tok"] = dice.choice((4096, 16384, 32768))
    if dice.random() < 0.3:
        said["engine"] = dice.choice(ENGINES)
    if dice.random() < 0.2:
        said["weights"] = dice.choice(("fp8", "bf16", "q4", "int8", "awq"))
    if dice.random() < 0.15:
        said["kv"] = dice.choice(("fp8", "q8_0"))
    if machines is not DESK and dice.random() < 0.3:
        said |= dice.choice(CUTS)
    for name, (_, values) in SETTINGS.items():
        if dice.random() < 0.1:
            said[name] = dice.choice(values)
    return dice.choice(models), dice.choice(machines), ServingWish(**said)


def row_of(
    answer: Explained, wish: ServingWish, *, model: str, machine: str, mode: str, left: tuple[str, ...]
) -> dict[str, object]:
    """What `explain --json` says of a case, in a row of a table of runs: its keys are the columns.

    What nobody asked for may be left out of the row, too.
    """
    told = pages.plain(answer, "en")
    speed, layout = told["speed"], told["layout"]
    found = {
        **{name: told[name] for name in ("engine_version", "weights", "kv", "context_tok")},
        **{name: layout[name] for name in ("tp", "pp", "ep", "attention_dp")},
        **{name: speed[name] for name in ("prompt_tok", "output_tok")},
        "engine": find_engine(told["engine"]).id, "arch": model, "backend": answer.backend,
        "chip": re.sub(r"^\d+x (8x )?|^2x8 ", "", machine), "n_chips": len(told["cards"]), "mode": mode,
        "requests": wish.requests,
        **({"load": speed["concurrency"]} if wish.rate_per_s is None else {"rate_per_s": wish.rate_per_s}),
    }  # fmt: skip
    for name, (column, _) in SETTINGS.items():
        found[column] = getattr(wish, name)
    for name in left:
        found |= dict.fromkeys(OPEN[name], "")
    return {name: "" if value is None else value for name, value in found.items()}


def left_open(dice: random.Random, wish: ServingWish) -> tuple[str, ...]:
    """Some of what a wish does not say; a layout only where none of it is said."""
    said = {name for name in OPEN if getattr(wish, name)}
    if wish.tp or wish.pp or wish.dp or wish.ep:
        said |= {"tp", "attention_dp"}
    return tuple(name for name in OPEN if name not in said and dice.random() < 0.25)


def is_plain(case: Case, machine: str) -> bool:
    """Whether a row can say it: cards alike that hold all of the model."""
    return " + " not in machine and case.serving.offload is None and case.layout.cp == 1


@pytest.mark.parametrize("seed", seeds(8, quick=1))
def test_a_row_of_runs_is_predicted_as_the_question_is_answered(seed, tmp_path):
    dice = random.Random(seed)  # noqa: S311 - a draw of questions
    rows, expected = [], []
    for _ in range(COUNT):
        model, machine, wish = drawn(dice)
        try:
            case = single(arch_of(model), node_of(machine), wish=wish).case
        except RigError:  # an engine or a format that does not run there
            continue
        answer = explain_case(case, machine=machine)
        told = answer.speed
        if told is None or not is_plain(case, machine):
            continue
        modes = {"serve": SERVED, **({"single": STREAMED} if wish.users == 1 else {})}
        left = left_open(dice, wish)
        for mode, figures in modes.items():
            row = row_of(answer, wish, model=model, machine=machine, mode=mode, left=left)
            for metric, (name, scale) in figures.items():
                figure, times = getattr(told, name), scale or 1 / told.output_tok
                rows.append({"id": len(rows), "metric": metric, **row})
                expected.append([getattr(figure, end) * times for end in ("value", "low", "high")])
    assert len(rows) > COUNT
    assert differing(rows, expected, tmp_path) == []


IN_RAM = (  # models, cards, and machines around them, as a table writes them
    (
        *("qwen3-30b-a3b", "llama-3.1-8b", "llama-3.3-70b", "gpt-oss-20b", "gpt-oss-120b", "mixtral-8x7b"),
        *("zai-org/GLM-4.5-Air", "qwen3-235b-a22b"),
    ),
    (
        *("", "rtx 4060", "rtx 4090", "rtx a6000"),
        *("2x l4", "4x l4", "2x rtx 3090", "4x rtx 4060", "rtx 4090 + rtx 3090"),
    ),
    (
        ("AMD Ryzen 9 7950X", "DDR5", 2, 6000),
        ("Intel Core i9-13900K", "DDR5", 2, 5600),
        ("AMD EPYC 9354", "DDR5", 12, 4800),
        ("AMD Ryzen 7 5800X", "DDR4", 2, 3200),
    ),
)
KEPT = ({}, {}, {"cpu_moe": 8}, {"gpu_layers": 12}, {"gpu_layers": 20, "cpu_moe": 30}, {"budget_tok": 4096})
READ_AGAIN = 0.85  # of main memory, beyond which a row is taken to read its disk
ONE_USER = {**STREAMED, **{name: SERVED[name] for name in ("ttft_ms", "tpot_ms", "output_tok_s_total")}}


@pytest.mark.parametrize("seed", seeds(8, quick=1))
def test_a_part_in_main_memory_is_predicted_as_it_is_explained(seed, tmp_path):
    """By the flags that `explain` prints: -ngl and --n-cpu-moe mean the same layers behind both doors.

    With several cards, alike or not, and to the first token of a server, as with one.
    """
    dice = random.Random(seed)  # noqa: S311 - a draw of questions
    rows, expected = [], []
    for _ in range(COUNT // 2):
        model, card, (cpu, kind, channels, mts) = (dice.choice(some) for some in IN_RAM)
        gb = dice.choice((64, 128, 384))
        machine = " + ".join(filter(None, (card, cpu, f"{gb}gb {kind}-{mts} {channels}ch")))
        wish = ServingWish(
            users=1, engine="llama.cpp", weights=dice.choice(("q4_k_m", "q8_0")),
            prompt_tok=dice.choice((128, 512, 2000, 5000)), output_tok=dice.choice((64, 300)),
            **(dice.choice(KEPT) if card else {}),
        )  # fmt: skip
        try:
            case = single(arch_of(model), node_of(machine), wish=wish).case
        except RigError:  # more than there is room for
            continue
        answer = explain_case(case, machine=machine)
        if answer.speed is None or (card and answer.ram is None):
            continue
        if answer.ram and answer.ram.used_bytes > READ_AGAIN * answer.ram.total_bytes:
            continue  # flags that main memory has no room for
        row = {
            "engine": "llama.cpp", "engine_version": case.engine.version, "arch": model,
            "weights": case.serving.weights, "kv": case.serving.kv,
            "gpu": "+".join(dict.fromkeys(one.chip.id for one in case.cards)) if card else "",
            "n_gpus": len(case.cards) if card else 0,
            "cpu": cpu, "ram_gb": gb, "ram_type": kind, "ram_channels": channels, "ram_mts": mts,
            "offload": answer.ram.flags if answer.ram else "", "batch": 1,
            "prompt_tok": wish.prompt_tok, "output_tok": wish.output_tok,
        }  # fmt: skip
        for metric, (name, scale) in ONE_USER.items():
            figure, times = getattr(answer.speed, name), scale or 1
            rows.append({"id": len(rows), "metric": metric, **row})
            expected.append((figure.value * times, figure.low * times, figure.high * times))
    assert len(rows) > COUNT // 4
    found = [judged.predictions[0] for judged in judged_rows(rows, tmp_path)]
    told = [(one.predicted, one.low, one.high) for one in found]
    different = [
        (row, got, want)
        for row, got, want in zip(rows, told, expected, strict=True)
        if None in got or got != pytest.approx(want, rel=1e-6)
    ]
    assert different == []
