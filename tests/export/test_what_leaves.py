"""Every choice of a plan is in the files that start it, or is refused or told by its name."""

from __future__ import annotations

import copy
import itertools
from dataclasses import fields

import pytest

from launch_plans import base
from rigright.base.errors import AskError
from rigright.cost.training_setup import METHODS, OFFLOADS, RECOMPUTES, SCHEDULES, SHARDINGS
from rigright.demand import Layout, Serving, Training
from rigright.facts.launching import programs
from rigright.facts.training import optimizers, precisions
from rigright.verbs.export import launch_files

TARGETS = {
    "vllm": ("vllm", "kubernetes", "kserve", "compose", "systemd", "slurm", "ray"),
    "sglang": ("sglang", "slurm"),
    "llama.cpp": ("llama.cpp", "compose"),
    "ollama": ("ollama", "systemd"),
    "tensorrt-llm": ("tensorrt-llm", "kubernetes"),
    "hf": ("transformers", "accelerate", "torchrun", "deepspeed", "axolotl", "llama-factory"),
    "torchtitan": ("torchtitan", "slurm"),
    "megatron": ("megatron", "slurm"),
}
TRAINERS = [(one, name) for one in ("hf", "torchtitan", "megatron") for name in TARGETS[one]]
OTHERS = {  # legal values beside the one that stands, by field
    "engine": ("vllm 0.10", "sglang 0.4", "tensorrt-llm 0.18", "llama.cpp b5000", "ollama 0.5"),
    "weights": ("fp8", "gguf:Q8_0"), "kv": ("fp8", "q8_0"), "context_tok": (4096,), "batch": (5000,),
    "prompt_tok": (777,), "budget_tok": (1234,), "max_seqs": (77, 256), "utilisation": (0.5,),
    "graphs": (False,), "flash": (False,), "compiled": (True,), "offload": ({"layers": 3, "experts": 0},),
    "tp": (2, 4), "pp": (2, 4), "dp": (2, 4), "ep": (2,), "cp": (2,), "sequence_parallel": (True,),
    "attention_dp": (True,), "trainer": ("hf-lean", "liger"), "method": ("qlora", "full", "dora", "lora"),
    "optimizer": ("adafactor", "sgd", "adamw"), "precision": ("fp16", "fp32"), "base": ("int8",),
    "micro_batch": (3,), "seq_tok": (1000,), "recompute": ("none", "full", "selective"),
    "chunked_loss": (True,), "rank": (77,), "targets": ("ffn", "all"), "dropout": (0.3,),
    "sharding": ("zero1", "zero2", "zero3", "fsdp"), "schedule": ("gpipe",), "virtual_stages": (2,),
    "references": (1,), "accumulate": (9,), "offload_inputs": (True,), "step_in_backward": (True,),
    "matmul": ("fp8",), "host": (2.0,), "padded": (0.2,), "imbalance": (1.5,),
}  # fmt: skip
TRAINED = {"offload": ("optimizer-cpu", "all-cpu"), "weights": (), "kv": ()}
WRITTEN = {}  # most changes are made to the same plan


def plan_of(program):
    """One plan, cut in two where its program cuts one."""
    data = copy.deepcopy(base(program))
    data["plans"] = data["plans"][:1]
    return data


def parted(data):
    """The same plan with as many workers for prompts alone before its own."""
    told = copy.deepcopy(data)
    plan = told["plans"][0]
    plan["prefill"] = {**plan["layout"]}
    return told


def changed(data, group, name, value):
    """The same plan with another choice, and as many GPUs as it then takes."""
    told = copy.deepcopy(data)
    plan = told["plans"][0]
    cut = plan[group] if group == "prefill" else plan["layout"]
    if name in {"schedule", "virtual_stages"}:
        cut["pp"] = 2
    if name in {"attention_dp", "sequence_parallel", "ep"}:
        cut["tp"] = 2
    if name == "base":
        plan["work"]["method"] = "qlora"
    if name in {"rank", "targets"} and plan["work"]["method"] == "full":
        return None
    before = copy.deepcopy(told)
    plan[group][name] = value
    if name == "prompt_tok":
        told["wish"]["prompt_tok"] = value
    if name == "virtual_stages":
        plan["work"]["schedule"] = before["plans"][0]["work"]["schedule"] = "interleaved"
    for one in (before, told):
        cut = one["plans"][0]
        pools = [cut["layout"], *([cut["prefill"]] if cut.get("prefill") else [])]
        cut["n_chips"] = sum(pool["tp"] * pool["pp"] * pool["dp"] * pool["cp"] for pool in pools)
    return None if plan[group].get(name) == before["plans"][0][group].get(name) else (before, told)


def written(target, data):
    """The files, or the sentence that refuses the plan."""
    key = target, repr(data)
    if key not in WRITTEN:
        try:
            WRITTEN[key] = launch_files(target, data)
        except AskError as error:
            WRITTEN[key] = str(error)
    return WRITTEN[key]


