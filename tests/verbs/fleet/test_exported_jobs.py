"""Exported batch scripts on a real Slurm: all of them are accepted, and one runs on two nodes."""

from __future__ import annotations

import copy
import os
import subprocess

import pytest
from slurm_cluster import two_nodes

from launch_plans import base, drawn
from rigright.base.errors import RigError
from rigright.facts.launching import programs
from rigright.verbs.export import launch_files

pytestmark = [pytest.mark.live]
COUNT = 40  # of each program
SAYS = """\
#!/bin/sh
echo "RANK=$NODE_RANK HEAD=$HEAD $(basename "$0") $*" >> {folder}/said
"""

TRAINS = """\
#!/bin/sh
trap 'echo "saved $NODE_RANK" >> {folder}/said; exit 0' TERM
echo "started $NODE_RANK" >> {folder}/said
for _ in $(seq 600); do sleep 0.1; done
"""


@pytest.fixture(scope="module")
def slurm():
    with two_nodes({"n1": "a100_pcie_pairs", "n2": "a100_pcie_pairs"}, gpus=8) as cluster:
        yield cluster


def jobs_of(program):
    """The batch script of each plan of a program that can be one."""
    for data in drawn(program, COUNT):
        try:
            yield launch_files("slurm", data)["job.sbatch"]
        except RigError:
            continue


def asked(slurm, job, *, partition):
    """What sbatch says of a job; it is not started."""
    env = {**os.environ, "SLURM_CONF": str(slurm.conf)}
    return subprocess.run(
        ["sbatch", "--test-only", f"--partition={partition}"],
        input=job, env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "program", ["vllm", "sglang", "llama.cpp", "ollama", "tensorrt-llm", "hf", "torchtitan", "megatron"]
)
def test_sbatch_would_start_every_job(slurm, program):
    target = {"hf": "accelerate"}.get(program, program)
    assert target in programs()
    jobs = list(jobs_of(target))
    assert len(jobs) > COUNT / 2
    for job in jobs:
        done = asked(slurm, job, partition="cloud")
        assert done.returncode == 0, (done.stderr, job)
        assert "to start at" in done.stderr, (done.stderr, job)


def test_sbatch_refuses_a_job_that_no_node_can_hold(slurm):
    job = launch_files("slurm", base("vllm"))["job.sbatch"].replace("gpus-per-node=2", "gpus-per-node=129")
    assert asked(slurm, job, partition="cloud").returncode != 0


def test_a_server_over_two_nodes_knows_its_ranks_and_its_head(slurm, tmp_path):
    data = copy.deepcopy(base("vllm"))
    data["plans"][0] |= {"n_chips": 4, "n_nodes": 2}
    data["plans"][0]["layout"] |= {"tp": 2, "pp": 2}
    program = tmp_path / "vllm"
    program.write_text(SAYS.format(folder=tmp_path))
    program.chmod(0o755)
    job = launch_files("slurm", data)["job.sbatch"]
    (tmp_path / "job.sbatch").write_text(job.replace("exec vllm ", f"exec {program} "))
    env = {**os.environ, "SLURM_CONF": str(slurm.conf)}
    done = subprocess.run(
        ["sbatch", "--wait", "job.sbatch"],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    out = "".join(one.read_text() for one in tmp_path.glob("*.out"))
    assert done.returncode == 0, done.stderr + out
    said = sorted((tmp_path / "said").read_text().splitlines())
    assert [line.split()[0] for line in said] == ["RANK=0", "RANK=1"]
    assert {line.split()[1] for line in said} == {"HEAD=n1"}
    assert "--node-rank 0" in said[0]
    assert "--headless" not in said[0]
    assert "--node-rank 1" in said[1]
    assert said[1].endswith("--headless")


def test_a_training_saves_on_every_node_before_its_time_is_up_and_is_requeued(slurm, tmp_path):
    data = copy.deepcopy(base("hf"))
    data["plans"][0] |= {"n_chips": 2, "n_nodes": 2}
    data["plans"][0]["layout"] |= {"dp": 2}
    program = tmp_path / "accelerate"
    program.write_text(TRAINS.format(folder=tmp_path))
    program.chmod(0o755)
    job = launch_files("slurm", data)["job.sbatch"]
    (tmp_path / "job.sbatch").write_text(job.replace("exec accelerate ", f"exec {program} "))

    def said(word):
        lines = (tmp_path / "said").read_text().splitlines() if (tmp_path / "said").exists() else []
        return sorted(line for line in lines if line.startswith(word))

    number = slurm.run("sbatch", "--parsable", f"--chdir={tmp_path}", str(tmp_path / "job.sbatch")).strip()
    try:
        assert slurm.waits_for(lambda: said("started") == ["started 0", "started 1"])
        slurm.run("scancel", "--batch", "--signal=USR1", number)  # what Slurm sends before the limit
        assert slurm.waits_for(lambda: said("saved") == ["saved 0", "saved 1"])
        assert slurm.waits_for(lambda: " Restarts=1 " in slurm.run("scontrol", "show", "job", number))
    finally:
        slurm.run("scancel", number)
