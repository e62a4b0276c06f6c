"""On a Ray cluster that is there already: one small task a node, tied to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from rigright.base.patience import patience
from rigright.base.words import say
from rigright.machine.far.envelope import heard
from rigright.machine.far.parcel import STARTER, parcel
from rigright.machine.far.task import landed
from rigright.verbs.fleet.came import Came, Errand, Way
from rigright.verbs.fleet.troubles import LATE
from rigright.verbs.ray_cluster import ANY, KEEP_DEVICES, joined

NAME = "Ray"
REACH_S = 30.0  # beside the node's own time: a worker has to start there
A_BIT = 0.001  # of a core: it runs beside the work of others
DEAD = say("Ray reports the node as dead")


class _Cluster:
    """A cluster that was joined: its nodes by the names they are shown with."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray
        nodes = ray.nodes()
        hosts = Counter(node["NodeManagerHostname"] for node in nodes)
        self.found: dict[str, dict[str, Any]] = {}
        for node in nodes:
            host = node["NodeManagerHostname"]
            shown = host if hosts[host] == 1 else f"{host}:{node['NodeID'][:8]}"  # several may share a host
            self.found[shown] = node

    @property
    def alive(self) -> tuple[str, ...]:
        """Nodes that can be asked."""
        return tuple(name for name, node in self.found.items() if node["Alive"])

    def asked(self, way: Way, jobs: Sequence[Errand]) -> Iterator[tuple[Errand, Came]]:
        """A task on every node of every job."""
        tied = import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        task = self.ray.remote(num_cpus=A_BIT, max_retries=0)(landed(STARTER))
        waiting: dict[Any, tuple[Errand, str]] = {}
        for job in jobs:
            gone = [name for name in job.nodes if name not in self.alive]
            yield from ((job, Came(node=name, trouble=DEAD)) for name in gone)
            here = [name for name in job.nodes if name not in gone]
            placed = job.at(self.found[here[0]]["NodeManagerAddress"]) if here else job
            said = {ask: self.ray.put(parcel(ask, lifeline=False)) for ask in map(placed.of, here)}
            for name in here:
                one = task.options(scheduling_strategy=tied(self.found[name]["NodeID"], soft=False))
                limit_s = job.ask.patience_s
                waiting[one.remote(said[placed.of(name)], way.python, patience_s=limit_s)] = (job, name)
        left, until_s = (
            list(waiting),
            max((job.ask.patience_s for job in jobs), default=0.0) + patience(REACH_S),
        )
        while left:
            done, left = self.ray.wait(left, timeout=until_s)
            for one in done:
                job, name = waiting[one]
                yield job, _came(self.ray, one, node=name)
            if not done:
                for one in left:
                    job, name = waiting[one]
                    yield job, Came(node=name, trouble=LATE)
                return


@contextmanager
def _cluster(way: Way) -> Iterator[_Cluster]:
    absent = say("fleet --ray needs the extra `ray`: python -m pip install 'rigright[ray]'")
    ray = joined(way.where or ANY, absent=absent, sends={"env_vars": KEEP_DEVICES})
    try:
        yield _Cluster(ray)
    finally:
        ray.shutdown()


def run(way: Way) -> Iterator[Came]:
    """Every live node of the cluster; each answers as it comes."""
    with _cluster(way) as cluster:
        alive = cluster.alive
        yield from (Came(node=name, trouble=None if name in alive else DEAD) for name in cluster.found)
        yield from (came for _, came in cluster.asked(way, (Errand(nodes=alive, ask=way.ask),)))


def nodes(way: Way) -> tuple[str, ...]:
    """The live ones."""
    with _cluster(way) as cluster:
        return cluster.alive


def ask(way: Way, jobs: Sequence[Errand]) -> Iterator[tuple[Errand, Came]]:
    """The nodes of every job, all at the same time."""
    with _cluster(way) as cluster:
        yield from cluster.asked(way, jobs)


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
        node=node, trouble=say("exited without an answer (exit code {code}): {why}", code=code, why=why)
    )
