"""What runs on a far node: reads the machine, benches it where asked, and tells it in an envelope."""

from __future__ import annotations

import json
import platform
import sys
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from rigright.base.errors import RigError
from rigright.base.words import say
from rigright.machine.probe import probe
from rigright.machine.record import Machine
from rigright.machine.remote.envelope import lines
from rigright.machine.stored import plain, restored
from rigright.machine.world import World, here


def _gather(ask: dict[str, Any], world: World) -> dict[str, Any]:
    """Everything that is asked of this node, as plain data."""
    began = time.monotonic()
    machine = probe(world)
    fields: dict[str, Any] = {
        "node": node_name(world),
        "nodes": world.env.get("SLURM_STEP_NODELIST") or world.env.get("SLURM_JOB_NODELIST"),
        "machine": plain(machine),
    }
    if ask["bench"] is not None:
        fields |= _benched(ask["bench"], machine, world=world, meeting=ask["meeting"])
    fields["seconds"] = time.monotonic() - began
    return fields


def _benched(
    asked: dict[str, Any], machine: Machine, *, world: World, meeting: dict[str, Any] | None = None
) -> dict[str, Any]:
    """What was measured here, and what was not and why; a signal to end keeps what is there."""
    from rigright.machine.bench.record import BenchWish, Meeting, Result
    from rigright.machine.bench.session import measured
    from rigright.machine.bench.table import pick

    wish = restored(BenchWish, asked["wish"], where="ask")
    if meeting is not None:
        met = restored(Meeting, meeting, where="ask")
        wish = replace(wish, meeting=replace(met, me=met.me or node_name(world)))
    groups: dict[str, list[Any]] = {"results": [], "skipped": []}
    with suppress(KeyboardInterrupt):
        for result in measured(
            pick(asked["parts"], wish), wish, machine=machine, env=world.env, progress=lambda *_: None
        ):
            groups["results" if isinstance(result, Result) else "skipped"].append(plain(result))
    return groups


def node_name(world: World) -> str:
    """What the one who asked calls this node."""
    names = (world.env.get("SLURMD_NODENAME"), world.env.get("NODE_NAME"), platform.node())
    return next((name for name in names if name), "?")


def main() -> int:
    """Answer on standard output; what goes wrong is stated in the same envelope."""
    world = here()
    try:
        fields = _gather(json.loads(sys.argv[1]), world)
    except Exception as error:  # noqa: BLE001 - whatever it is, whoever asked must hear of it
        why = error.sentence if isinstance(error, RigError) else f"{type(error).__name__}: {error}"
        fields = {"node": node_name(world), "problem": plain(say("cannot be read: {why}", why=why))}
    sys.stdout.writelines(lines(fields))
    return 0


if __name__ == "__main__":
    sys.exit(main())
