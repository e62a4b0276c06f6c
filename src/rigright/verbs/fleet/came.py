"""What a way to the nodes is asked, and what comes back of each node."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from rigright.base.words import Sentence
from rigright.machine.far.parcel import RemoteRequest

PATIENCE_S = 60.0  # for one node, unless the user says otherwise
PARALLEL = 32  # nodes asked at once
PORTS = (20_000, 32_000)  # where nodes may meet: below those that a system gives away


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Where the nodes are and how they are asked."""

    ask: RemoteRequest
    where: str = ""  # hosts, options of srun, the address of a Ray cluster, a selector of pods, a folder
    parallel: int = PARALLEL
    python: str | None = None  # on the nodes; None: the first that is new enough
    as_root: bool = False  # by sudo that asks for no password
    options: tuple[str, ...] = ()  # for ssh or kubectl, from the user


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """One node's words, or why there are none; with neither, a node that is going to be asked."""

    node: str
    told: dict[str, Any] | None = None
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
