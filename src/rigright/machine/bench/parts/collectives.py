"""Collectives over all cards with torch.distributed: NCCL on cards, Gloo where there are none.

Each rank is a process of its own. The rate is that of the wires ("busbw" of nccl-tests), not of the message.
Sums of ones are looked at value by value: what is damaged on the way shows.
Two processes of the processor say whether the software works and how fast memory passes between processes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from rigright.base.errors import AskError
from rigright.base.units import GIB, MIB
from rigright.base.words import say
from rigright.machine.bench.accelerator import CPU, Accelerator, accelerators
from rigright.machine.bench.ask import BenchRequest, Deadline
from rigright.machine.bench.child import HOME, ONLY_INSTALLED, SAFE
from rigright.machine.bench.figures import rate
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.torched import pytorch
from rigright.machine.stored import plain, restored

TITLE = say("collectives over all GPUs")
GROUP = "cards"
NEEDS = ("torch", "folder")
SHARE = 2.0

GLOO = ("all_reduce", "all_gather")
ALL = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
SUM = "all_reduce"
ONCE = {"broadcast", "reduce"}
SHARED = {"all_gather", "reduce_scatter", "all_to_all"}
ACROSS = (SUM,)  # between nodes: what training waits for most
SIZES = (64 * MIB, GIB, MIB)
QUICK_SIZES = (64 * MIB,)
CPU_SIZES = (16 * MIB,)
SIZES_ACROSS = (GIB,)
ROUND_S, SLOWEST_ROUNDS, WARM_ROUNDS, REPEATS = 0.1, 2, 3, 5
START = (
    f"{ONLY_INSTALLED}sys.path.append(sys.argv.pop(1)); "
    "from rigright.machine.bench.parts.collectives import rank; rank(sys.argv[1])"
)


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Start a process for each rank; the first of them tells."""
    cards = accelerators(ask)
    if len(cards) == 1:
        yield Skipped(part="", why=say("only one GPU: nothing to communicate with"))
        return
    if not cards and ask.quick:
        yield Skipped(part="", why=say("skipped in a quick run without GPUs"))
        return
    if not cards and ask.cpus < 2:
        yield Skipped(part="", why=say("only one thread: nothing to communicate with"))
        return
    count = len(cards) or 2
    job = {"count": count, "kind": cards[0].kind if cards else "cpu", "over": 1}
    job["meet"] = str(Path(ask.folder or ".") / "ranks")
    yield from ranks(ask, job, first=0, here=count)


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
        [sys.executable, "-c", START, HOME, json.dumps(job)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if job["card"] == 0 else sys.stderr,
        env={**os.environ, **SAFE},
        text=True,
    )


def rank(text: str) -> None:
    """One rank, in its own process."""
    torch = pytorch()
    dist = pytorch("distributed")

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
    until = Deadline.of(ask.spare_s * 0.8)
    whole = QUICK_SIZES if ask.quick else SIZES
    sizes = CPU_SIZES if card.kind == "cpu" else SIZES_ACROSS if over > 1 else whole
    names = ACROSS if over > 1 else ALL if backend != "gloo" else GLOO
    spanned = (("nodes", str(over)),) if over > 1 else ()
    for size in sizes:
        for name in names:
            go_on = not until.is_over()
            torch = pytorch()
            dist = pytorch("distributed")

            vote = torch.tensor([1.0 if go_on else 0.0], device=card.device)
            dist.all_reduce(vote, op=dist.ReduceOp.MIN)
            if not bool(vote.item() > 0):
                yield Skipped(part="", why=say("time ran out before {what}", what=name))
                return
            wrong = (("wrong", str(_wrong(card, size=size, ranks=ranks))),) if name == SUM else ()
            times = _times(card, collective(name, card, size=size, ranks=ranks))
            yield rate(
                f"{name} {size // MIB} MiB",
                on="gpu all" if card.kind != "cpu" else "cpu",
                work=size * bus_factor(name, ranks),
                times_s=times,
                unit="bytes_per_s",
                settings=(
                    ("ranks", str(ranks)),
                    ("backend", backend),
                    ("counted", "busbw"),
                    *spanned,
                    *wrong,
                ),
            )


def _wrong(card: Accelerator, *, size: int, ranks: int) -> int:
    """How many values of a sum of ones came out other than they must, on all ranks together."""
    torch = pytorch()
    dist = pytorch("distributed")

    ones = torch.ones(size // 4, device=card.device)
    dist.all_reduce(ones)
    wrong = (ones != ranks).sum()
    dist.all_reduce(wrong)
    return int(wrong.item())


def _times(card: Accelerator, once: Callable[[], Any]) -> list[float]:
    """The same number of runs on every rank, however fast each of them is."""
    torch = pytorch()
    dist = pytorch("distributed")

    single = card.batch_s(once, WARM_ROUNDS) / WARM_ROUNDS
    slowest = torch.tensor([single], device=card.device)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    count = max(SLOWEST_ROUNDS, round(ROUND_S / float(slowest.item())))
    return [card.batch_s(once, count) / count for _ in range(REPEATS)]


def collective(name: str, card: Accelerator, *, size: int, ranks: int) -> Callable[[], Any]:
    """One collective on a message of so many bytes in all."""
    torch = pytorch()
    dist = pytorch("distributed")

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


def bus_factor(collective: str, ranks: int) -> float:
    """Rate of the wires over bytes of the whole message a second: the factors of NVIDIA's nccl-tests.

    What each card must send and receive, over what is handed in: so the figure of eight cards can be held
    against that of two, and both against the link. Source: nccl-tests, doc/PERFORMANCE.md.
    """
    if collective == "all_reduce":
        return 2 * (ranks - 1) / ranks
    if collective in SHARED:
        return (ranks - 1) / ranks
    if collective in ONCE:
        return 1.0
    raise AskError(say("unknown collective {name}", name=collective))
