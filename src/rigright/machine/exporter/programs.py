"""Whose the processes on the cards are: program, user, job or container; a few, and never by pid."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nlargest
from typing import NamedTuple

from rigright.machine.device import Program
from rigright.machine.tick import DeviceTick
from rigright.machine.world import World

MOST = 20  # programs told one by one
_OTHER = "other"
_MOST_NAME = 60
_JOBS = (  # what the path of a control group gives away
    ("slurm", re.compile(r"/job_(\d{1,18})(?:/|$)")),
    ("pod", re.compile(r"pod([0-9a-f]{8}[-_][0-9a-f_-]{27})")),
    (
        "container",
        re.compile(r"(?:docker|cri-containerd|crio|libpod|containerd)[-/:]([0-9a-f]{12})[0-9a-f]*"),
    ),
    ("container", re.compile(r"/([0-9a-f]{12})[0-9a-f]{52}(?:\.scope)?(?:/|$)")),
    ("unit", re.compile(r"/([\w@.\\-]+\.service)(?:/|$)")),
)


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """Who holds memory of a card."""

    program: str
    user: str = ""
    job: str = ""  # "slurm:1234", "pod:...", "container:...", "unit:...", or nothing


class Share(NamedTuple):
    """What an owner's programs hold of a card."""

    mem_bytes: float = 0.0
    processes: int = 0

    def plus(self, other: Share) -> Share:
        """Both together."""
        return Share(self.mem_bytes + other.mem_bytes, self.processes + other.processes)


Shares = dict[tuple[int, Owner], Share]  # by the place of a card, and who holds memory of it


class Owners:
    """Remembers whose each process is while it runs."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[tuple[int, str | None], Owner] = {}

    def shares(self, devices: Iterable[DeviceTick]) -> Shares:
        """Who holds what of each card; those who hold least together."""
        shares: Shares = defaultdict(Share)
        known: dict[tuple[int, str | None], Owner] = {}
        for place, device in enumerate(devices):
            for program in device.programs or ():
                key = (program.pid, program.name)
                owner = known[key] = self._known.get(key) or self._owner(program)
                shares[place, owner] = shares[place, owner].plus(Share(program.mem_bytes or 0.0, 1))
        self._known = known
        return _bounded(shares)

    def _owner(self, program: Program) -> Owner:
        # A program without its folder and arguments
        words = (program.name or "").split(" ")[0].rstrip("/")
        return Owner(
            re.split(r"[/\\]", words)[-1][:_MOST_NAME] or "unknown",
            program.user or "",
            job_of(self._world, program.pid),
        )


def job_of(world: World, pid: int) -> str:
    """The job, pod, container or service that a process runs in; nothing where it runs in none."""
    text = world.text(f"/proc/{pid}/cgroup") or ""
    for kind, pattern in _JOBS:
        match = pattern.search(text)
        if match and match[1] not in {"user.service", "init.service"}:
            return f"{kind}:{match[1].replace('_', '-') if kind == 'pod' else match[1]}"
    return ""


def _bounded(shares: Shares) -> Shares:
    """The owners that hold most, and all the others as one."""
    sizes: dict[Owner, float] = defaultdict(float)
    for (_, owner), share in shares.items():
        sizes[owner] += share.mem_bytes
    kept = set(nlargest(MOST, sizes, key=sizes.__getitem__))
    result: Shares = defaultdict(Share)
    for (place, owner), share in shares.items():
        key = place, owner if owner in kept else Owner(_OTHER)
        result[key] = result[key].plus(share)
    return result
