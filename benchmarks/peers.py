"""Other programs, asked the same. They live in environments of their own, which RIGRIGHT_PEERS names.

    python -m venv /somewhere && /somewhere/bin/pip install "aiconfigurator==0.12.*" llmfit
    RIGRIGHT_PEERS=/somewhere make bench

Several folders are parted as in PATH. What is not there is left out, and that is said.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from processes import best

PLACE = "RIGRIGHT_PEERS"
OFFLINE = {"HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}


@dataclass(frozen=True, slots=True)
class Peer:
    """A program and how it is asked."""

    name: str
    program: str
    words: tuple[str, ...]
    beside: str  # our own row
    rounds: int = 2


PEERS = (
    Peer(
        "aiconfigurator 0.12: 70B on 8x H100 SXM, TensorRT-LLM alone",
        "aiconfigurator",
        (
            *("cli", "default", "--model-path", "meta-llama/Meta-Llama-3.1-70B", "--system", "h100_sxm"),
            *("--total-gpus", "8", "--isl", "2048", "--osl", "512", "--ttft", "1000", "--tpot", "50"),
        ),
        "plan one machine",
    ),
    Peer(
        "aiconfigurator 0.12: DeepSeek-V3 on 64x H200",
        "aiconfigurator",
        (
            *("cli", "default", "--model-path", "deepseek-ai/DeepSeek-V3", "--system", "h200_sxm"),
            *("--total-gpus", "64", "--isl", "2048", "--osl", "512", "--ttft", "1000", "--tpot", "50"),
        ),
        "plan 64 chips",
        1,
    ),
    Peer("llmfit: what fits a card of 24 GB", "llmfit", ("--json", "--memory", "24G", "fit"), "fit"),
)


def find(program):
    """Where a program is, in the folders that were named."""
    for folder in os.environ.get(PLACE, "").split(os.pathsep):
        found = folder and shutil.which(program, path=str(Path(folder) / "bin"))
        if found:
            return found
    return None


def main(ours):
    """Each peer beside our row of the same question; `ours` are costs by name."""
    for peer in PEERS:
        program = find(peer.program)
        if program is None:
            print(f"{peer.name:<64} left out: {peer.program} is not in {PLACE}")
            continue
        cost, own = best([program, *peer.words], rounds=peer.rounds, env=OFFLINE), ours[peer.beside]
        times = (cost.wall_s / own.wall_s, cost.cpu_s / own.cpu_s, cost.mem_mib / own.mem_mib)
        print(f"{peer.name:<64} {cost}   {'x, '.join(f'{part:.1f}' for part in times)}x of {peer.beside}")
