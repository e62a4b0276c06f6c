"""Asks many nodes: a job is some nodes and what they are asked, and one loop brings their answers.

A way to the nodes is a file of runners/. It says who is there and which program runs a line of shell on them.
Starting, deadlines, Ctrl-C, nodes without a Python and the reasons of silence are the same for all, and here.
"""

from __future__ import annotations

import base64
import random
import secrets
import shlex
import shutil
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import Empty, Queue
from threading import Event
from typing import Any, ClassVar

from rigright.base import shelf
from rigright.base.errors import MissingError, RigError
from rigright.base.patience import patience
from rigright.base.units import MIB
from rigright.base.words import Sentence, say
from rigright.machine.bench.record import Skipped
from rigright.machine.opened.collected import host_of, is_collected, read_collected
from rigright.machine.possible import possible
from rigright.machine.remote.envelope import LineJoiner
from rigright.machine.remote.parcel import (
    MARK,
    Bench,
    RemoteRequest,
    parcel,
    script,
    start_line,
    start_shell,
)
from rigright.machine.remote.talk import Talked, talk
from rigright.verbs.fleet.hosts import MOST_NODES, listed
from rigright.verbs.fleet.nodes import NodeReport, report_of
from rigright.verbs.fleet.troubles import LATE, is_without_python, landing_complaint, trouble

PATIENCE_S = 60.0  # for one node, unless the user says otherwise
PARALLEL = 32  # nodes asked at once
_RUNNERS = "rigright.verbs.fleet.runners"
_MOST_NAME = 253  # characters of a host's name
_PORTS = (20_000, 32_000)  # where nodes may meet: below those that a system gives away
_TURN_S = 0.2  # waiting in short steps lets Ctrl-C through on every system
_SHELL_S = 120.0  # for a node that is read by its shell: every command there has its own time
_PACKED = "gzip -c | base64"  # short lines of few letters, for those who label lines and cut long ones
_MOST_BYTES = 64 * MIB  # of what one node's shell says
_OLD = say("no Python 3.10 or newer there, cannot measure; see --python")


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetWish:
    """Which nodes, how they are reached, and what they are asked."""

    over: str = "ssh"  # a file of runners/
    where: str = ""  # hosts, options of srun, a selector of pods, a folder
    options: tuple[str, ...] = ()  # for ssh or kubectl, from the user
    parallel: int = PARALLEL
    python: str | None = None  # on the nodes; None: the first that is new enough
    as_root: bool = False  # by sudo that asks for no password
    only: tuple[str, ...] = ()  # checks of doctor
    plan: str | None = None  # that doctor holds the nodes against
    baseline: str | None = None  # a file of what nodes of this type should be like
    bench: Bench | None = None  # None: the quick run of all parts
    patience_s: float | None = None
    save: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeJob:
    """Nodes by name, and what they are asked at the same time."""

    nodes: tuple[str, ...]
    request: RemoteRequest


class Runner(ABC):
    """One way to the nodes; its file bears the class as RUNNER."""

    name: ClassVar[str]  # as it is shown
    flag: ClassVar[str]  # the option that chooses it
    runs_jobs: ClassVar[bool] = True  # False: only what nodes wrote before is read
    is_shared: ClassVar[bool] = False  # one program for all nodes of a job, which name themselves
    reach_s: ClassVar[float] = 0.0  # beside the nodes' own time: to reach them, to send, to come to an end

    def __init__(self, wish: FleetWish) -> None:
        self.wish = wish

    @abstractmethod
    def expected(self) -> Iterator[NodeReport]:
        """The nodes that are known: those to be asked, those left out and why, those whose words lie here."""

    @abstractmethod
    def argv(self, nodes: Sequence[str], line: str) -> tuple[str, ...]:
        """The program that runs a line of shell on these nodes."""

    def address(self, node: str) -> str:
        """What other nodes reach a node by."""
        return node

    def silence(self, talked: Talked, ear: Ear, *, node: str) -> Sentence:
        """Why nothing came of a node; of none: of all that a program reached."""
        del node
        return trouble(talked, ear.words)


def program(name: str, *, missing: Sentence) -> str:
    """Where the program that reaches nodes is."""
    path = shutil.which(name)
    if path is None:
        raise MissingError(missing)
    return path


def runner_of(wish: FleetWish) -> Runner:
    """The way that was chosen."""
    runner: Runner = shelf.take(_RUNNERS, wish.over, bears="RUNNER")(wish)
    return runner


def answers(runner: Runner, request: RemoteRequest) -> Iterator[NodeReport]:
    """Every node of a way: first who is expected, then each as it comes."""
    awaited = []
    for report in runner.expected():
        if report.is_waited_for:
            awaited.append(report.node)
        yield report
    jobs = [NodeJob(nodes=tuple(awaited), request=request)]
    yield from (report for _, report in run(runner, jobs))


