"""Collectives over all cards of several nodes that were asked at the same time: NCCL on cards, else Gloo.

Every node starts a process for each of its cards. The first node opens a store that the others find by its
address; each tells it how many cards it has, and so every process knows its place. The rate is that of the
wires, as in the part `collectives`: with two nodes and large messages it is what the network between them
carries. Only the first node tells it; the others say that they took part.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

from rigright.base.words import say
from rigright.machine.bench.accelerator import accelerators
from rigright.machine.bench.ask import BenchRequest, Meeting
from rigright.machine.bench.parts.collectives import ranks
from rigright.machine.bench.parts.network import port_to
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.start import brief
from rigright.machine.bench.torched import pytorch

TITLE = say("collectives across nodes")
GROUP = "network"
NEEDS = ("torch", "folder", "meeting")
SHARE = 1.0

WAITED, LEAST_WAIT_S = 0.5, 10.0  # of its time, for the others to come
ON_CPU = 1  # processes of a node without cards
_GLOO = "GLOO_SOCKET_IFNAME"


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Meet the others, then measure together."""
    meeting = ask.meeting
    if meeting is None or meeting.me not in meeting.members:
        yield Skipped(part="", why=say("this node is not part of the test"))
        return
    cards = accelerators(ask)
    mine = len(cards) or ON_CPU
    place = meeting.members.index(meeting.me)
    try:
        store = _store(meeting, leads=place == 0, spare_s=ask.spare_s)
        store.set(f"cards {place}", str(mine))
        counts = [int(store.get(f"cards {index}")) for index in range(len(meeting.members))]
    except (OSError, RuntimeError, ValueError) as error:
        why = brief(error)
        yield Skipped(part="", why=say("the nodes could not connect: {why}", why=why))
        return
    # Gloo takes the address that the node's own name stands for, which on many is a loop
    ways = dict(port_to(meeting.address, meeting.port))
    if "port" in ways and not os.environ.get(_GLOO):
        os.environ[_GLOO] = ways["port"]
    job = {"count": sum(counts), "kind": cards[0].kind if cards else "cpu", "over": len(counts)}
    job["meet"] = {"address": meeting.address, "port": meeting.port, "spare_s": ask.spare_s}
    yield from ranks(ask, job, first=sum(counts[:place]), here=mine)
    with suppress(OSError, RuntimeError, ValueError):  # the store must not end before everybody has
        store.set(f"done {place}", "yes")
        if place == 0:
            store.wait([f"done {index}" for index in range(len(counts))], timedelta(seconds=10))


def _store(meeting: Meeting, *, leads: bool, spare_s: float) -> Any:
    """Where the nodes find each other."""
    dist = pytorch("distributed")
    waits = timedelta(seconds=max(LEAST_WAIT_S, spare_s * WAITED))
    return dist.TCPStore(
        meeting.address, meeting.port, is_master=leads, timeout=waits, wait_for_workers=False
    )
