"""torchtitan's launch holds the plan's choices; what it does not train is refused."""

from __future__ import annotations

import copy
import itertools
import subprocess

import pytest

from launch_plans import argv_of, base, drawn
from rigright.base.errors import AskError
from rigright.verbs.export import launch_files


def test_ranks_and_batches_multiply_to_those_of_the_plan():
    for data in drawn("torchtitan", 100):
        one = data["plans"][0]
        words = argv_of(launch_files("torchtitan", data)["train.sh"])
        told = dict(itertools.pairwise(words))
        degrees = ("data-parallel-replicate", "data-parallel-shard", "tensor-parallel", "pipeline-parallel")
        ranks = 1
        for name in degrees:
            ranks *= int(told[f"--parallelism.{name}-degree"])
        work = one["work"]
        assert ranks == one["n_chips"] == int(told["--nnodes"]) * int(told["--nproc-per-node"])
        batch = work["micro_batch"] * (work["accumulate"] or 1) * one["layout"]["dp"]
        assert int(told["--training.global-batch-size"]) == batch
        assert batch % int(told["--training.local-batch-size"]) == 0
        assert words[-1] == f"activation-checkpoint:{work['recompute']}"


@pytest.mark.parametrize("choice", [{"method": "lora"}, {"precision": "fp8"}, {"offload": "optimizer-cpu"}])
def test_what_it_does_not_train_is_refused(choice):
    data = copy.deepcopy(base("torchtitan"))
    data["plans"][0]["work"] |= choice
    (value,) = choice.values()
    with pytest.raises(AskError, match=rf"torchtitan .* not .*\b{value}$"):
        launch_files("torchtitan", data)


def test_a_model_without_a_configuration_is_refused_with_those_there_are():
    with pytest.raises(AskError, match="qwen3-8b") as refused:
        launch_files("torchtitan", base("torchtitan") | {"model": "Qwen/Qwen3-8B"})
    assert "qwen3-14b" in str(refused.value.hint)


def test_slurm_starts_it_on_every_node():
    data = copy.deepcopy(base("torchtitan"))
    data["plans"][0] |= {"n_chips": 16, "n_nodes": 2}
    data["plans"][0]["layout"] |= {"tp": 2, "dp": 8}
    job = launch_files("slurm", data)["job.sbatch"]
    assert "-m torchtitan.train" in job
    assert subprocess.run(["bash", "-n"], input=job, text=True, check=False).returncode == 0
