"""What runs on a far node: reads the machine, benches it where asked, and tells it in an envelope."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from rigright.base.errors import RigError
from rigright.base.words import say
from rigright.machine.far.envelope import lines
from rigright.machine.probe import probe
from rigright.machine.stored import plain
from rigright.machine.world import World, here

MOST_COMPLAINT = 2000  # bytes of what a command said went wrong


def gather(ask: dict[str, Any], world: World) -> dict[str, Any]:
    """Everything that is asked of this node, as plain data."""
    began = time.monotonic()
    told = {
        "node": node_name(world),
        "nodes": world.env.get("SLURM_STEP_NODELIST") or world.env.get("SLURM_JOB_NODELIST"),
        "machine": plain(probe(world)),
    }
    if ask["line"] is not None:
        told["answer"] = answered(ask["line"])
    told["seconds"] = time.monotonic() - began
    return told


def answered(line: Sequence[str]) -> dict[str, Any]:
    """What this program says to a command line here: its JSON, or its complaint."""
    done = subprocess.run(
        [sys.executable, "-m", "rigright", *line], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    try:
        told = json.loads(done.stdout)
    except ValueError:
        told = None
    complaint = done.stderr[-MOST_COMPLAINT:].decode("utf-8", "replace").strip()
    return {"code": done.returncode, "told": told, "complaint": complaint}


def node_name(world: World) -> str:
    """What the one who asked calls this node."""
    names = (world.env.get("SLURMD_NODENAME"), world.env.get("NODE_NAME"), platform.node())
    return next((name for name in names if name), "?")


def main() -> int:
    """Answer on standard output; what goes wrong is told in the same envelope."""
    world = here()
    try:
        told = gather(json.loads(sys.argv[1]), world)
    except Exception as error:  # noqa: BLE001 - whatever it is, whoever asked must hear of it
        why = error.sentence if isinstance(error, RigError) else f"{type(error).__name__}: {error}"
        told = {"node": node_name(world), "problem": plain(say("reading it failed: {why}", why=why))}
    sys.stdout.writelines(lines(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
