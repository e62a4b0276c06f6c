"""On a Ray cluster that is there already: one small task a node, tied to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from rigright.base.words import say
from rigright.machine.far.envelope import heard
from rigright.machine.far.parcel import STARTER, parcel
from rigright.machine.far.task import landed
from rigright.verbs.fleet.came import Came, Way
from rigright.verbs.fleet.troubles import LATE
from rigright.verbs.ray_cluster import ANY, KEEP_DEVICES, joined

NAME = "Ray"
REACH_S = 30.0  # beside the node's own time: a worker has to start there
A_BIT = 0.001  # of a core: it runs beside the work of others


def run(way: Way) -> Iterator[Came]:
    """Every live node of the cluster; each answers as it comes."""
    absent = say("a fleet on Ray needs the extra `ray`: python -m pip install 'rigright[ray]'")
    ray = joined(way.where or ANY, absent=absent, sends={"env_vars": KEEP_DEVICES})
    try:
        tied = import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        task = ray.remote(num_cpus=A_BIT, max_retries=0)(landed(STARTER))
        said = ray.put(parcel(way.ask, lifeline=False))
        waiting: dict[Any, str] = {}
        nodes = ray.nodes()
        hosts = Counter(node["NodeManagerHostname"] for node in nodes)
        for node in nodes:
            host, name = node["NodeManagerHostname"], node["NodeID"]
            shown = host if hosts[host] == 1 else f"{host}:{name[:8]}"  # several may share a host
            if node["Alive"]:
                here = task.options(scheduling_strategy=tied(name, soft=False))
                waiting[here.remote(said, way.python, patience_s=way.ask.patience_s)] = shown
                yield Came(node=shown)
            else:
                yield Came(node=shown, trouble=say("Ray says that it is dead"))
        yield from _gathered(ray, waiting, patience_s=way.ask.patience_s + REACH_S)
    finally:
        ray.shutdown()


def _gathered(ray: Any, waiting: dict[Any, str], *, patience_s: float) -> Iterator[Came]:
    left = list(waiting)
    while left:
        done, left = ray.wait(left, timeout=patience_s)
        for one in done:
            yield _came(ray, one, node=waiting[one])
        if not done:
            yield from (Came(node=waiting[one], trouble=LATE) for one in left)
            return


def _came(ray: Any, one: Any, *, node: str) -> Came:
    try:
        code, out, complaint = ray.get(one)
    except Exception as error:  # noqa: BLE001 - a node that died, a worker that was killed, ...
        return Came(
            node=node,
            trouble=say("{text}", text=(str(error).strip().partition("\n")[0] or type(error).__name__)[:200]),
        )
    told = heard(out)
    if told:
        return Came(node=node, told=told[-1])
    why = complaint.strip().rpartition("\n")[2][:200]
    return Came(
        node=node, trouble=say("it ended without an answer (exit code {code}): {why}", code=code, why=why)
    )
