"""`-n auto`: tests are collected once, and workers are forks of that process.

Collecting imports a few hundred test modules and half the package: a worker that starts Python pays for it
again, a fork does not. Workers are dealt parts of modules, large ones first, small ones at the end, and send
their reports. A worker that dies fails the test it ran, and another takes its place. What is marked `dear` (a
minute of its own, or a fixture that takes half of one) is dealt first, its module as a whole.
"""

from __future__ import annotations

import atexit
import gc
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
import weakref
from collections import deque
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait

import pytest
from _pytest.capture import FDCaptureBase

from pulse import Meter

SHARES = 6  # of what is left, in how many parts each worker's share is dealt
HAND_FULL = 64  # tests at the most
MOST_DEAD = 50  # workers that are replaced
LONGEST_S = (
    4000.0 if os.environ.get("RIGRIGHT_ENGINES") else 1500.0 if os.environ.get("RIGRIGHT_LIVE") else 500.0
)


def pytest_addoption(parser):
    group = parser.getgroup("forked")
    group._addoption("-n", dest="workers", default="0", metavar="N", help="workers, or auto")


def count(config) -> int:
    """How many workers are wanted, and can be had."""
    asked = config.getoption("workers")
    if not hasattr(os, "fork") or config.getoption("usepdb", default=False) or config.option.collectonly:
        return 0
    return (os.cpu_count() or 1) + 1 if asked == "auto" else int(asked)


def pytest_configure(config):
    config.addinivalue_line("markers", "dear: a minute long, or on what takes half of one to set up")
    gc.disable()  # what collecting makes stays until the end: nobody needs to look through it for garbage


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish():
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    gc.freeze()  # what is there now is never looked through again, and its pages stay shared
    gc.set_threshold(20_000, 20, 50)
    gc.enable()
    workers = min(count(session.config), len(session.items))
    if workers < 2 or (session.testsfailed and not session.config.option.continue_on_collection_errors):
        return None
    session.config._tmp_path_factory.getbasetemp()
    Deal(session, workers).run()
    return True


@dataclass(slots=True)
class Worker:
    """One fork, as the process that deals sees it."""

    pid: int
    dealt: deque[int] = field(default_factory=deque)  # places of tests that it has not begun
    running: int | None = None
    since_s: float = 0.0


