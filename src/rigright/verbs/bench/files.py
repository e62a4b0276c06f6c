"""Results in a file and back; logs of nccl-tests and nvbandwidth are read too. A foreign file is hostile."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from rigright.base.errors import DataError
from rigright.base.files import read_bounded, save_text
from rigright.base.units import MIB
from rigright.base.words import say
from rigright.machine.bench.logs import nccl_tests, nvbandwidth
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.record import Machine
from rigright.machine.stored import plain, restored
from rigright.report.benched import Benched

SCHEMA = 1
MOST_BYTES = 64 * MIB
MOST_RESULTS = 100_000
_MOST_S = 10_000 * 86400.0  # of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a file holds."""

    results: tuple[Result, ...]
    machine: Machine | None = None
    skipped: tuple[Skipped, ...] = ()
    quick: bool = False
    seconds: float = 0.0


def save_results(made: Benched, file: str) -> None:
    """Write the figures and the machine they are of."""
    told = {
        "rigright_bench": SCHEMA,
        "quick": made.quick,
        "seconds": made.seconds,
        "machine": plain(made.machine),
        "results": [plain(one.result) for one in made.held],
        "skipped": [plain(one) for one in made.skipped],
    }
    save_text(file, json.dumps(told, ensure_ascii=False, indent=1) + "\n")


def read_results(file: str) -> Told:
    """What a file tells."""
    text = read_bounded(file, MOST_BYTES).decode("utf-8", "replace")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict) and "rigright_bench" in data:
        lists = {name: data.get(name) for name in ("results", "skipped")}
        if not all(isinstance(one, list) and len(one) <= MOST_RESULTS for one in lists.values()):
            raise DataError(say("{file} is not what `bench --save` writes", file=file))
        seconds = data.get("seconds")
        return Told(
            results=tuple(restored(Result, one, where=file) for one in lists["results"] or ()),
            skipped=tuple(restored(Skipped, one, where=file) for one in lists["skipped"] or ()),
            machine=restored(Machine, data.get("machine"), where=file),
            quick=data.get("quick") is True,
            seconds=float(seconds) if isinstance(seconds, int | float) and abs(seconds) < _MOST_S else 0.0,
        )
    return Told(results=_logged(text, file))


def _logged(text: str, file: str) -> tuple[Result, ...]:
    """A log of one of the two programs, as the part that runs it would tell."""
    for part, read in (("nvbandwidth", nvbandwidth), ("nccl_tests", nccl_tests)):
        try:
            return tuple(replace(one, part=part) for one in read(text))
        except DataError:
            continue
    raise DataError(
        say("{file} is neither what `bench --save` writes nor a log of nccl-tests or nvbandwidth", file=file)
    )
