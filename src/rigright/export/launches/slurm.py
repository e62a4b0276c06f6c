"""Slurm: a batch script, one task a node; replicas are an array; a training is requeued at its limit."""

from __future__ import annotations

import shlex

from rigright.export.commands import command_of, files_beside, made_first, workers_of
from rigright.export.launch import Launch
from rigright.export.launches.torchrun import STOP_S
from rigright.export.text import HEAD, RANK, asked_for, comments, for_workers, shell

NAME = "slurm"
FILE = "job.sbatch"
_GPU_CPUS = 8  # of a node that others share
_WARNED_S = STOP_S + 60  # before the time limit, for a checkpoint


def export(launch: Launch) -> dict[str, str]:
    """The batch script, and the files its program reads."""
    servers = launch.servers
    own = servers[0]
    trains = launch.trained is not None
    asked = {
        "job-name": launch.name,
        "nodes": own.nodes,
        "ntasks-per-node": own.gpus if _by_gpu(own) else 1,
        "gpus-per-node": own.gpus,
        **({"cpus-per-gpu": _GPU_CPUS} if own.gpus < launch.gpus else {"exclusive": "", "mem": 0}),
        "array": f"0-{len(servers) - 1}" if len(servers) > 1 else None,
        "requeue": "" if trains else None,
        "signal": f"B:USR1@{_WARNED_S}" if trains else None,
        "open-mode": "append",
        "output": "%x-%A_%a.out" if len(servers) > 1 else "%x-%j.out",
    }
    lines = [
        f"#SBATCH --{name}{f'={value}' if value != '' else ''}"
        for name, value in asked.items()
        if value is not None
    ]
    # Slurm numbers the GPUs of a job itself: nobody else says which
    exported = [f"export {name}={shlex.quote(value)}" for name, value in own.placed_environment.items()]
    body = _trained(launch) if trains else _served(launch)
    texts = [
        *launch.head,
        "sbatch job.sbatch; add what your cluster asks for: --time, --partition, --account",
    ]
    if not trains:
        place = f" --base-url http://127.0.0.1:{own.port}" if len(servers) > 1 else ""
        texts += ["send the planned load from its first node, where its server listens:"]
        texts += [f"  srun --jobid=JOB --overlap --nodes=1 --ntasks=1 sh bench.sh{place}", *made_first(own)]
        if place:
            texts.append(f"the ports of the array, one a server, count up from {own.port}")
    text = "\n".join(
        ["#!/bin/bash", *lines, comments(texts).rstrip("\n"), "set -euo pipefail", "", *exported, *body]
    )
    return {FILE: text + "\n", **files_beside(own)}


def _head() -> list[str]:
    return ['HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)', "export HEAD"]


def _by_gpu(launch: Launch) -> bool:
    """Whether it has a task a GPU: MPI gives each its rank then."""
    return launch.nodes > 1 and launch.program.per_gpu


def _srun(launch: Launch) -> str:
    """The command on every node, each of which knows its rank."""
    workers = workers_of(launch)
    added, rest = (for_workers(workers), ' "$@"') if workers else ("", "")
    inner = f"export NODE_RANK=$SLURM_NODEID\n{added}exec {shell(command_of(launch), indent='    ')}{rest}"
    # one task a node starts a process a GPU: they take all cores of the job, not one
    how = "--mpi=pmix" if _by_gpu(launch) else "--cpu-bind=none"
    return f"srun --kill-on-bad-exit=1 {how} bash -c {shlex.quote(inner)}"


def _served(launch: Launch) -> list[str]:
    """A server; of an array, each on a port of its own."""
    servers = launch.servers
    if len(servers) == 1:
        return [*_head(), _srun(launch)]
    cases = [f"{place}) {_srun(item)} ;;" for place, item in enumerate(servers)]
    return [*_head(), 'case "$SLURM_ARRAY_TASK_ID" in', *cases, "esac"]


def _trained(launch: Launch) -> list[str]:
    """A training: stopped before its time is up, it saves, and Slurm starts it anew."""
    return [
        *asked_for(command_of(launch), known=(HEAD, RANK)).splitlines(),
        *_head(),
        "# a trainer that saves on SIGTERM goes on from there, others from their last checkpoint",
        "again() {",
        '  echo "time is nearly up: SIGTERM to all ranks, then requeue"',
        '  scancel --signal=TERM "$SLURM_JOB_ID"  # its steps, not this script',
        '  wait "$running" || true',
        '  scontrol requeue "$SLURM_JOB_ID"',
        "  exit 0",
        "}",
        "trap again USR1",
        f"{_srun(launch)} &",
        "running=$!",
        'wait "$running"',
    ]