@pytest.mark.parametrize(
    ("program", "target"), [(one, name) for one, names in TARGETS.items() for name in names]
)
def test_every_field_of_a_plan_is_held_refused_or_named(program, target):
    plain = plan_of(program)
    kind = Training if "trainer" in plain["plans"][0]["work"] else Serving
    groups = [(plain, "layout", Layout), (plain, "work", kind)]
    if programs()[program if program in programs() else target].apart:
        two = parted(plain)
        groups += [(two, "layout", Layout), (two, "work", kind), (two, "prefill", Layout)]
    silent = []
    for data, group, record in groups:
        for field in fields(record):
            assert field.name in OTHERS, "a new field: say what else it may be"
            others = TRAINED.get(field.name, OTHERS[field.name]) if kind is Training else OTHERS[field.name]
            pairs = [changed(data, group, field.name, value) for value in others]
            if not any(pairs) or not field.init:
                continue
            texts = [(written(target, before), written(target, told)) for before, told in filter(None, pairs)]
            if all(isinstance(after, dict) and before == after for before, after in texts):
                silent.append(f"{group}.{field.name}")
    assert silent == []


WORDS = {  # every word of a choice
    "method": METHODS, "recompute": RECOMPUTES, "sharding": SHARDINGS, "offload": OFFLOADS,
    "schedule": SCHEDULES, "optimizer": tuple(optimizers()), "precision": tuple(precisions()),
}  # fmt: skip
ALIKE = ({"zero3", "fsdp"}, {"adamw", "adamw-fused"}, {"sgd", "sgd-momentum"})  # the same to some programs


def alike(name, pair, plan):
    """Whether two words come to the same for so many ranks."""
    if name == "sharding" and plan["dp"] <= 8:  # of one group of ranks, and of one rank
        return plan["dp"] == 1 or pair <= {"zero3", "fsdp", "hsdp"}
    return pair in ALIKE or (name == "schedule" and plan["pp"] == 1)


@pytest.mark.parametrize(
    "plan", [{"dp": 16, "tp": 1, "pp": 1}, {"dp": 1, "tp": 1, "pp": 1}, {"dp": 4, "tp": 4, "pp": 2}]
)
@pytest.mark.parametrize(("program", "target"), TRAINERS)
def test_no_two_words_of_a_choice_write_the_same_files(program, target, plan):
    """A word that a program does not have is refused or named, and never started as another one."""
    data = plan_of(program)
    one = data["plans"][0]
    one["layout"] |= plan
    one["work"] |= {"sharding": "zero3" if program == "hf" else "fsdp", "method": "full", "recompute": "full"}
    one["n_chips"] = plan["dp"] * plan["tp"] * plan["pp"]
    one["n_nodes"] = max(one["n_chips"] // 8, 1)
    silent = []
    for name, words in WORDS.items():
        texts = {}
        for word in words:
            told = copy.deepcopy(data)
            told["plans"][0]["work"][name] = word
            texts[word] = written(target, told)
        silent += [
            (name, *pair)
            for pair in itertools.combinations(words, 2)
            if isinstance(texts[pair[0]], dict) and texts[pair[0]] == texts[pair[1]]
            if not alike(name, set(pair), plan)
        ]
    assert silent == []


@pytest.mark.parametrize(("program", "target"), [("llama.cpp", "llama.cpp"), ("ollama", "ollama")])
def test_drafts_are_refused_where_a_server_makes_none(program, target):
    data = plan_of(program)
    data["plans"][0]["drafts"]["drafted_tok"] = 3
    with pytest.raises(AskError, match="draft"):
        launch_files(target, data)


@pytest.mark.parametrize("target", ["vllm", "sglang", "tensorrt-llm"])
def test_a_head_of_the_model_drafts_by_itself(target):
    data = plan_of(target)
    found = set()
    for own in (False, True):
        data["plans"][0]["drafts"] |= {"drafted_tok": 3, "own": own}
        found.add("".join(launch_files(target, data).values()))
    assert len(found) == 2


def test_a_layout_that_a_program_does_not_have_is_refused():
    for program, target, name in (
        ("llama.cpp", "llama.cpp", "ep"), ("hf", "axolotl", "pp"), ("hf", "accelerate", "tp"),
        ("sglang", "sglang", "cp"), ("hf", "transformers", "cp"),
    ):  # fmt: skip
        _, told = changed(plan_of(program), "layout", name, 2)
        with pytest.raises(AskError, match=name):
            launch_files(target, told)


def test_the_version_of_the_figures_is_told_where_the_flags_are_of_another():
    for program in ("vllm", "sglang", "llama.cpp"):
        data = plan_of(program)
        version = data["plans"][0]["work"]["engine"].rpartition(" ")[2]
        text = next(text for name, text in launch_files(program, data).items() if name.startswith("serve"))
        assert version in text
