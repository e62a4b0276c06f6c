"""Megatron's launch holds the model's shape and every choice of the plan; what it cannot train is refused."""

from __future__ import annotations

import copy
import itertools
import subprocess

import pytest

from launch_plans import argv_of, base, drawn
from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.verbs.export import launch_files


def told(data):
    words = argv_of(launch_files("megatron", data)["train.sh"])
    flags = {word: value for word, value in itertools.pairwise([*words, ""]) if word.startswith("--")}
    return {flag: None if value.startswith("--") else value for flag, value in flags.items()}


def changed(**work):
    data = copy.deepcopy(base("megatron"))
    layout = work.pop("layout", {})
    data |= {"model": work.pop("model", data["model"])}
    data["plans"][0]["layout"] |= {"tp": 1, "pp": 1, "dp": 8, "cp": 1, "ep": 1, **layout}
    data["plans"][0]["work"] |= work
    return data


def test_ranks_and_batches_multiply_to_those_of_the_plan():
    for data in drawn("megatron", 60):
        one, flags = data["plans"][0], told(data)
        ranks = int(flags["--nnodes"]) * int(flags["--nproc-per-node"])
        cut = 1
        for name in ("tensor-model", "pipeline-model", "context"):
            cut *= int(flags[f"--{name}-parallel-size"])
        assert ranks == one["n_chips"]
        assert int(flags["--nproc-per-node"]) <= 16
        assert ranks // cut == one["layout"]["dp"]
        work = one["work"]
        batch = work["micro_batch"] * (work["accumulate"] or 1) * one["layout"]["dp"]
        assert int(flags["--global-batch-size"]) == batch
        arch = open_model(data["model"])
        assert int(flags["--num-layers"]) == len(arch.trunk.layers)
        assert int(flags["--vocab-size"]) == arch.vocab


def test_deepseek_is_told_with_its_latents_its_experts_and_its_uneven_stages():
    layout = {"pp": 4, "dp": 8, "ep": 8}
    data = changed(model="deepseek-ai/DeepSeek-V3", schedule="1f1b", recompute="full", layout=layout)
    data["plans"][0] |= {"n_chips": 32, "n_nodes": 4}
    flags = told(data)
    wanted = {
        "--kv-lora-rank": "512",
        "--q-lora-rank": "1536",
        "--qk-head-dim": "128",
        "--qk-pos-emb-head-dim": "64",
        "--v-head-dim": "128",
        "--num-experts": "256",
        "--moe-router-topk": "8",
        "--moe-router-score-function": "sigmoid",
        "--moe-layer-freq": "([0]*3+[1]*58)",
        "--expert-model-parallel-size": "8",
        "--expert-tensor-parallel-size": "1",
        "--pipeline-model-parallel-layout": "Et*15|t*15|t*16|t*15L",
        "--recompute-granularity": "full",
        "--recompute-method": "uniform",
    }
    assert {name: flags[name] for name in wanted} == wanted
    assert "--group-query-attention" not in flags


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"method": "lora"}, ""),
        ({"precision": "bf16"}, "in bf16"),
        ({"offload": "all-cpu"}, "--offload all-cpu"),
        ({"compiled": True}, "--compiled"),
        ({"model": "google/gemma-2-9b"}, "gemma2"),
        ({"schedule": "gpipe", "layout": {"pp": 2, "dp": 4}}, "--schedule gpipe"),
        ({"sharding": "fsdp", "layout": {"pp": 2, "dp": 4}}, "fsdp"),
        ({"seq_tok": 2050, "layout": {"cp": 2, "dp": 4}}, "2050 .* 2 "),
    ],
)
def test_what_it_does_not_train_is_refused_with_what_does(choice, words):
    with pytest.raises(AskError, match=f"Megatron-LM .* not .*{words}") as refused:
        launch_files("megatron", changed(**choice))
    assert refused.value.hint


def test_tensor_parallelism_sends_kernels_in_order_before_blackwell():
    data = changed(layout={"tp": 2, "dp": 4, "sequence_parallel": True})
    text = launch_files("megatron", data)["train.sh"]
    assert "export CUDA_DEVICE_MAX_CONNECTIONS=1\n" in text
    assert "--sequence-parallel" in text
    data["plans"][0] |= {"chip": "b200", "machine": "8x B200"}
    assert "MAX_CONNECTIONS" not in launch_files("megatron", data)["train.sh"]


def test_cards_that_no_machine_holds_are_spread_over_several():
    data = changed(layout={"dp": 32})
    data["plans"][0] |= {"n_chips": 32, "n_nodes": 1}
    flags = told(data)
    assert (flags["--nnodes"], flags["--nproc-per-node"]) == ("4", "8")
    job = launch_files("slurm", data)["job.sbatch"]
    assert "#SBATCH --nodes=4\n" in job
    assert "pretrain_gpt.py" in job
    assert subprocess.run(["bash", "-n"], input=job, text=True, check=False).returncode == 0
