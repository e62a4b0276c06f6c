"""On a Ray cluster that is there already: each question a task, this very program shipped to every node."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from rigright.base.errors import AskError, MissingError
from rigright.base.extras import absent
from rigright.base.tables import DATA
from rigright.base.words import say
from rigright.verbs.sweep.sheet import Answered, SweepQuestion

_ANY = "auto"  # the cluster that Ray itself finds
_REACH_S = 5.0  # a cluster that answers no call within this is not there
_WAITING_A_CORE = 2  # tasks handed over at once, for each core


def run(
    work: Callable[[SweepQuestion], Answered], questions: Sequence[SweepQuestion], *, address: str
) -> Iterator[tuple[str, Answered]]:
    """Answers as they come, each with the node that gave it; what a lost node had is asked again."""
    ray = _joined(address)

    def ask(question: SweepQuestion) -> tuple[str, Answered]:
        node = import_module("ray").get_runtime_context().get_node_id()
        return f"node {node[:8]}", work(question)

    try:
        task = ray.remote(num_cpus=1, max_retries=3)(ask)
        most = max(int(ray.cluster_resources().get("CPU", 1)), 1) * _WAITING_A_CORE
        waiting: list[Any] = []
        for question in questions:
            if len(waiting) >= most:
                done, waiting = ray.wait(waiting)
                yield from ray.get(done)
            waiting.append(task.remote(question))
        while waiting:
            done, waiting = ray.wait(waiting)
            yield from ray.get(done)
    finally:
        ray.shutdown()


def _joined(address: str) -> Any:
    """The ray module, joined to the cluster."""
    try:
        ray = import_module("ray")
    except ImportError:
        raise absent("ray", say("--ray needs the package ray, which is not installed")) from None
    _reach(address)
    sends = {"py_modules": [str(DATA.parent)]}  # this very program
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", runtime_env=sends)
    except (ConnectionError, RuntimeError, ValueError) as error:
        why = str(error).strip().partition("\n")[0]
        raise MissingError(
            say("cannot join the Ray cluster at {address}: {why}", address=address, why=why)
        ) from None
    return ray


def _reach(address: str) -> None:
    """Ray waits minutes for a cluster that is not there; a plain call tells at once."""
    if address == _ANY:
        return
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        raise AskError(say('"{address}" is not the address of a Ray cluster; use host:port', address=address))
    try:
        socket.create_connection((host, int(port)), timeout=_REACH_S).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise MissingError(say("no answer from {address}: {why}", address=address, why=why)) from None
