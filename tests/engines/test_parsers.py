"""Every exported file goes through the engine's own parser: `make test-engines`, after `scripts/engines`."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from launch_plans import drawn
from rigright.base.errors import RigError
from rigright.facts.nodes import BOX_CARDS
from rigright.verbs.export import launch_files

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rigright-engines"
HERE = Path(__file__).parent
HOMES = {"transformers": "deepspeed", "ray": "vllm"}  # whose venv has it too
VENVS = tomllib.loads((HERE / "venvs.toml").read_text(encoding="utf-8"))
COUNT = 300
DRAWN = {"kubernetes": "vllm", "kserve": "sglang", "ray": "vllm", "guidellm": "vllm"}
CLIENTS = {"guidellm": "guidellm.sh"}  # beside a server's files
ROUTERS = {"vllm-router": "vllm", "sglang-router": "sglang"}
ADDED = {
    "torchtitan": ["--training.steps", "9"],
    "megatron": ["--train-iters", "9"],
}  # by whoever calls the script

pytestmark = pytest.mark.skipif(
    not os.environ.get("RIGRIGHT_ENGINES"), reason="`make test-engines` runs these"
)


SCRIPTS = ("serve.sh", "serve-0.sh", "train.sh")  # of several servers the first


def started(files, added=(), *, rank=0, names=SCRIPTS):
    """The command of a script and what it exports, as a real shell makes them."""
    script = next((text for name, text in files.items() if name in names), None)
    if script is None:
        return {"argv": [], "env": {}}
    told = ["/bin/sh", "-c", script.replace("\nexec ", "\nenv -0\nprintf '%s\\0' '' "), "sh", *added]
    given = {"HEAD": "127.0.0.1", "NODE_RANK": str(rank), "DATA": "data/a b", "TRAIN_ITERS": "9"}
    env = {"PATH": os.environ["PATH"], **given}
    done = subprocess.run(told, capture_output=True, text=True, check=True, env=env)
    words = done.stdout.split("\0")[:-1]
    end = words.index("")
    pairs = (word.split("=", 1) for word in words[:end])
    return {"argv": words[end + 1 :], "env": {name: value for name, value in pairs if name not in env}}


def cases_of(target):
    found = []
    for place, data in enumerate(drawn(DRAWN.get(target, target), COUNT)):
        try:
            files = launch_files(DRAWN[target] if target in CLIENTS else target, data)
        except RigError:
            if target == "kserve":
                continue  # it starts one node
            raise
        script = files.get("serve.sh") or files.get("serve-0.sh", "")
        rank = place % 2 if "NODE_RANK" in script else 0
        names = (CLIENTS[target],) if target in CLIENTS else SCRIPTS
        found.append({**started(files, ADDED.get(target, ()), rank=rank, names=names), "files": files})
    return found


def apart_cases(target):
    """The workers of plans that part prompts from tokens, or what stands before them."""
    for place, data in enumerate(drawn(ROUTERS.get(target, target), COUNT)):
        plan = data["plans"][0]
        plan["prefill"] = dict(plan["layout"], dp=1 + place % 3)
        plan["n_chips"] += plan["n_chips"] // plan["layout"]["dp"] * plan["prefill"]["dp"]
        if plan["n_nodes"] > 1 or plan["n_chips"] > BOX_CARDS:
            continue
        files = launch_files(ROUTERS.get(target, target), data)
        names = ["router.sh"] if target in ROUTERS else [name for name in files if name.startswith("serve-")]
        yield from ({**started(files, names=(name,)), "files": files} for name in names)


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
        "kserve",
        "ray",
        "torchtitan",
        "megatron",
        "guidellm",
        *ROUTERS,
    ],
)
def test_the_own_parser_accepts_every_file(target):
    home = HOMES.get(target, target)
    python = CACHE / f"{home}-{VENVS[home]['version']}" / "bin" / "python"
    if not python.exists() and VENVS.get(target, {}).get("python"):
        pytest.skip(f"{target} needs Python {VENVS[target]['python']}, and this machine has none")
    assert python.exists(), f"scripts/engines {target}"
    cases = [] if target in ROUTERS else cases_of(target)
    cases += apart_cases(target) if target in {*ROUTERS, *ROUTERS.values()} else []
    assert len(cases) > 100
    done = subprocess.run(
        ["nice", python, "-W", "ignore", HERE / "ask.py", target],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=False,
        timeout=1100,
    )
    lines = [line.removeprefix("CASE ") for line in done.stdout.splitlines() if line.startswith("CASE ")]
    assert len(lines) == len(cases), done.stderr[-3000:]
    wrong = [(line, case) for line, case in zip(lines, cases, strict=True) if line != "ok"]
    assert not wrong, f"{len(wrong)} of {len(cases)}: {[line for line, _ in wrong][:3]}"
