"""Every exported file goes through the engine's own parser: `make test-engines`, after `scripts/engines`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from launch_plans import drawn
from rigright.verbs.export import launch_files

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rigright-engines"
HERE = Path(__file__).parent
HOMES = {"transformers": "accelerate"}  # whose venv has it too
COUNT = 300
DRAWN = {"kubernetes": "vllm"}
ADDED = {"torchtitan": ["--training.steps", "9"]}  # by whoever calls the script

pytestmark = pytest.mark.skipif(
    not os.environ.get("RIGRIGHT_ENGINES"), reason="`make test-engines` runs these"
)


def argv_of(files, added=()):
    """The command of a script, as a real shell splits it."""
    script = next((text for name, text in files.items() if name in {"serve.sh", "train.sh"}), None)
    if script is None:
        return []
    told = ["/bin/sh", "-c", script.replace("\nexec ", "\nprintf '%s\\0' "), "sh", *added]
    env = {"PATH": os.environ["PATH"], "HEAD": "127.0.0.1", "NODE_RANK": "0"}
    done = subprocess.run(told, capture_output=True, text=True, check=True, env=env)
    return done.stdout.split("\0")[:-1]


def cases_of(target):
    found = []
    for data in drawn(DRAWN.get(target, target), COUNT):
        if target == "kubernetes" and data["plans"][0]["n_nodes"] > 1:
            continue  # it starts one node
        files = launch_files(target, data)
        found.append({"argv": argv_of(files, ADDED.get(target, ())), "files": files})
    return found


@pytest.mark.parametrize(
    "target",
    [
        "vllm",
        "sglang",
        "torchrun",
        "accelerate",
        "transformers",
        "deepspeed",
        "axolotl",
        "llama-factory",
        "kubernetes",
        "torchtitan",
    ],
)
def test_the_own_parser_accepts_every_file(target):
    python = next(CACHE.glob(f"{HOMES.get(target, target)}-*/bin/python"), None)
    assert python is not None, f"scripts/engines {target}"
    cases = cases_of(target)
    assert len(cases) > 100
    done = subprocess.run(
        ["nice", python, "-W", "ignore", HERE / "ask.py", target],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    lines = [line.removeprefix("CASE ") for line in done.stdout.splitlines() if line.startswith("CASE ")]
    assert len(lines) == len(cases), done.stderr[-3000:]
    wrong = [(line, case) for line, case in zip(lines, cases, strict=True) if line != "ok"]
    assert not wrong, f"{len(wrong)} of {len(cases)}: {[line for line, _ in wrong][:3]}"
