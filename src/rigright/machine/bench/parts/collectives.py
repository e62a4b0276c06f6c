"""Collectives: over all cards of a node, over several nodes that were asked at the same time, and nccl-tests.

With torch.distributed: NCCL on cards, Gloo where there are none. Each rank is a process of its own. The rate
is that of the wires ("busbw" of nccl-tests), not of the message. Sums of ones are looked at value by value:
what is damaged on the way shows. Two processes of the processor say whether the software works and how fast
memory passes between processes.

Of several nodes the first opens a store that the others find by its address; each tells it how many cards it
has, and so every process knows its place. With two nodes and large messages the rate is what the network
between them carries. Only the first node tells it; the others say that they took part.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from rigright.base.errors import DataError, MissingError
from rigright.base.units import GIB, MIB
from rigright.base.words import say
from rigright.machine.bench import logs
from rigright.machine.bench.accelerator import CPU, Accelerator, accelerators, pytorch
from rigright.machine.bench.child import HOME, ONLY_INSTALLED, SAFE
from rigright.machine.bench.parts.network import port_to
from rigright.machine.bench.record import BenchRequest, Meeting, Result, Skipped
from rigright.machine.bench.tasks import Deadline, Task, brief, measure, program_results, rate, too_late
from rigright.machine.stored import plain, restored

_GLOO = ("all_reduce", "all_gather")
ALL = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
_SUM = "all_reduce"
_ACROSS = (_SUM,)  # between nodes: what training waits for most
SIZES = (64 * MIB, GIB, MIB)
_QUICK_SIZES = (64 * MIB,)
_CPU_SIZES = (16 * MIB,)
_SIZES_ACROSS = (GIB,)
_ROUND_S, _SLOWEST_ROUNDS, _WARM_ROUNDS, _REPEATS = 0.1, 2, 3, 5
_START = (
    f"{ONLY_INSTALLED}sys.path.append(sys.argv.pop(1)); "
    "from rigright.machine.bench.parts.collectives import rank; rank(sys.argv[1])"
)
_WAITED, _LEAST_WAIT_S = 0.5, 10.0  # of its time, for the other nodes to come
_ON_CPU = 1  # processes of one of several nodes, without cards
_GLOO_PORT = "GLOO_SOCKET_IFNAME"
PROGRAMS = ("all_reduce_perf", "all_gather_perf", "reduce_scatter_perf", "alltoall_perf")  # of nccl-tests
_FROM_TO, _QUICK_FROM_TO = ("64M", "8G"), ("64M", "1G")


def nccl_tests(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Every program of nccl-tests that is on the path: collectives as most people quote them."""
    tasks = [
        Task(what=name, on="gpu all", run=partial(_nccl_test, name=name, ask=ask))
        for name in PROGRAMS
        if shutil.which(name)
    ]
    yield from measure(tasks, Deadline.of(ask.spare_s))


def _nccl_test(spare_s: float, *, name: str, ask: BenchRequest) -> list[Result]:
    first, last = _QUICK_FROM_TO if ask.quick else _FROM_TO
    command = [name, "-b", first, "-e", last, "-f", "4", "-g", str(max(1, len(ask.names)))]
    read = partial(logs.nccl_tests, collective=logs.collective_in(name))
    return program_results(command, read, patience_s=spare_s)


