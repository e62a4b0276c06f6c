"""Acceptance through the real command, a played ssh and a real PyTorch: nodes meet and measure together."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from rigright.machine.bench.environment import torch_python
from rigright.machine.record import Machine

pytestmark = pytest.mark.live


def test_nodes_meet_over_ssh_and_the_same_command_again_asks_nobody(far, tmp_path):
    python = os.environ.get("RIGRIGHT_TEST_TORCH") or torch_python(None, Machine(), env=os.environ)
    if python is None:
        pytest.skip("no Python with PyTorch 2.1 or later is here")
    for node in ("n1", "n2"):
        far.script(node, f"export SLURMD_NODENAME={node}")
    words = ("fleet", "bench", "--hosts", "n[1-2]", "--accept", str(tmp_path / "kept"), "--parts", "nodes")
    line = [sys.executable, "-m", "rigright", *words, "--python", python, "--json", "--lang", "en"]
    told = [subprocess.run(line, capture_output=True, text=True, timeout=200, check=False) for _ in range(2)]
    first, again = (json.loads(one.stdout) for one in told)
    (met,) = first["meetings"]
    assert (met["stage"], sorted(met["nodes"]), met["wrong"]) == ("pairs", ["n1", "n2"], 0), met
    assert met["value"] > 1e6
    assert again["meetings"] == first["meetings"]
    assert len([one for one in far.lines("asked") if one in {"n1", "n2"}]) == 4, "probe and pair, each once"