def run(runner: Runner, jobs: Sequence[NodeJob]) -> Iterator[tuple[NodeJob, NodeReport]]:
    """What comes of jobs, as it comes; whoever stops listening stops them."""
    shares = [(job, share) for job in jobs for share in _shares(runner, job)]
    queue: Queue[tuple[NodeJob, NodeReport] | None] = Queue()
    stop = Event()

    def work(job: NodeJob, share: NodeJob) -> None:
        try:
            _ask(runner, share, emit=lambda report: queue.put((job, report)), stop=stop)
        finally:
            queue.put(None)

    # those that meet wait for each other, so all of them are started
    few = len(shares) if any(job.request.meeting for job in jobs) else runner.wish.parallel
    pool = ThreadPoolExecutor(max(1, min(few, len(shares))))
    try:
        ends = [pool.submit(work, *pair) for pair in shares]
        left = len(ends)
        while left:
            try:
                pair = queue.get(timeout=_TURN_S)
            except Empty:
                continue
            if pair is None:
                left -= 1
            else:
                yield pair
        for end in ends:
            end.result()  # raises what the work raised
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _shares(runner: Runner, job: NodeJob) -> Iterator[NodeJob]:
    """What a program each is started for; nodes that meet are told where, and each its own name."""
    request, meeting = job.request, job.request.meeting
    if meeting is not None:
        port = random.randrange(*_PORTS)  # noqa: S311 - so that two meetings on a node do not collide
        meeting = replace(meeting, address=runner.address(job.nodes[0]), port=port)
        request = replace(request, meeting=meeting)
    if runner.is_shared:
        yield NodeJob(nodes=job.nodes, request=request)
        return
    for node in job.nodes:
        mine = request if meeting is None else replace(request, meeting=replace(meeting, me=node))
        yield NodeJob(nodes=(node,), request=mine)


class Ear:
    """What the nodes behind one program say: answers, and a landing's words on why it cannot go on."""

    def __init__(self, job: NodeJob, *, is_shared: bool, emit: Callable[[NodeReport], None]) -> None:
        self.expected, self.answered = set(job.nodes), set[str]()
        self.words: list[bytes] = []
        self._is_shared, self._emit = is_shared, emit
        self._lines, self._last = LineJoiner(), dict[str, Any]()

    def hear(self, line: bytes) -> None:
        """One line more, with the label that srun puts before it or without."""
        fields = self._lines.hear(line)
        if fields is None:
            word = landing_complaint(line)
            self.words += () if word is None else (word,)
        elif self._is_shared:
            self._answer(fields)
        else:
            self._last = fields

    def _answer(self, fields: dict[str, Any]) -> None:
        """One of many, as it comes; whom it names beside itself is expected too."""
        name, others = str(fields.get("node"))[:_MOST_NAME], listed(fields.get("nodes"))
        for node in sorted(others - self.expected - {name}):
            self._emit(NodeReport(node=node))
        self.expected.update(others, {name})
        self.answered.add(name)
        self._emit(report_of(name, fields))

    def end(self) -> list[str]:
        """Of a program for one node its last answer counts; the nodes that gave none."""
        if self._last:
            self.answered |= self.expected
            self._emit(report_of(min(self.expected), self._last))
        return sorted(self.expected - self.answered)


def _ask(runner: Runner, job: NodeJob, *, emit: Callable[[NodeReport], None], stop: Event) -> None:
    """One program to its end: answers as they come, then each silent node by its shell, or why not."""
    wish, ear = runner.wish, Ear(job, is_shared=runner.is_shared, emit=emit)
    talked = talk(
        runner.argv(job.nodes, start_line(python=wish.python, as_root=wish.as_root)),
        data=parcel(job.request, lifeline=not runner.is_shared) if runner.runs_jobs else b"",
        heard=ear.hear,
        patience_s=patience(runner.reach_s) + (job.request.patience_s if runner.runs_jobs else 0.0),
        stop=stop,
    )
    silent = ear.end()
    rest = {node: NodeReport(node=node, trouble=runner.silence(talked, ear, node=node)) for node in silent}
    if is_without_python(ear.words) and (silent or not ear.expected):
        rest |= _by_shell(runner, replace(job, nodes=tuple(silent)), stop=stop)
    for report in rest.values():
        emit(report)
    if not ear.expected and not rest:  # whom it reaches is known to the program alone
        raise MissingError(runner.silence(talked, ear, node=""))


def _by_shell(runner: Runner, job: NodeJob, *, stop: Event) -> dict[str, NodeReport]:
    """Nodes without a Python that is new enough, read by a shell script; nothing can be measured there."""
    raws: dict[bytes, bytearray] = {}  # the label of srun -> what came behind it

    def hear(line: bytes) -> None:
        label, text = b"", line
        if runner.is_shared:
            label, _, text = map(bytes.strip, line.partition(b": "))
            if not label.isdigit():
                return
        if label in raws or len(raws) < MOST_NODES:
            raw = raws.setdefault(label, bytearray())
            raw += text if len(raw) < _MOST_BYTES else b""

    line = start_shell(as_root=runner.wish.as_root)
    talked = talk(
        runner.argv(job.nodes, f"sh -c {shlex.quote(f'{line} | {_PACKED}')}" if runner.is_shared else line),
        data=script(f"{MARK}-{secrets.token_hex(8)}").encode(),  # a mark that nobody there knows
        heard=hear,
        patience_s=patience(runner.reach_s) + max(patience(_SHELL_S), job.request.patience_s),
        stop=stop,
    )
    late = job.nodes if talked.ended == "late" else ()
    reports = {node: NodeReport(node=node, trouble=LATE) for node in late}
    for heard in raws.values():
        raw = _unpacked(bytes(heard)) if runner.is_shared else bytes(heard)
        node = host_of(raw) if runner.is_shared else job.nodes[0]
        if node is not None and is_collected(raw):
            reports[node] = _read_by_shell(node, raw, bench=job.request.bench)
    return reports


def _unpacked(text: bytes) -> bytes:
    try:
        packed = base64.b64decode(text, validate=False)
        return zlib.decompressobj(wbits=31).decompress(packed, _MOST_BYTES)
    except (ValueError, zlib.error):
        return b""


def _read_by_shell(node: str, raw: bytes, *, bench: Bench | None) -> NodeReport:
    try:
        machine = possible(read_collected(raw, name=node))
    except RigError as error:
        return NodeReport(node=node, trouble=error.sentence)
    parts = () if bench is None else bench.parts or ("bench",)
    return NodeReport(
        node=node, machine=machine, skipped=tuple(Skipped(part=part, why=_OLD) for part in parts)
    )