def collectives(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Start a process for each rank; the first of them tells."""
    cards = accelerators(ask)
    if len(cards) == 1:
        raise MissingError(say("only one GPU: nothing to communicate with"))
    if not cards and ask.quick:
        raise MissingError(say("skipped in a quick run without GPUs"))
    if not cards and ask.cpus < 2:
        raise MissingError(say("only one thread: nothing to communicate with"))
    count = len(cards) or 2
    job = {"count": count, "kind": cards[0].kind if cards else "cpu", "over": 1}
    job["meet"] = str(Path(ask.folder or ".") / "ranks")
    yield from ranks(ask, job, first=0, here=count)


def nodes(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Meet the other nodes, then measure together."""
    meeting = ask.meeting
    if meeting is None or meeting.me not in meeting.members:
        raise MissingError(say("this node is not part of the test"))
    cards = accelerators(ask)
    mine = len(cards) or _ON_CPU
    place = meeting.members.index(meeting.me)
    try:
        store = _store(meeting, leads=place == 0, spare_s=ask.spare_s)
        store.set(f"cards {place}", str(mine))
        counts = [int(store.get(f"cards {index}")) for index in range(len(meeting.members))]
    except (OSError, RuntimeError, ValueError) as error:
        raise DataError(say("the nodes could not connect: {why}", why=brief(error))) from None
    # Gloo takes the address that the node's own name stands for, which on many is a loop
    ways = dict(port_to(meeting.address, meeting.port))
    if "port" in ways and not os.environ.get(_GLOO_PORT):
        os.environ[_GLOO_PORT] = ways["port"]
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
    waits = timedelta(seconds=max(_LEAST_WAIT_S, spare_s * _WAITED))
    return dist.TCPStore(
        meeting.address, meeting.port, is_master=leads, timeout=waits, wait_for_workers=False
    )


def ranks(ask: BenchRequest, job: dict[str, Any], *, first: int, here: int) -> Iterator[Result | Skipped]:
    """So many processes of this node, the first of them with this number among all."""
    job = {**job, "ask": plain(ask)}
    processes = [_started({**job, "rank": first + index, "card": index}) for index in range(here)]
    try:
        for line in processes[0].stdout or ():
            answer = json.loads(line)
            if "why" in answer:
                yield restored(Skipped, answer, where="rank 0")
            else:
                yield restored(Result, answer, where="rank 0")
        codes = [process.wait() for process in processes]
        if any(codes):
            yield Skipped(part="", why=say("a rank failed before the end"))
    finally:
        for process in processes:
            process.kill()


def _started(job: dict[str, Any]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _START, HOME, json.dumps(job)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if job["card"] == 0 else sys.stderr,
        env={**os.environ, **SAFE},
        text=True,
    )


def rank(text: str) -> None:
    """One rank, in its own process."""
    torch, dist = pytorch(), pytorch("distributed")
    job = json.loads(text)
    ask, kind = restored(BenchRequest, job["ask"], where="ask"), job["kind"]
    card = CPU if kind == "cpu" else Accelerator(kind=kind, index=job["card"], on="gpu all")
    if kind == "cuda":
        torch.cuda.set_device(card.index)
    backend = {"cuda": "nccl", "xpu": "xccl"}.get(kind, "gloo")
    torch.set_num_threads(1)
    meet, place = job["meet"], {"rank": job["rank"], "world_size": job["count"]}
    if isinstance(meet, str):
        dist.init_process_group(backend, init_method=f"file://{meet}", **place)
    else:
        waits = timedelta(seconds=max(10.0, meet["spare_s"]))
        store = dist.TCPStore(meet["address"], meet["port"], is_master=False, timeout=waits)
        dist.init_process_group(backend, store=dist.PrefixStore("ranks", store), timeout=waits, **place)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for result in _exchanged(card, ask, ranks=job["count"], backend=backend, over=job["over"]):
        if job["rank"] == 0:
            out.write(json.dumps(plain(result)) + "\n")
            out.flush()
    dist.destroy_process_group()


def _exchanged(
    card: Accelerator, ask: BenchRequest, *, ranks: int, backend: str, over: int
) -> Iterator[Result | Skipped]:
    """Every collective at every size; all ranks go the same way, so the time is checked together."""
    torch, dist = pytorch(), pytorch("distributed")
    until = Deadline.of(ask.spare_s * 0.8)
    whole = _QUICK_SIZES if ask.quick else SIZES
    sizes = _CPU_SIZES if card.kind == "cpu" else _SIZES_ACROSS if over > 1 else whole
    names = _ACROSS if over > 1 else ALL if backend != "gloo" else _GLOO
    spanned = (("nodes", str(over)),) if over > 1 else ()
    for size, name in product(sizes, names):
        left = torch.tensor([0.0 if until.is_over() else 1.0], device=card.device)
        dist.all_reduce(left, op=dist.ReduceOp.MIN)
        if not bool(left.item() > 0):
            yield too_late(name)
            return
        wrong = (("wrong", str(_wrong(card, size=size, ranks=ranks))),) if name == _SUM else ()
        yield rate(
            f"{name} {size // MIB} MiB",
            on=card.on,
            work=size * bus_factor(name, ranks),
            times_s=_times(card, collective(name, card, size=size, ranks=ranks)),
            unit="bytes_per_s",
            settings=(("ranks", str(ranks)), ("backend", backend), ("counted", "busbw"), *spanned, *wrong),
        )


def _wrong(card: Accelerator, *, size: int, ranks: int) -> int:
    """How many values of a sum of ones came out other than they must, on all ranks together."""
    torch, dist = pytorch(), pytorch("distributed")
    ones = torch.ones(size // 4, device=card.device)
    dist.all_reduce(ones)
    wrong = (ones != ranks).sum()
    dist.all_reduce(wrong)
    return int(wrong.item())


def _times(card: Accelerator, once: Callable[[], Any]) -> list[float]:
    """The same number of runs on every rank, however fast each of them is."""
    torch, dist = pytorch(), pytorch("distributed")
    single = card.batch_s(once, _WARM_ROUNDS) / _WARM_ROUNDS
    slowest = torch.tensor([single], device=card.device)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    count = max(_SLOWEST_ROUNDS, round(_ROUND_S / float(slowest.item())))
    return [card.batch_s(once, count) / count for _ in range(_REPEATS)]


def collective(name: str, card: Accelerator, *, size: int, ranks: int) -> Callable[[], Any]:
    """One collective on a message of so many bytes in all."""
    torch, dist = pytorch(), pytorch("distributed")
    count = size // 4 // ranks * ranks
    whole = torch.rand(count, device=card.device)
    share = torch.rand(count // ranks, device=card.device)
    if name == "all_reduce":
        return lambda: dist.all_reduce(whole)
    if name == "all_gather":
        return lambda: dist.all_gather_into_tensor(whole, share)
    if name == "reduce_scatter":
        return lambda: dist.reduce_scatter_tensor(share, whole)
    return lambda: dist.all_to_all_single(torch.empty_like(whole), whole)


def bus_factor(name: str, ranks: int) -> float:
    """Rate of the wires over bytes of the whole message a second: the factors of NVIDIA's nccl-tests.

    What each card must send and receive, over what is handed in: so the figure of eight cards can be held
    against that of two, and both against the link. Source: nccl-tests, doc/PERFORMANCE.md.
    """
    return (ranks - 1) / ranks * (2 if name == _SUM else 1)
