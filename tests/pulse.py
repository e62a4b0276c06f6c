"""What a run costs: CPU and programs by folder, printed at its end and held to `pulse.csv`, which only falls.

A second of CPU is another on every machine, so what is kept is a multiple of a fixed piece of work that each
worker does now and then in the same run.
"""

from __future__ import annotations

import csv
import os
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KEPT = HERE / "pulse.csv"
ROOM, LEAST = 2.0, 400.0  # a folder may cost so many times what is kept, and so many pieces more
EVERY = 50  # tests from one fixed piece of work to the next

started = [0]  # programs, by this process
_start = subprocess.Popen.__init__


def _counted(self, *words, **more):
    started[0] += not getattr(self, "is_fork", False)
    _start(self, *words, **more)


def cpu_s() -> float:
    """CPU seconds of this process and of those it has waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def piece_s() -> float:
    """CPU seconds of a fixed piece of work: tables, strings and numbers, as in the program itself."""
    begin = time.process_time()
    table = {str(number): number * 0.5 for number in range(20_000)}
    assert sum(value for key, value in table.items() if key.endswith("7")) > 0
    return time.process_time() - begin


class Meter:
    """CPU by folder of tests."""

    KEY = pytest.StashKey()

    def __init__(self) -> None:
        self.folders: dict[str, list[float]] = {}  # CPU seconds, programs, tests
        self.pieces: list[float] = []
        self._tests = 0

    @contextmanager
    def over(self, item):
        """What one test costs: folder, CPU seconds, programs, and now and then the fixed piece."""
        spent: list = [folder_of(item.path)]
        begin, programs = cpu_s(), started[0]
        try:
            yield spent
        finally:
            spent += [cpu_s() - begin, started[0] - programs]
            if item.get_closest_marker("restates"):  # it runs in some runs only
                spent[1] = 0.0
            spent += [piece_s() if self._tests % EVERY == 0 else None]
            self._tests += 1

    def add(self, folder: str, seconds: float, programs: int, piece: float | None) -> None:
        """One test more."""
        row = self.folders.setdefault(folder, [0.0, 0, 0])
        for place, more in enumerate((seconds, programs, 1)):
            row[place] += more
        if piece is not None:
            self.pieces.append(piece)

    @property
    def piece(self) -> float:
        return sorted(self.pieces)[len(self.pieces) // 2] if self.pieces else piece_s()


def folder_of(path: Path) -> str:
    """The folder right below tests/, or the file that stands there."""
    return path.relative_to(HERE).parts[0] if path.is_relative_to(HERE) else path.name


def kept() -> dict[str, float]:
    """Folder -> pieces of work that it may cost."""
    with KEPT.open(encoding="utf-8", newline="") as file:
        return {row["folder"]: float(row["pieces"]) for row in csv.DictReader(file)}


def pytest_addoption(parser):
    parser.addoption("--keep-pulse", action="store_true", help="keep what this run cost in tests/pulse.csv")


def pytest_configure(config):
    config.stash[Meter.KEY] = Meter()
    subprocess.Popen.__init__ = _counted


def pytest_unconfigure():
    subprocess.Popen.__init__ = _start


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Where tests run in this process, they are metered here."""
    if item.config.getoption("workers") != "0":
        return (yield)
    meter = item.config.stash[Meter.KEY]
    with meter.over(item) as spent:
        result = yield
    meter.add(*spent)
    return result


def is_whole(config) -> bool:
    """Whether all of `make test` ran, so that folders can be compared with what is kept."""
    option = config.getoption
    chosen = config.args_source.name == "ARGS" or option("keyword") or option("markexpr") != "not live"
    return not chosen


def over_limit(meter: Meter) -> list[str]:
    """Folders that cost more than is kept for them."""
    limits = kept()
    return [
        f"{folder}: {cost:.0f} pieces of work, {limits.get(folder, 0):.0f} kept"
        for folder, (seconds, _, _) in sorted(meter.folders.items())
        for cost in [seconds / meter.piece]
        if cost > ROOM * limits.get(folder, 0.0) + LEAST
    ]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    meter = session.config.stash[Meter.KEY]
    if not is_whole(session.config) or exitstatus:
        return
    if session.config.getoption("keep_pulse"):
        rows = [f"{folder},{row[0] / meter.piece:.0f}" for folder, row in sorted(meter.folders.items())]
        KEPT.write_text("folder,pieces\n" + "\n".join(rows) + "\n", encoding="utf-8")
    elif over_limit(meter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    meter = config.stash[Meter.KEY]
    if not meter.folders or len(meter.folders) < 2:
        return
    total = [sum(row[place] for row in meter.folders.values()) for place in range(3)]
    write = terminalreporter.write_line
    terminalreporter.section("CPU by folder", sep="-")
    write(f"{'':24}{'CPU s':>8}{'pieces':>9}{'programs':>10}{'tests':>8}")
    for folder, (seconds, programs, tests) in [
        *sorted(meter.folders.items(), key=lambda item: -item[1][0]),
        ("all", total),
    ]:
        write(f"{folder:24}{seconds:8.1f}{seconds / meter.piece:9.0f}{programs:10.0f}{tests:8.0f}")
    if is_whole(config):
        for line in over_limit(meter):
            write(f"over what tests/pulse.csv keeps: {line}", red=True)
