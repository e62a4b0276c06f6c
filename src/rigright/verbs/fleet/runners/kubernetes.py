"""From Kubernetes: what the pods of our Job or DaemonSet wrote to their logs, by kubectl."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import MissingError
from rigright.base.patience import patience
from rigright.base.words import say
from rigright.machine.remote.talk import talk
from rigright.verbs.fleet.outcome import Emit, Errand, Hearing, NodeOutcome, Remote, gathered
from rigright.verbs.fleet.troubles import LATE, meant

NAME = "Kubernetes"
ask = None  # pods of ours only tell what they told before
SELECTOR = "app.kubernetes.io/name=rigright-probe"
CONTAINER = "probe"
REACH_S = 30.0
TAIL = 20_000  # lines of one pod's log, the last ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One pod of ours, and the node it is on."""

    name: str
    namespace: str
    node: str
    phase: str
    why: str = ""  # it waits, where it does


def run(way: Remote) -> Iterator[NodeOutcome]:
    """The last answer of every pod; one node's newest pod speaks for it."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        raise MissingError(say("kubectl not found"))
    line = (kubectl, *way.options)
    selector = way.where or SELECTOR
    pods = _pods(line, selector)
    if not pods:
        raise MissingError(
            say(
                "no pod matches {selector}; `rigright fleet files --kubernetes` prints the manifest "
                "that starts them",
                selector=selector,
            )
        )
    yield from (NodeOutcome(node=pod.node) for pod in pods)
    tasks = [(Errand(nodes=(pod.node,), ask=way.ask), partial(_log, line, pod)) for pod in pods]
    yield from (outcome for _, outcome in gathered(tasks, at_once=way.parallel))


def _log(line: tuple[str, ...], pod: Pod, *, emit: Emit, stop: Event) -> None:
    """The last answer in one pod's log."""
    heard = Hearing()
    argv = (*line, "logs", "--namespace", pod.namespace, pod.name, "--container", CONTAINER, f"--tail={TAIL}")
    talked = talk(argv, heard=heard.hear, patience_s=patience(REACH_S), stop=stop)
    if heard.answers:
        emit(NodeOutcome(node=pod.node, reply=heard.answers[-1]))
        return
    if pod.phase == "Pending":
        why = say("pod pending: {why}", why=pod.why or pod.phase)
    elif talked.ended == "late":
        why = LATE
    else:
        complaint = meant(talked.complaints) if talked.code else None
        why = complaint or say("no answer yet in the log of pod {pod}", pod=pod.name)
    emit(NodeOutcome(node=pod.node, trouble=why))


def _pods(line: tuple[str, ...], selector: str) -> list[Pod]:
    """Pods by their labels, the newest of each node."""
    lines: list[bytes] = []
    argv = (*line, "get", "pods", "--selector", selector, "--output", "json")
    talked = talk(argv, heard=lines.append, patience_s=patience(REACH_S))
    try:
        items = bounded_json(b"".join(lines))["items"] if talked.ended == "done" and not talked.code else None
        pairs = [_pod(item) for item in items or ()]
    except (ValueError, KeyError, TypeError, AttributeError):
        items = None
    if items is None:
        why = LATE if talked.ended == "late" else meant(talked.complaints) or talked.ended
        raise MissingError(say("kubectl cannot list the pods: {why}", why=why))
    return list({pod.node: pod for _, pod in sorted(pairs, key=lambda pair: pair[0])}.values())


def _pod(data: dict[str, Any]) -> tuple[str, Pod]:
    about, status = data["metadata"], data.get("status") or {}
    states = [value.get("state") or {} for value in status.get("containerStatuses") or ()]
    reasons = [state["waiting"].get("reason") for state in states if state.get("waiting")]
    reasons += [
        value.get("message") for value in status.get("conditions") or () if value.get("status") == "False"
    ]
    pod = Pod(
        name=str(about["name"]),
        namespace=str(about.get("namespace") or "default"),
        node=str((data.get("spec") or {}).get("nodeName") or about["name"]),
        phase=str(status.get("phase")),
        why=next((str(reason)[:200] for reason in reasons if reason), ""),
    )
    return str(about.get("creationTimestamp") or ""), pod
