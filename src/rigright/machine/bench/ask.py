"""What a part of the benchmark is asked: how long, on what, and where it may write.

A part is one file of `parts/`. It bears

    TITLE            what it measures, as a sentence
    GROUP            "cards", "processor", "disk", "network": where it stands in the order
    NEEDS            words of `needs.py`: what must be here, else the part is skipped and says why
    SHARE            its part of the time, against those of the others
    run(ask)         a generator of results, each as soon as it is measured

and `run` is only ever called in a child process: a card that hangs or dies costs this part, not the tool.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # not in Python 3.10
    from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """Nodes that measure something together, and where they meet."""

    members: tuple[str, ...]
    address: str = ""  # of the first of them
    port: int = 0
    me: str | None = None  # None: as the node calls itself


@dataclass(frozen=True, slots=True, kw_only=True)
class SentLoad:
    """Requests to a server: so many in flight at all times, or so many that arrive in a second."""

    prompt_tok: int
    output_tok: int
    concurrency: int | None = None
    rate_per_s: float | None = None
    requests: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest:
    """One part's question. Everything in it travels to the child as plain data."""

    part: str
    spare_s: float = 60.0  # what the part may take
    quick: bool = False
    names: tuple[str, ...] = ()  # of the accelerators, in the order the child sees them: "gpu 2"
    cpus: int = 1  # threads this process may use
    folder: str | None = None  # an own folder, removed at the end, for parts that write
    shown_folder: str | None = None  # the folder the user knows, that the own one lies in
    peer: str | None = None  # "host:port" of another rigright that listens
    endpoint: str | None = None  # address of an OpenAI-compatible server
    model: str | None = None  # as that server calls it
    load: SentLoad | None = None  # what it is asked; none: a row of loads of our own
    is_timed: bool = False  # somebody said how long it should take: a load then lasts that long
    meeting: Meeting | None = None  # with other nodes


@dataclass(frozen=True, slots=True, order=True)
class Deadline:
    """A moment by which something should be done."""

    at_s: float

    @classmethod
    def of(cls, spare_s: float) -> Self:
        """So many seconds from now."""
        return cls(time.monotonic() + spare_s)

    def left_s(self) -> float:
        """Seconds until then, never below zero."""
        return max(0.0, self.at_s - time.monotonic())

    def is_over(self) -> bool:
        """Whether it has passed."""
        return self.left_s() <= 0.0
