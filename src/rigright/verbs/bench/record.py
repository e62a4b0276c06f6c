"""What `bench` measured and how each figure stands, in memory and in a file.

Logs of other programs are read too. A foreign file is hostile.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from rigright.base.bounded import bounded_json
from rigright.base.errors import DataError, RigError
from rigright.base.files import read_bounded, save_text
from rigright.base.record import Inner, derived
from rigright.base.units import MIB
from rigright.base.words import Sentence, say
from rigright.doctor.examine import exit_of
from rigright.doctor.reference import BaselineFigure, wrong_values
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.tool_logs import READERS
from rigright.machine.opened import read_machine
from rigright.machine.possible import possible
from rigright.machine.record import Machine
from rigright.machine.running.messages import MOST_CHARS, TEXT, messages_in
from rigright.machine.stored import plain, restored

SCHEMA = 1
MOST_BYTES = 64 * MIB
MOST_RESULTS = 5_000  # each is held against the others
_RUNNING = re.compile(r"^\s*Running (\w+)\.", re.MULTILINE)  # of nvbandwidth
_MOST_S = 10_000 * 86400.0  # of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRun:
    """One run of the benchmarks."""

    machine: Inner[Machine]
    results: tuple[BaselineFigure, ...]
    skipped: tuple[Skipped, ...]
    titles: Inner[tuple[tuple[str, Sentence], ...]]  # of the parts, in their order
    quick: bool
    seconds: float
    stopped: bool = False  # somebody broke it off
    history: str | None = None  # the history it was added to
    saved: str | None = None
    rows: tuple[str, ...] = ()  # files of runs for `calibrate`
    notes: tuple[Sentence, ...] = ()

    @derived
    def slow(self) -> int:
        """How many figures are less than they should be."""
        return len(self.slow_results)

    @derived
    def wrong(self) -> int:
        """How many gave wrong values."""
        return len(self.wrong_results)

    @property
    def exit_code(self) -> int:
        """As of the doctor, by the worst figure."""
        return exit_of(figure.severity for figure in self.results)

    @property
    def slow_results(self) -> tuple[BaselineFigure, ...]:
        """What is less than it should be, the worst first."""
        figures = [figure for figure in self.results if figure.verdict in {"slow", "behind"}]
        return tuple(sorted(figures, key=lambda figure: (figure.verdict != "slow", figure.share or 0.0)))

    @property
    def wrong_results(self) -> tuple[BaselineFigure, ...]:
        """What gave wrong values."""
        return tuple(figure for figure in self.results if figure.verdict == "wrong")


class BenchPart(NamedTuple):
    """A part of the benchmarks."""

    part: str
    title: Sentence
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartList:
    """What can be measured."""

    parts: tuple[BenchPart, ...]  # each with its title and its group


@dataclass(frozen=True, slots=True, kw_only=True)
class _BenchFile:
    """What a file holds."""

    results: tuple[Result, ...]
    machine: Machine | None = None
    skipped: tuple[Skipped, ...] = ()
    quick: bool = False
    seconds: float = 0.0


def save_results(made: BenchRun, file: str) -> None:
    """Write the figures and the machine they are of."""
    fields = {
        "rigright_bench": SCHEMA,
        "quick": made.quick,
        "seconds": made.seconds,
        "machine": plain(made.machine),
        "results": [plain(figure.result) for figure in made.results],
        "skipped": [plain(skipped) for skipped in made.skipped],
    }
    save_text(file, json.dumps(fields, ensure_ascii=False, indent=1) + "\n")


def read_results(file: str) -> _BenchFile:
    """What a file tells."""
    text = read_bounded(file, MOST_BYTES).decode("utf-8", "replace")
    try:
        data = bounded_json(text)
    except ValueError:
        data = None
    if isinstance(data, dict) and "rigright_bench" in data:
        lists = {name: data.get(name) for name in ("results", "skipped")}
        if not all(isinstance(value, list) and len(value) <= MOST_RESULTS for value in lists.values()):
            raise DataError(say("{file} is not output of `bench --save`", file=file))
        seconds = data.get("seconds")
        return _BenchFile(
            results=tuple(restored(Result, value, where=file) for value in lists["results"] or ()),
            skipped=tuple(restored(Skipped, value, where=file) for value in lists["skipped"] or ()),
            machine=possible(restored(Machine, data.get("machine"), where=file)),
            quick=data.get("quick") is True,
            seconds=float(seconds) if isinstance(seconds, int | float) and abs(seconds) < _MOST_S else 0.0,
        )
    results = _logged(text, file)
    try:
        machine = read_machine(text.encode(), name=file)
    except RigError:
        return _BenchFile(results=results)
    return _BenchFile(results=results, machine=machine if machine.devices else None)


def _logged(text: str, file: str) -> tuple[Result, ...]:
    """Logs of any of the programs, as the part that runs it would tell."""
    results: list[Result] = []
    why: DataError | None = None
    for part, read in READERS:
        try:
            results += [replace(result, part=result.part or part) for result in read(text, Path(file).stem)]
        except DataError as error:
            why = error  # it is of this program, and has nothing to tell
    if not results and why is not None:
        raise why
    if len(results) > MOST_RESULTS:
        raise DataError(say("{file} has more than {most} rows", file=file, most=f"{MOST_RESULTS:,}"))
    if not results:
        raise DataError(
            say(
                "cannot read {file} as a benchmark: expected `bench --save` output, or a log of nccl-tests, "
                "nvbandwidth, gpu-burn, bandwidthTest, hipBusBandwidth, perftest, fio or SuperBench",
                file=file,
            ),
            hint=_hint(text, file),
        )
    return (*results, *_corrupted(text, results))


def _corrupted(text: str, results: list[Result]) -> Iterator[Result]:
    """A result for what the program says came out wrong where it prints no figure of it."""
    says = any(row.finding == "messages.bad_transfer" for row, _ in messages_in(text[:MOST_CHARS], TEXT))
    if says and not any(map(wrong_values, results)):
        like, names = results[-1], _RUNNING.findall(text)
        what = names[-1] if names else like.what
        yield replace(like, what=what, value=0.0, settings=(*like.settings, ("wrong", "1")))


def _hint(text: str, file: str) -> Sentence | None:
    """What else the text tells, where it has no figure: a message that the doctor knows."""
    if next(messages_in(text[:MOST_CHARS], TEXT), None) is None:
        return None
    return say("it contains an error: `rigright doctor --from {file}`", file=shlex.quote(file))
