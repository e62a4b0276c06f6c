"""Every choice of a plan is in the files that start it, or is refused or told by its name."""

from __future__ import annotations

import copy
import itertools
import re
from dataclasses import fields

import pytest
import yaml

from launch_plans import argv_of, base
from rigright.base.errors import AskError
from rigright.cost.training.setup import METHODS, OFFLOADS, RECOMPUTES, SCHEDULES, SHARDINGS
from rigright.demand import Layout, Serving, Training
from rigright.export.launch import EVERYWHERE
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
    "trl": ("trl", "slurm"),
    "verl": ("verl", "slurm"),
    "openrlhf": ("openrlhf",),
    "torchtitan": ("torchtitan", "slurm"),
    "megatron": ("megatron", "slurm"),
}
WRITTEN_BY = {
    "objective": "grpo", "group": 8, "completion_tok": 1536, "rollout": "sleep", "rollout_gpus": 0,
    "rollout_tp": 2, "waves": 1,
}  # fmt: skip
TRAINERS = [(one, name) for one in ("hf", "torchtitan", "megatron") for name in TARGETS[one]]
OTHERS = {  # legal values beside the one that stands, by field
    "engine": ("vllm 0.10", "sglang 0.4", "tensorrt-llm 0.18", "llama.cpp b5000", "ollama 0.5"),
    "weights": ("fp8", "gguf:Q8_0"), "kv": ("fp8", "q8_0"), "context_tok": (4096,), "batch": (5000,),
    "prompt_tok": (777,), "budget_tok": (1234,), "max_seqs": (77, 256), "utilisation": (0.5,),
    "graphs": (False,), "flash": (False,), "compiled": (True,), "parts_wait": (True,),
    "kv_store": ({"ram_bytes": 2e11, "nvme_bytes": 1e12}, {"ram_bytes": 3e11, "nvme_bytes": 0.0}),
    "offload": ({"layers": 3, "experts": 0}, {"layers": 0, "experts": 5}),
    "tp": (2, 4), "pp": (2, 4), "dp": (2, 4), "ep": (2,), "cp": (2,), "sequence_parallel": (True,),
    "attention_dp": (True,), "trainer": ("hf-lean", "liger"), "method": ("qlora", "full", "dora", "lora"),
    "optimizer": ("adafactor", "sgd", "adamw"), "precision": ("fp16", "fp32"), "base": ("int8",),
    "micro_batch": (3,), "seq_tok": (1000,), "recompute": ("none", "full", "selective"),
    "chunked_loss": (True,), "rank": (77,), "targets": ("ffn", "all"), "dropout": (0.3,),
    "sharding": ("zero1", "zero2", "zero3", "fsdp"), "schedule": ("gpipe",), "virtual_stages": (2,),
    "references": (0, 1), "post": (WRITTEN_BY | {"completion_tok": 300}, WRITTEN_BY),
    "accumulate": (9,), "offload_inputs": (True,), "step_in_backward": (True,),
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


@pytest.mark.parametrize("target", ["trl", "verl", "openrlhf"])
def test_every_field_of_a_rollout_is_in_the_files(target):
    def files(**post):
        data = plan_of(target)
        data["plans"][0]["work"]["post"] = WRITTEN_BY | post
        return written(target, data)

    for name, value in (("objective", "rloo"), ("group", 4), ("completion_tok", 700), ("rollout_tp", 4),
                        ("rollout", "colocate"), ("waves", 8)):  # fmt: skip
        assert isinstance(files(**{name: value}), dict), name
        assert files() != files(**{name: value}), name
    assert "apart" in files(rollout="apart", rollout_gpus=2)


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


@pytest.mark.parametrize(("program", "target"), [("ollama", "ollama")])
def test_drafts_are_refused_where_a_server_makes_none(program, target):
    data = plan_of(program)
    data["plans"][0]["drafts"]["drafted_tok"] = 3
    with pytest.raises(AskError, match="draft"):
        launch_files(target, data)


@pytest.mark.parametrize("target", ["vllm", "sglang", "tensorrt-llm", "llama.cpp"])
def test_a_head_of_the_model_drafts_by_itself(target):
    data = plan_of(target)
    found = set()
    for method in ("mtp", "ngram", "draft"):
        data["plans"][0]["drafts"] |= {"drafted_tok": 3, "method": method, "model": "qwen3-0.6b"}
        found.add("".join(launch_files(target, data).values()))
    assert len(found) == 3


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


def cut(target, **layout):
    """A plan over two nodes of eight cards, cut so."""
    data = plan_of(target)
    one = data["plans"][0]
    one |= {"chip": "h100-sxm5-80gb", "n_nodes": 2, "n_chips": 16}
    one["layout"] |= {"tp": 1, "pp": 1, "dp": 1, "ep": 1, "cp": 1, **layout}
    return data


@pytest.mark.parametrize(
    ("target", "layout", "servers", "nodes"),
    [
        ("vllm", {"tp": 4, "dp": 4, "ep": 4, "attention_dp": True}, 4, None),
        ("vllm", {"tp": 8, "pp": 1, "dp": 2, "ep": 8, "attention_dp": True}, 2, None),
        ("sglang", {"tp": 8, "dp": 2}, 2, None),
        ("sglang", {"tp": 16, "ep": 16, "attention_dp": True}, 1, "2"),
        ("vllm", {"tp": 8, "pp": 2}, 1, "2"),
    ],
)
def test_replicas_over_nodes_are_servers_of_their_own_where_one_server_is_another_plan(
    target, layout, servers, nodes
):
    """Ranks with sequences of their own stand once; SGLang has no replicas over nodes."""
    files = launch_files(target, cut(target, **layout))
    scripts = [text for name, text in files.items() if name.startswith("serve")]
    assert len(scripts) == servers
    flags = [dict(itertools.pairwise(argv_of(text))) for text in scripts]
    assert {one.get("--nnodes") for one in flags} == {nodes}
    if servers > 1:  # each node has its own, and what deals requests out reaches all
        places = re.findall(r"server (node\d+):\d+;", files["nginx.conf"])
        assert sorted(places) == sorted([f"node{place * 2 // servers}" for place in range(servers)])
        assert {one["--host"] for one in flags} == {EVERYWHERE}
    if target == "vllm" and layout.get("attention_dp"):
        assert {one["--data-parallel-size"] for one in flags} == {str(layout["tp"])}
    kubernetes = yaml.safe_load(
        next(text for name, text in launch_files("kubernetes", cut(target, **layout)).items()
             if name.startswith(("deployment", "leaderworkerset")))
    )  # fmt: skip
    assert kubernetes["spec"]["replicas"] == servers


def test_weights_are_converted_by_a_word_of_that_version_or_not_at_all():
    data = plan_of("vllm")
    data["plans"][0]["work"]["weights"] = "fp8"
    (script,) = (text for name, text in launch_files("vllm", data).items() if name.startswith("serve"))
    assert dict(itertools.pairwise(argv_of(script)))["--quantization"] == "fp8_per_tensor"
    data["plans"][0]["work"]["weights"] = "nf4"
    with pytest.raises(AskError, match="nf4"):
        launch_files("vllm", data)


@pytest.mark.parametrize(
    ("target", "layout", "word"),
    [("vllm", {"tp": 8, "dp": 2, "ep": 2}, "ep 2"), ("sglang", {"tp": 8, "pp": 2}, "drafts")],
)
def test_what_a_server_refuses_at_its_start_is_refused_before(target, layout, word):
    data = cut(target, **layout)
    data["plans"][0]["drafts"] |= {"drafted_tok": 3, "own": True}
    with pytest.raises(AskError, match=word):
        launch_files(target, data)


def test_drafts_reach_ray_as_a_table():
    data = plan_of("vllm")
    data["plans"][0]["drafts"] |= {"drafted_tok": 3, "own": True}
    read = yaml.safe_load(launch_files("ray", data)["serve.yaml"])
    (model,) = read["applications"][0]["args"]["llm_configs"]
    assert model["engine_kwargs"]["speculative_config"]["num_speculative_tokens"] == 3
    with pytest.raises(AskError, match="training"):
        launch_files("ray", plan_of("hf"))


@pytest.mark.parametrize("trainer", ["llama-factory", "ms-swift"])
def test_a_plan_of_llama_factory_is_written_for_it(trainer):
    from rigright.facts.training import find_trainer

    data = plan_of("hf")
    data["plans"][0]["work"] |= {"trainer": find_trainer(trainer).id, "method": "full", "recompute": None}
    read = yaml.safe_load(launch_files("llama-factory", data)["train.yaml"])
    assert read["disable_gradient_checkpointing"] is False  # its habit, which the figures are of
    assert read["pure_bf16"] is True


def test_hybrid_sharding_divides_over_the_ranks_that_the_figures_are_of():
    for dp, groups in ((8, 1), (16, 2), (32, 4)):
        data = plan_of("torchtitan")
        one = data["plans"][0]
        one["layout"] |= {"tp": 8, "dp": dp}
        one |= {"n_chips": 8 * dp, "n_nodes": dp}
        one["work"]["sharding"] = "hsdp"
        words = dict(itertools.pairwise(argv_of(launch_files("torchtitan", data)["train.sh"])))
        assert words["--parallelism.data-parallel-replicate-degree"] == str(groups)
        assert words["--parallelism.data-parallel-shard-degree"] == str(dp // groups)
