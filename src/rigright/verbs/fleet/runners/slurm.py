"""Over Slurm: one task on every node of an allocation, by srun, which speaks to all of them at once."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any, TypeVar

from rigright.base.errors import AskError, MissingError
from rigright.base.patience import patience
from rigright.base.words import Sentence, say
from rigright.machine.far.envelope import Ear
from rigright.machine.far.parcel import RemoteRequest, parcel, start_line
from rigright.machine.far.shell import start_shell
from rigright.machine.far.talk import Talked, talk
from rigright.machine.opened.collected import host_of
from rigright.verbs.fleet.by_shell import (
    PACKED,
    SHELL_S,
    ShellEar,
    came_of,
    collector,
    is_without_python,
)
from rigright.verbs.fleet.came import Came, Errand, Way
from rigright.verbs.fleet.hosts import MOST_NODES, expand
from rigright.verbs.fleet.troubles import BROKEN_OFF, LATE, meant, trouble

NAME = "Slurm"
QUEUE_S = 30.0  # beside the nodes' own time: to be given the nodes, to send, to come to an end
MANNER = (
    "--ntasks-per-node=1",
    "--label",  # lines come whole, and say which task they are of
    "--kill-on-bad-exit=0",
    "--wait=0",
    "--export=ALL",
    "--cpu-bind=none",
    "--job-name=rigright",
)
IDLE = frozenset({"idle"})
T = TypeVar("T")
_STATE = re.compile(r"[a-z]+")


class _SrunOutput:
    """What one srun brings, as it comes."""

    def __init__(self, nodes: Iterable[str]) -> None:
        self.nodes = set(nodes)  # of the allocation, as far as anybody said
        self.queue: Queue[Came | None] = Queue()
        self.words: list[bytes] = []
        self.talked: Talked | None = None
        self._ear = Ear()

    def take(self, line: bytes) -> None:
        told = self._ear.hear(line)
        if told is None:
            label, _, rest = line.partition(b": ")
            if label.strip().isdigit() and rest.startswith(b"rigright-"):
                self.words.append(rest)
            return
        self.nodes |= _listed(told.get("nodes"))
        self.queue.put(Came(node=str(told.get("node"))[:253], told=told))


def run(way: Way) -> Iterator[Came]:
    """Every node of the allocation; those that srun names and that say nothing come last."""
    chosen, wanted, others = _chosen(way)
    yield from others
    yield from (Came(node=node) for node in wanted)
    yield from _spoken(way, chosen, ask=way.ask, wanted=wanted, stop=Event())


def nodes(way: Way) -> tuple[str, ...]:
    """Those that are known before they are asked: of this job, or idle; of options only srun knows."""
    if way.where:
        return ()
    listed = os.environ.get("SLURM_JOB_NODELIST") if "SLURM_JOB_ID" in os.environ else None
    return expand(listed) if listed else tuple(_chosen(way)[1])


def ask(way: Way, jobs: Sequence[Errand]) -> Iterator[tuple[Errand, Came]]:
    """One srun for each job, all of them at the same time."""
    queue: Queue[tuple[Errand, Came] | None] = Queue()
    stop = Event()
    workers = [Thread(target=_work, args=(way, job), kwargs={"queue": queue, "stop": stop}) for job in jobs]
    for worker in workers:
        worker.start()
    left = len(workers)
    try:
        while left:
            one = _next(queue)
            if one is None:
                left -= 1
            else:
                yield one
    finally:
        stop.set()
        for worker in workers:
            worker.join()


def _work(way: Way, job: Errand, *, queue: Queue[tuple[Errand, Came] | None], stop: Event) -> None:
    """One job's srun, on just these nodes."""
    options = shlex.split(way.where) or (["--overlap"] if "SLURM_JOB_ID" in os.environ else [])
    chosen = (*options, "--nodes", str(len(job.nodes)), "--nodelist", ",".join(job.nodes))
    placed = job.at(job.nodes[0])
    try:
        for came in _spoken(way, chosen, ask=placed.ask, wanted=list(job.nodes), stop=stop):
            if came.told is not None or came.trouble is not None:
                queue.put((job, came))
    except MissingError as error:
        for node in job.nodes:
            queue.put((job, Came(node=node, trouble=error.sentence)))
    finally:
        queue.put(None)


