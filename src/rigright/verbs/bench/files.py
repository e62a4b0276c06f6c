"""Results in a file and back; logs of other programs are read too. A foreign file is hostile."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from rigright.base.bounded import bounded_json
from rigright.base.errors import DataError, RigError
from rigright.base.files import read_bounded, save_text
from rigright.base.units import MIB
from rigright.base.words import Sentence, say
from rigright.machine.bench.burn_logs import gpu_burn, superbench
from rigright.machine.bench.copy_logs import copies, perftest
from rigright.machine.bench.logs import nccl_tests, nvbandwidth
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.opened import read_machine
from rigright.machine.possible import possible
from rigright.machine.record import Machine
from rigright.machine.running.messages import MOST_CHARS, TEXT, messages_in
from rigright.machine.stored import plain, restored
from rigright.verbs.bench.benched import BenchRun

SCHEMA = 1
MOST_BYTES = 64 * MIB
MOST_RESULTS = 5_000  # each is held against the others
_MOST_S = 10_000 * 86400.0  # of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchFile:
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


def read_results(file: str) -> BenchFile:
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
        return BenchFile(
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
        return BenchFile(results=results)
    return BenchFile(results=results, machine=machine if machine.devices else None)


def _logged(text: str, file: str) -> tuple[Result, ...]:
    """Logs of any of the programs, as the part that runs it would tell."""
    results: list[Result] = []
    why: DataError | None = None
    for part, read in _READERS:
        try:
            results += [replace(result, part=result.part or part) for result in read(text, Path(file).stem)]
        except DataError as error:
            why = error if part == "nccl_tests" and "wires" in str(error) else why
    if not results and why is not None:
        raise why
    if len(results) > MOST_RESULTS:
        raise DataError(say("{file} has more than {most} rows", file=file, most=f"{MOST_RESULTS:,}"))
    if not results:
        raise DataError(
            say(
                "cannot read {file} as a benchmark: expected `bench --save` output, or a log of "
                "nccl-tests, nvbandwidth, gpu-burn, bandwidthTest, hipBusBandwidth, perftest or SuperBench",
                file=file,
            ),
            hint=_hint(text, file),
        )
    return tuple(results)


def _hint(text: str, file: str) -> Sentence | None:
    """What else the text tells, where it has no figure: a message that the doctor knows."""
    if next(messages_in(text[:MOST_CHARS], TEXT), None) is None:
        return None
    return say("it contains an error: `rigright doctor --from {file}`", file=shlex.quote(file))


_READERS: tuple[tuple[str, Callable[[str, str], list[Result]]], ...] = (
    ("nvbandwidth", lambda text, _: nvbandwidth(text)),
    ("nccl_tests", lambda text, name: nccl_tests(text, file=name)),
    ("gpu_burn", lambda text, _: gpu_burn(text)),
    ("superbench", lambda text, _: superbench(text)),
    ("transfer", lambda text, _: copies(text)),
    ("perftest", lambda text, _: perftest(text)),
)
