"""What a way to the nodes is asked, what comes back of each node, and how many are asked at once."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import Empty, Queue
from threading import Event
from typing import Any, Protocol

from rigright.base.words import Sentence
from rigright.machine.remote.envelope import LineJoiner
from rigright.machine.remote.parcel import RemoteRequest
from rigright.verbs.fleet.troubles import landing_complaint

PATIENCE_S = 60.0  # for one node, unless the user says otherwise
PARALLEL = 32  # nodes asked at once
PORTS = (20_000, 32_000)  # where nodes may meet: below those that a system gives away
TURN_S = 0.2  # waiting in short steps lets Ctrl-C through on every system


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """Where the nodes are and how they are asked."""

    ask: RemoteRequest
    where: str = ""  # hosts, options of srun, a selector of pods, a folder
    parallel: int = PARALLEL
    python: str | None = None  # on the nodes; None: the first that is new enough
    as_root: bool = False  # by sudo that asks for no password
    options: tuple[str, ...] = ()  # for ssh or kubectl, from the user


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOutcome:
    """One node's words, or why there are none; with neither, a node that is going to be asked."""

    node: str
    reply: dict[str, Any] | None = None
    trouble: Sentence | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """Nodes by name, and what they are asked at the same time; a way that can do this bears `ask`."""

    nodes: tuple[str, ...]
    ask: RemoteRequest

    def at(self, address: str) -> Errand:
        """The same, with the place where they meet: another port each time."""
        if self.ask.meeting is None:
            return self
        port = random.randrange(*PORTS)  # noqa: S311 - so that two meetings on a node do not collide
        return replace(
            self, ask=replace(self.ask, meeting=replace(self.ask.meeting, address=address, port=port))
        )

    def of(self, node: str) -> RemoteRequest:
        """What one of them is asked: among those that meet it is told its own name."""
        if self.ask.meeting is None:
            return self.ask
        return replace(self.ask, meeting=replace(self.ask.meeting, me=node))


Emit = Callable[[NodeOutcome], None]


class NodeTask(Protocol):
    """Asks nodes; ends early once `stop` is set."""

    def __call__(self, *, emit: Emit, stop: Event) -> None:
        """Emit each node as it comes."""


def gathered(
    tasks: Sequence[tuple[Errand, NodeTask]], *, at_once: int
) -> Iterator[tuple[Errand, NodeOutcome]]:
    """What tasks emit, as it comes; whoever stops listening stops them."""
    queue: Queue[tuple[Errand, NodeOutcome] | None] = Queue()
    stop = Event()

    def work(errand: Errand, task: NodeTask) -> None:
        try:
            task(emit=lambda outcome: queue.put((errand, outcome)), stop=stop)
        finally:
            queue.put(None)

    pool = ThreadPoolExecutor(max(1, min(at_once, len(tasks))))
    try:
        done = [pool.submit(work, errand, task) for errand, task in tasks]
        left = len(tasks)
        while left:
            try:
                pair = queue.get(timeout=TURN_S)
            except Empty:
                continue
            if pair is None:
                left -= 1
            else:
                yield pair
        for each in done:
            each.result()  # raises what the task raised
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


class Hearing:
    """One program's output as it comes: nodes' answers, and a landing's words on why it cannot go on."""

    def __init__(self, take: Callable[[dict[str, Any]], None] | None = None) -> None:
        self.answers: list[dict[str, Any]] = []
        self.words: list[bytes] = []
        self._take, self._ear = take or self.answers.append, LineJoiner()

    def hear(self, line: bytes) -> None:
        """One line more, with the label that srun puts before it or without."""
        fields = self._ear.hear(line)
        word = landing_complaint(line) if fields is None else None
        if fields is not None:
            self._take(fields)
        elif word is not None:
            self.words.append(word)
