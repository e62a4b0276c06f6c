"""A training asked of `explain`, and told as a row of a table of runs to `validate`: one figure, one band."""

from __future__ import annotations

import random
import re

import pytest
from drawn_questions import LARGE, MIDDLE, RACK, SMALL, THOROUGH, judged_rows, node_of, seeds

from rigright.base.errors import RigError
from rigright.base.units import to_gib
from rigright.demand import TrainingWish
from rigright.report.pages import training as pages
from rigright.verbs.explain_training import explain_training
from rigright.verbs.training.case import Trained

COUNT = 120 if THOROUGH else 40
MODELS = (*SMALL, "google/gemma-3-4b-it", "Qwen/Qwen2.5-VL-7B-Instruct", "gpt2")
MANY = (
    "8x h100",
    "2x 8x h100",
    "4x 8x h200",
    "8x mi300x",
    "2x 8x a100 80gb",
    "8x 8x b200",
    "8x v100 32gb",
    "8x l40s",
)
DESK = (
    "rtx 4090",
    "rtx 3060 12gb",
    "2x rtx 3090",
    "4x rtx 4090",
    "rx 7900 xtx",
    "a100 40gb",
    "t4",
    "dgx spark",
    "l4",
)
PLAIN = ("hf", "pytorch", "torchtune", "litgpt", "deepspeed", "unsloth", "axolotl", "ms-swift", "composer")
CUTS = ({"tp": 2}, {"tp": 4, "pp": 2}, {"pp": 4, "virtual_stages": 2}, {"cp": 2, "tp": 2}, {"ep": 4, "tp": 2})
SETTINGS = {  # of `explain` -> what is drawn
    "optimizer": ("adamw", "adamw-fused", "adamw-8bit", "adafactor", "muon", "sgd"),
    "precision": ("bf16", "bf16-mixed", "fp16-mixed", "fp32", "fp8"),
    "recompute": ("none", "selective", "full"),
    "seq_tok": (512, 2048, 8192, 16384),
    "micro_batch": (1, 2, 8),
    "global_batch": (8, 64, 256, 1000),
    "flash": (False,),
    "chunked_loss": (True,),
    "compiled": (True,),
}


def drawn(dice):
    """A model, a machine, and what was said of training it."""
    wish: dict[str, object] = {"method": dice.choice(("full", "full", "lora", "qlora", "dora"))}
    if dice.random() < 0.4:
        models, machines = (*MIDDLE, *LARGE, *MODELS), MANY
        wish["trainer"] = dice.choice(("megatron", "torchtitan", "megatron-deepspeed", "deepspeed", "hf"))
        if wish["trainer"] not in {"hf", "deepspeed"}:
            wish |= {"method": "full"} | (dice.choice(CUTS) if dice.random() < 0.7 else {})
            wish["schedule"] = (
                "interleaved" if "virtual_stages" in wish else dice.choice((None, "1f1b", "gpipe"))
            )
    else:
        models, machines = MODELS, (*DESK, *RACK)
        wish["trainer"] = dice.choice((None, None, *PLAIN))
    if wish["method"] != "full":
        wish |= {
            "rank": dice.choice((8, 64)),
            "targets": dice.choice(("attn", "linear", "all", "q v", "ffn")),
        }
    elif wish["trainer"] in {None, "hf", "deepspeed"} and dice.random() < 0.4:
        wish["sharding"] = dice.choice(("zero1", "zero2", "zero3", "fsdp"))
        wish["offload"] = dice.choice((None, "optimizer-cpu", "all-cpu", "optimizer-nvme"))
    wish |= {name: dice.choice(values) for name, values in SETTINGS.items() if dice.random() < 0.25}
    return dice.choice(models), dice.choice(machines), TrainingWish(**wish)


def row_of(answer: Trained, machine: str) -> dict[str, object]:
    """What `explain --json` says of a training, in a row of a table of runs: its keys are the columns."""
    told = pages.plain(answer, "en")
    said, layout = told["training"], told["layout"]
    ranks = layout["tp"] * layout["pp"] * layout["dp"] * layout["cp"]
    found = {
        "arch": told["model"], "framework": told["trainer"], "optimizer": told["optimizer"],
        "precision": "mixed" if said["precision"] is None else told["precision"],  # the trainer's own
        "lora_rank": said["rank"], "lora_targets": said["targets"], "peak_kind": "device",
        "nodes": -(-ranks // len(node_of(machine).cards)), "oom": "" if told["fits"] else "1",
        "n_chips": ranks,
        **{name: layout[name] for name in ("tp", "pp", "dp", "cp", "ep", "sequence_parallel")},
        **{name: said[name] for name in (
            "method", "sharding", "recompute", "micro_batch", "accumulate", "seq_tok", "virtual_stages",
            "schedule", "base", "offload", "flash", "chunked_loss", "compiled", "offload_inputs",
            "step_in_backward", "dropout",
        )},
    }  # fmt: skip
    return {name: "" if value is None else value for name, value in found.items()}


def chip_of(machine: str) -> str:
    """The one kind of card of a machine."""
    return re.sub(r"^(?:\d+x )+|^\d+x\d+ ", "", machine)


@pytest.mark.parametrize("seed", seeds(8, quick=1))
def test_a_row_of_runs_is_predicted_as_the_training_is_explained(seed, tmp_path):
    dice = random.Random(seed)  # noqa: S311 - a draw of questions
    rows, expected = [], []
    for _ in range(COUNT):
        model, machine, wish = drawn(dice)
        try:
            answer = explain_training(model, machine, wish=wish)
        except RigError:  # a layout or a program that cannot be
            continue
        worst = max(answer.ranks, key=lambda rank: rank.used_bytes)
        peak = (worst.used_bytes, worst.used_low_bytes, worst.used_high_bytes)
        speed = None if answer.time is None else answer.time.tok_per_s_per_chip
        rows.append({"id": len(rows), "chip": chip_of(machine), **row_of(answer, machine)})
        expected.append(
            {
                "peak_gib": [to_gib(size) for size in peak],
                "tok_per_s_per_chip": None if speed is None else [speed.value, speed.low, speed.high],
            }
        )
    assert len(rows) > COUNT / 2
    different = []
    for row, want, judged in zip(rows, expected, judged_rows(rows, tmp_path), strict=True):
        for found in judged.predictions:
            wanted, got = want[found.metric], [found.predicted, found.low, found.high]
            if wanted is None and got == [None] * 3:
                continue
            if None in got or wanted is None or got != pytest.approx(wanted, rel=1e-6):
                different.append((found.metric, row, got, wanted, str(found.why)))
    assert different == []
