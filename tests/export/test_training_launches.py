"""Trainings over several nodes find each other, and each choice of the plan stands in the files."""

from __future__ import annotations

import ast
import copy
import json
import os
import subprocess

import pytest
import yaml

from launch_plans import argv_of, base
from rigright.base.errors import AskError
from rigright.verbs.export import launch_files

FOUR = {"n_chips": 32, "n_nodes": 4}


def planned(plan=FOUR, **work):
    data = copy.deepcopy(base("hf"))
    one = data["plans"][0]
    one |= {"chip": "h100-sxm5-80gb", "machine": "4 x (8x H100 SXM5 80GB)", **plan}
    one["layout"] |= {"tp": 1, "pp": 1, "dp": one["n_chips"]}
    one["work"] |= {"method": "full", "recompute": "full", **work}
    return data


@pytest.mark.parametrize("target", ["torchrun", "deepspeed", "axolotl"])
def test_torchrun_joins_the_nodes_and_binds_ranks_to_their_socket(target):
    words = argv_of(launch_files(target, planned(sharding="zero3"))["train.sh"])
    for flag, value in (("--nnodes", "4"), ("--nproc-per-node", "8"), ("--numa-binding", "node")):
        assert words[words.index(flag) + 1] == value
    assert words[words.index("--rdzv-endpoint") + 1] == "${HEAD}:29500"


def test_llama_factory_is_told_its_nodes_by_the_environment(tmp_path):
    text = launch_files("llama-factory", planned())["train.sh"]
    fake = tmp_path / "llamafactory-cli"
    fake.write_text('#!/bin/sh\necho "$NNODES $NPROC_PER_NODE $NODE_RANK $MASTER_ADDR $FORCE_TORCHRUN"\n')
    fake.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HEAD": "node1", "NODE_RANK": "3"}
    done = subprocess.run(["/bin/sh", "-c", text], capture_output=True, text=True, check=True, env=env)
    assert done.stdout == "4 8 3 node1 1\n"


@pytest.mark.parametrize("target", ["torchrun", "accelerate"])
def test_the_script_trains_by_the_plan_where_the_user_names_none(target):
    text = launch_files(target, planned(sharding="fsdp", micro_batch=3, accumulate=5, seq_tok=777))[
        "train.py"
    ]
    set_to = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if isinstance(node.value, ast.Constant)
    }
    asked = {"METHOD": "full", "SHARDING": "fsdp", "MICRO_BATCH": 3, "ACCUMULATE": 5, "SEQ_TOK": 777}
    assert asked.items() <= set_to.items()
    assert not any("not set by these files" in line for line in text.splitlines())
    assert "train.py" not in launch_files(target, planned(sharding="fsdp"), script="mine.py")


@pytest.mark.parametrize("target", ["transformers", "llama-factory"])
def test_sharding_stands_in_the_trainers_own_file(target):
    def told(**work):
        files = launch_files(target, planned(**work))
        return yaml.safe_load(files.get("train.yaml") or files["training_args.json"]), files

    sharded, _ = told(sharding="fsdp")
    assert sharded["fsdp"] is True
    ways = [sharded["fsdp_config"]["activation_checkpointing"], sharded.get("gradient_checkpointing", False)]
    ways.append(sharded.get("disable_gradient_checkpointing") is False)
    assert ways.count(True) == 1  # two of them at once are refused
    staged, files = told(sharding="zero3")
    assert json.loads(files[staged["deepspeed"]])["zero_optimization"]["stage"] == 3


def test_deepspeed_has_an_optimizer_for_processors_where_states_lie_there():
    plan = planned(sharding="zero3", offload="all-nvme")
    config = json.loads(launch_files("deepspeed", plan)["ds_config.json"])
    assert config["optimizer"] == {"type": "AdamW", "params": {"lr": "auto", "weight_decay": "auto"}}
    assert config["zero_optimization"]["offload_param"]["nvme_path"] == "nvme"


def test_slurm_gives_a_training_all_cores_and_memory_and_stops_it_so_that_it_saves():
    job = launch_files("slurm", planned())["job.sbatch"]
    for line in ("--nodes=4", "--exclusive", "--mem=0", "--requeue"):
        assert f"#SBATCH {line}\n" in job
    assert "srun --kill-on-bad-exit=1 --cpu-bind=none " in job
    assert 'scancel --signal=TERM "$SLURM_JOB_ID"' in job
    data = copy.deepcopy(base("megatron"))
    asked = launch_files("slurm", data)["job.sbatch"].split("srun")[0]
    assert ': "${DATA:?' in asked
    assert "git clone --branch core_v" in asked


@pytest.mark.parametrize("target", ["kubernetes", "kserve", "compose", "systemd"])
def test_what_keeps_servers_up_refuses_a_training(target):
    with pytest.raises(AskError, match=f"^{target} is for "):
        launch_files(target, planned(plan={"n_chips": 8, "n_nodes": 1}))


def test_the_head_tells_the_plan_in_the_units_of_the_field():
    head = launch_files("vllm", base("vllm"))["serve.sh"].split("set -eu")[0]
    assert "TTFT " in head
    assert " ms" in head
    for bought in ("warranty", "check before you pay", "no price known"):
        assert bought not in head
    trained = launch_files("torchrun", planned(micro_batch=2, accumulate=4, seq_tok=2048))["train.sh"]
    assert "# step: 256 sequences of 2,048 tokens (524,288 tokens): micro-batch 2, 4 accumulated" in trained
