"""`make bench`: whole processes against their targets and peers; then arrays and requests in one process.

`python benchmarks/run.py [PART ...]`: processes, layouts, trainings, search, simulator, runs, machine, watch,
agents, page, sweep. Without any: all but those that take minutes: `runs` refits from measured runs, in
`machine` drivers hang, and `watch` plays a day. What starts often, or answers many questions, is also told in
starts of Python and numpy, measured in the same run: machines differ, and the ratio does so less.
"""

from __future__ import annotations

import sys
from importlib import import_module

import peers
from processes import RIG, ROOT, best, in_units

ROUNDS = 5
WORK = ("--prompt", "2048", "--output", "512")
LIMITS = (*WORK, "--ttft", "1s", "--tpot", "50ms", "--json")
PLANNED = ("plan", "llama-3.1-8b", "--on", "4090")
ASKED = {  # name -> command, target in words, or its CPU in starts of numpy
    "python -c pass": ([sys.executable, "-P", "-c", "pass"], ""),
    "import numpy": ([sys.executable, "-P", "-c", "import numpy"], ""),
    "./rig --version": ([str(ROOT / "rig"), "--version"], ""),
    "help": ([*RIG, "--help"], 0.6),
    "look up a chip": ([*RIG, "look-up", "chips", "4090"], ""),
    "explain": ([*RIG, "explain", "llama-3.1-8b", "--on", "rtx 4090"], 2.5),
    "plan for 8 users": ([*RIG, "plan", "llama-3.1-8b", "--users", "8", "--on", "h100"], 2.5),
    "./rig plan": ([str(ROOT / "rig"), *PLANNED], ""),
    "./rig plan, no bytecode written": (
        ["env", "PYTHONDONTWRITEBYTECODE=1", str(ROOT / "rig"), *PLANNED],
        "as with",
    ),
    "fit": ([*RIG, "fit", "--on", "rtx 4090"], 6.3),
    "plan one machine": (
        [str(ROOT / "rig"), "plan", "llama-3.1-70b", "--on", "8x h100", *LIMITS],
        "0.6 s, 150 MB",
    ),
    "plan 64 chips": ([*RIG, "plan", "deepseek-v3", "--on", "64x h200", *LIMITS], ""),
    "plan over the catalogue": ([*RIG, "plan", "llama-3.1-70b", "--users", "32", *WORK, "--json"], "1.5 s"),
    "plan over the catalogue, any load": ([*RIG, "plan", "llama-3.1-70b", *WORK, "--json"], "1.5 s"),
    "plan a fine-tuning": ([*RIG, "plan", "llama-3.1-8b", "--mode", "finetune", "--json"], ""),
    "plan a pre-training": ([*RIG, "plan", "llama-3.1-70b", "--mode", "pretrain", "--json"], ""),
    "compare three": ([*RIG, "compare", "4090", "5090", "l40s", "--for", "qwen3-8b", "--users", "8"], ""),
}


def processes():
    """The table of starts, and the peers beside it."""
    print(f"{'whole process':<64} {'fastest':>10} {'CPU':>10} {'memory':>10}")
    found = {}
    for name, (command, target) in ASKED.items():
        found[name] = best(command, rounds=ROUNDS)
        if isinstance(target, str):
            print(f"{name:<64} {found[name]}" + (f"   target {target}" if target else ""))
        else:
            print(f"{name:<64} {found[name]}{in_units(found[name].cpu_s, most=target)}")
    peers.main(found)


PARTS = {  # imported when their turn comes: what this process holds counts as held by the ones it starts
    "processes": processes,
    "runs": lambda: import_module("runs").main(),
    "layouts": lambda: import_module("layouts").main(),
    "trainings": lambda: import_module("training_layouts").main(),
    "search": lambda: import_module("search").main(),
    "simulator": lambda: import_module("simulator").main(),
    "agents": lambda: import_module("agents").main(),
    "page": lambda: import_module("page").main(),
    "sweep": lambda: import_module("sweep").main(),
    "machine": lambda: import_module("machine").main(),
    "watch": lambda: import_module("watch").main(),
}
SLOW = {"runs", "machine", "watch"}  # minutes


def main(*asked):
    """The parts that were asked for."""
    for name in asked or [name for name in PARTS if name not in SLOW]:
        print(f"\n{name}")
        PARTS[name]()


if __name__ == "__main__":
    main(*sys.argv[1:])
