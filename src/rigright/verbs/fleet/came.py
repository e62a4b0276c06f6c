"""What a way to the nodes is asked, and what comes back of each node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rigright.base.words import Sentence
from rigright.machine.far.parcel import Ask

PATIENCE_S = 60.0  # for one node, unless the user says otherwise
PARALLEL = 32  # nodes asked at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Where the nodes are and how they are asked."""

    ask: Ask
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
