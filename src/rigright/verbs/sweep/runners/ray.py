"""On a Ray cluster that is there already: each question a task, this very program shipped to every node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from rigright.base.words import say
from rigright.verbs.ray_cluster import joined

Asked = TypeVar("Asked")
Given = TypeVar("Given")

PACKAGE = Path(__file__).parents[3]  # this very program
WAITING_A_CORE = 2  # tasks handed over at once, for each core


def run(
    work: Callable[[Asked], Given], asked: Sequence[Asked], *, address: str
) -> Iterator[tuple[str, Given]]:
    """Answers as they come, each with the node that gave it; what a lost node had is asked again."""
    absent = say("--ray needs the extra `ray`: python -m pip install 'rigright[ray]'")
    ray = joined(address, absent=absent, sends={"py_modules": [str(PACKAGE)]})
    try:
        task = ray.remote(num_cpus=1, max_retries=3)(_named(work))
        most = max(int(ray.cluster_resources().get("CPU", 1)), 1) * WAITING_A_CORE
        waiting: list[Any] = []
        for one in asked:
            if len(waiting) >= most:
                done, waiting = ray.wait(waiting)
                yield from ray.get(done)
            waiting.append(task.remote(one))
        while waiting:
            done, waiting = ray.wait(waiting)
            yield from ray.get(done)
    finally:
        ray.shutdown()


def _named(work: Callable[[Asked], Given]) -> Callable[[Asked], tuple[str, Given]]:
    def ask(one: Asked) -> tuple[str, Given]:
        ray = import_module("ray")
        return f"node {ray.get_runtime_context().get_node_id()[:8]}", work(one)

    return ask