def _spoken(
    way: Way, chosen: Sequence[str], *, ask: RemoteRequest, wanted: list[str], stop: Event
) -> Iterator[Came]:
    """What one srun brings, node by node; those that tell nothing come last, each with the reason."""
    srun = shutil.which("srun")
    if srun is None:
        raise MissingError(say("srun not found: run this on a login node"))
    command = shlex.split(start_line(python=way.python, as_root=way.as_root))
    argv = (srun, *chosen, *MANNER, *command)
    heard = _SrunOutput(wanted)
    worker = Thread(target=_talk, args=(heard, argv), kwargs={"ask": ask, "stop": stop})
    worker.start()
    came: set[str] = set()
    expected = set(wanted)
    try:
        while (one := _next(heard.queue)) is not None:
            yield from (Came(node=node) for node in sorted(heard.nodes - expected - {one.node}))
            expected |= heard.nodes
            came.add(one.node)
            yield one
    except BaseException:  # nobody listens any more; other jobs, and this one's second srun, go on otherwise
        stop.set()
        raise
    finally:
        worker.join()
    # nodes of the allocation that told nothing, and srun itself where none did
    talked = heard.talked or Talked(ended="absent")
    why = trouble(talked, heard.words)
    said_last = meant(talked.complaints)
    if why == LATE and said_last is not None and not came:
        why = say("timed out; srun says: {why}", why=said_last)
    if is_without_python(heard.words):
        for one in _by_shell(way, chosen, nodes=sorted(heard.nodes - came), ask=ask, why=why, stop=stop):
            came.add(one.node)
            yield one
    for node in sorted(heard.nodes - came):
        said = [line for line in talked.complaints if re.search(rf"\b{re.escape(node)}\b", line)]
        yield Came(node=node, trouble=(meant(said) if talked.ended == "done" else None) or why)
    if not came and not heard.nodes:
        raise MissingError(say("srun returned no answer from any node: {why}", why=why))


def _by_shell(
    way: Way, chosen: Sequence[str], *, nodes: list[str], ask: RemoteRequest, why: Sentence, stop: Event
) -> Iterator[Came]:
    """Nodes that have no Python for us, by one more srun."""
    ears: dict[bytes, ShellEar] = {}

    def heard(line: bytes) -> None:
        label, _, rest = line.partition(b": ")
        if label.strip().isdigit() and len(ears) < MOST_NODES:
            ears.setdefault(label.strip(), ShellEar()).hear(rest.strip())

    where = ("--nodes", str(len(nodes)), "--nodelist", ",".join(nodes))
    packed = f"{start_shell(as_root=way.as_root)} | {PACKED}"
    argv = (shutil.which("srun") or "srun", *chosen, *where, *MANNER, "sh", "-c", packed)
    talk(argv, said=collector(), heard=heard, patience_s=patience(SHELL_S + QUEUE_S), stop=stop)
    for ear in ears.values():
        raw = ear.unpacked()
        yield came_of(host_of(raw) or "?", raw, ask=ask, otherwise=why)


def _talk(heard: _SrunOutput, argv: tuple[str, ...], *, ask: RemoteRequest, stop: Event) -> None:
    try:
        said = parcel(ask, lifeline=False)  # srun ends what it started by itself
        until_s = ask.patience_s + patience(QUEUE_S)
        heard.talked = talk(argv, said=said, heard=heard.take, patience_s=until_s, stop=stop)
    finally:
        heard.queue.put(None)


def _next(queue: Queue[T]) -> T:
    """What comes next; waiting in short steps lets Ctrl-C through on every system."""
    while True:
        try:
            return queue.get(timeout=0.2)
        except Empty:
            continue


def _listed(text: Any) -> set[str]:
    try:
        return set(expand(text)) if isinstance(text, str) else set()
    except AskError:
        return set()


def _chosen(way: Way) -> tuple[tuple[str, ...], list[str], list[Came]]:
    """Options of srun (the user's, the allocation's, else all idle nodes), nodes expected, nodes left out."""
    try:
        told = tuple(shlex.split(way.where))
    except ValueError as error:
        raise AskError(say("cannot read the options of srun: {why}", why=error)) from None
    if told:
        return told, [], []
    count = os.environ.get("SLURM_JOB_NUM_NODES") or os.environ.get("SLURM_NNODES")
    if "SLURM_JOB_ID" in os.environ and count:
        return ("--nodes", count, "--overlap"), [], []
    # all nodes that nobody uses, whole; the others are told with the reason that Slurm gives
    # node -> its state, as sinfo says
    lines: list[bytes] = []
    sinfo = shutil.which("sinfo") or "sinfo"
    talked = talk((sinfo, "-h", "-N", "-o", "%N %T"), heard=lines.append, patience_s=patience(QUEUE_S))
    if talked.ended != "done" or talked.code:
        why = LATE if talked.ended == "late" else meant(talked.complaints) or BROKEN_OFF
        raise MissingError(say("sinfo failed: {why}", why=why))
    found: dict[str, str] = {}
    for line in lines:
        name, _, state = line.decode("utf-8", "replace").strip().partition(" ")
        word = _STATE.match(state.strip().lower())
        if name and word and not state.strip().endswith("*"):
            found.setdefault(name, word[0])
        elif name:
            found.setdefault(name, "not responding")
    states = found
    idle = [node for node, state in states.items() if state in IDLE]
    if not idle:
        shown = ", ".join(sorted(set(states.values()))) or "?"
        raise MissingError(
            say("no idle Slurm nodes (states: {states}); choose nodes with srun options", states=shown)
        )
    others = [
        Came(node=node, trouble=say("skipped: Slurm state {state}", state=state))
        for node, state in states.items()
        if state not in IDLE
    ]
    wanted = ("--nodes", str(len(idle)), "--nodelist", ",".join(idle))
    return (*wanted, "--exclusive", f"--immediate={int(QUEUE_S)}"), idle, others
