"""From Kubernetes: what the pods of our Job or DaemonSet wrote to their logs, by kubectl."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from rigright.base.bounded import bounded_json
from rigright.base.errors import MissingError
from rigright.base.patience import patience
from rigright.base.words import Sentence, say
from rigright.machine.remote.talk import Talked, talk
from rigright.verbs.fleet.jobs import Ear, FleetWish, Runner, program
from rigright.verbs.fleet.nodes import NodeReport
from rigright.verbs.fleet.troubles import trouble

_SELECTOR = "app.kubernetes.io/name=rigright-probe"
_CONTAINER = "probe"
_TAIL = 20_000  # lines of one pod's log, the last ones


class _Pod(NamedTuple):
    """One pod of ours, and the node it is on."""

    created: str
    name: str
    namespace: str
    node: str
    pending: str  # why it waits, where it does


class _Kubernetes(Runner):
    """The last answer of every pod; one node's newest pod speaks for it."""

    name, flag = "Kubernetes", "kubernetes"
    runs_jobs = False  # pods only tell what they told before
    reach_s = 30.0

    def __init__(self, wish: FleetWish) -> None:
        super().__init__(wish)
        self._kubectl = (program("kubectl", missing=say("kubectl not found")), *wish.options)
        self._pods: dict[str, _Pod] = {}  # of each node the newest

    def expected(self) -> Iterator[NodeReport]:
        """The nodes that have a pod of ours; one that waits has no log yet."""
        selector = self.wish.where or _SELECTOR
        self._pods = {pod.node: pod for pod in sorted(self._listed(selector))}
        if not self._pods:
            raise MissingError(
                say(
                    "no pod matches {selector}; `rigright fleet files --kubernetes` prints the manifest "
                    "that starts them",
                    selector=selector,
                )
            )
        for node, pod in self._pods.items():
            why = say("pod pending: {why}", why=pod.pending) if pod.pending else None
            yield NodeReport(node=node, trouble=why)

    def _listed(self, selector: str) -> list[_Pod]:
        """Pods by their labels."""
        argv = (*self._kubectl, "get", "pods", "--selector", selector, "--output", "json")
        talked = talk(argv, patience_s=patience(self.reach_s))
        if talked.ended == "done" and not talked.code:
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                return [_pod(item) for item in bounded_json(talked.output)["items"]]
        raise MissingError(say("kubectl cannot list the pods: {why}", why=trouble(talked)))

    def argv(self, nodes: Sequence[str], line: str) -> tuple[str, ...]:
        """The end of the log of its pod."""
        del line
        pod = self._pods[nodes[0]]
        where = ("--namespace", pod.namespace, pod.name, "--container", _CONTAINER)
        return (*self._kubectl, "logs", *where, f"--tail={_TAIL}")

    def silence(self, talked: Talked, ear: Ear, *, node: str) -> Sentence:
        """A log that was read holds no answer yet."""
        if talked.ended == "done" and not talked.code:
            return say("no answer yet in the log of pod {pod}", pod=self._pods[node].name)
        return trouble(talked, ear.words)


def _pod(data: dict[str, Any]) -> _Pod:
    about, status = data["metadata"], data.get("status") or {}
    states = [value.get("state") or {} for value in status.get("containerStatuses") or ()]
    reasons = [state["waiting"].get("reason") for state in states if state.get("waiting")]
    reasons += [
        value.get("message") for value in status.get("conditions") or () if value.get("status") == "False"
    ]
    phase = str(status.get("phase"))
    return _Pod(
        created=str(about.get("creationTimestamp") or ""),
        name=str(about["name"]),
        namespace=str(about.get("namespace") or "default"),
        node=str((data.get("spec") or {}).get("nodeName") or about["name"]),
        pending=str(next(filter(None, reasons), phase))[:200] if phase == "Pending" else "",
    )


RUNNER = _Kubernetes