class Deal:
    """The process that collected: deals tests to workers and hands their reports on."""

    def __init__(self, session, workers: int) -> None:
        self.session, self.workers, self.started = session, workers, 0
        self.dear = {item.path for item in session.items if item.get_closest_marker("dear")}
        self.left = deque(sorted(range(len(session.items)), key=lambda at: not self.is_dear(at)))
        self.at: dict[Connection, Worker] = {}

    def run(self) -> None:
        try:
            for _ in range(self.workers):
                self.fork()
            while self.at:
                for line in wait(list(self.at), timeout=10):
                    if not self.hear(line):
                        self.bury(line)
                self.end_what_hangs()
                if self.session.shouldfail:
                    raise self.session.Failed(self.session.shouldfail)
                if self.session.shouldstop:
                    raise self.session.Interrupted(self.session.shouldstop)
            if self.left:
                raise self.session.Failed(f"{len(self.left)} tests did not run: too many workers ended")
        finally:
            for line, worker in self.at.items():
                os.kill(worker.pid, signal.SIGKILL)
                os.waitpid(worker.pid, 0)
                line.close()

    def fork(self) -> None:
        ours, theirs = multiprocessing.Pipe()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        number, self.started = self.started, self.started + 1
        pid = os.fork()
        if not pid:
            for other in (ours, *self.at):
                other.close()
            _work(self.session, theirs, number)
        theirs.close()
        self.at[ours] = Worker(pid)

    def hear(self, line: Connection) -> bool:
        """One message of a worker; whether there was one."""
        worker, config = self.at[line], self.session.config
        try:
            what, told = line.recv()
            if what == "next":
                hand = self.hand()
                worker.dealt.extend(hand)
                line.send(hand)
        except (EOFError, OSError):
            return False
        if what == "start":
            worker.running, worker.since_s = worker.dealt.popleft(), time.monotonic()
        elif what == "spent":
            worker.running = None
            config.stash[Meter.KEY].add(*told)
        elif what == "report":
            report = config.hook.pytest_report_from_serializable(config=config, data=told)
            config.hook.pytest_runtest_logreport(report=report)
        return True

    def is_dear(self, at: int) -> bool:
        return self.session.items[at].path in self.dear

    def hand(self) -> list[int]:
        """The next tests, all of one module."""
        left, items, hand = self.left, self.session.items, []
        size = min(HAND_FULL, max(1, len(left) // (self.workers * SHARES)))
        if left and self.is_dear(left[0]):
            size = len(left)
        while left and len(hand) < size and (not hand or items[left[0]].path == items[hand[0]].path):
            hand.append(left.popleft())
        return hand

    def end_what_hangs(self) -> None:
        """A test that not even its alarm ends takes its worker with it."""
        for worker in self.at.values():
            if worker.running is not None and time.monotonic() - worker.since_s > LONGEST_S:
                os.kill(worker.pid, signal.SIGKILL)

    def bury(self, line: Connection) -> None:
        """A worker has ended; the test that it was in the middle of failed, and another takes its place."""
        worker = self.at.pop(line)
        code = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        line.close()
        self.left.extendleft(reversed(worker.dealt))
        if code or worker.running is not None:
            item = None if worker.running is None else self.session.items[worker.running]
            name = "tests/forked.py" if item is None else item.nodeid
            report = pytest.TestReport(
                nodeid=name, location=item.location if item else (name, None, ""), keywords={},
                outcome="failed", longrepr=f"the worker ended in {name} (exit {code})", when="call",
            )  # fmt: skip
            self.session.config.hook.pytest_runtest_logreport(report=report)
        if self.left and len(self.at) < self.workers and self.started < self.workers + MOST_DEAD:
            self.fork()


def _work(session, deal: Connection, number: int) -> None:
    """A worker; it never returns into what it was forked from."""
    code = 1
    try:
        atexit._clear()  # what was registered before the fork is the other's to do
        weakref.finalize._registry.clear()
        weakref.finalize._registered_with_atexit = False
        config = session.config
        _own(config, number)
        config.pluginmanager.register(Sender(config, deal))
        _run(session, deal)
        code = 0
        warnings.simplefilter("ignore")  # folders that tests left to the end
        atexit._run_exitfuncs()
    except KeyboardInterrupt:
        pass  # the one that deals hears it too, and says so
    except BaseException:  # noqa: BLE001 - nothing may go on in a fork
        traceback.print_exc()
    finally:
        os._exit(code)


def _own(config, number: int) -> None:
    """Its own temporary folder, captured output and silence."""
    base = config._tmp_path_factory.getbasetemp() / f"worker-{number}"
    base.mkdir()
    config._tmp_path_factory._basetemp = base
    capture = config.pluginmanager.getplugin("capturemanager")
    both = capture._global_capturing
    for stream in (both.out, both.err) if both else ():
        if isinstance(stream, FDCaptureBase):  # others hold these objects: they get another file
            with tempfile.TemporaryFile(buffering=0) as own:
                os.dup2(own.fileno(), stream.tmpfile.fileno())
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None:
        reporter._tw._file = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def _run(session, deal: Connection) -> None:
    items, meter = session.items, session.config.stash[Meter.KEY]

    def dealt():
        while True:
            deal.send(("next", None))
            hand = deal.recv()
            if not hand:
                return
            yield from (items[place] for place in hand)

    tests = dealt()
    item = next(tests, None)
    while item is not None:
        following = next(tests, None)
        deal.send(("start", item.nodeid))
        with meter.over(item) as spent:
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        deal.send(("spent", spent))
        item = following
    session._setupstate.teardown_exact(None)


class Sender:
    """Sends reports to the one that deals."""

    def __init__(self, config, deal: Connection) -> None:
        self._config, self._deal = config, deal

    def pytest_runtest_logreport(self, report) -> None:
        told = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._deal.send(("report", told))
