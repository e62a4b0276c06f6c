"""What `bench` measured and how each figure stands; and as runs that `validate` and `calibrate` read."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rigright.base.bounded import bounded_json
from rigright.base.errors import DataError, RigError
from rigright.base.files import read_bounded, save_text, unwritten, write_whole
from rigright.base.record import Inner, derived
from rigright.base.units import KILO, MIB
from rigright.base.words import Sentence, say
from rigright.doctor.examine import exit_of
from rigright.doctor.recognise import chip_of
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


if TYPE_CHECKING:
    from rigright.verbs.runs.planned import PlannedRun

IMAGES = (
    *("id", "source", "model", "gpu", "n_gpus", "mode", "img_size", "batch_size"),
    *("precision", "layout", "compile", "framework", "samples_per_s", "note"),
)
SERVED = (
    *("id", "source", "measured", "engine", "engine_version", "model", "arch", "weights", "kv", "chip"),
    *("n_chips", "tp", "pp", "ep", "attention_dp", "mode", "load", "prompt_tok", "output_tok"),
    *("metric", "value", "note"),
)
METRICS = {"first token": "ttft_ms", "next token": "tpot_ms", "tokens": "output_tok_s_total"}

Row = dict[str, str]


def write_rows(
    results: Sequence[Result], machine: Machine, *, folder: Path, planned: PlannedRun | None = None
) -> tuple[str, ...]:
    """One table a kind, in a folder that is made; the files written."""
    made = []
    kinds = (
        ("images.csv", IMAGES, images(results, machine)),
        ("serving.csv", SERVED, served(results, machine, planned=planned)),
    )
    for name, columns, rows in kinds:
        result = list(rows)
        if not result:
            continue
        out = io.StringIO(newline="")
        table = csv.DictWriter(out, columns, lineterminator="\n")
        table.writeheader()
        table.writerows(result)
        path = folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, out.getvalue())
        except OSError as error:
            raise unwritten(path, error) from None
        made.append(str(path))
    return tuple(made)


def images(results: Sequence[Result], machine: Machine) -> Iterator[Row]:
    """Training steps of ResNet-50 on one card."""
    for result in results:
        settings = dict(result.settings)
        is_run = result.part == "train_step" and result.unit == "items_per_s" and result.on.startswith("gpu ")
        if not is_run or not result.what.startswith("resnet50") or "recompute" in result.what:
            continue
        yield {
            **_origin(result),
            "model": "resnet50",
            "gpu": _chip(result, machine),
            "n_gpus": "1",
            "mode": "train",
            "img_size": settings.get("image", ""),
            "batch_size": settings.get("batch", ""),
            "precision": settings.get("precision", ""),
            "layout": settings.get("layout", ""),
            "compile": "torch.compile" if result.what.endswith("compile") else "eager",
            "framework": f"pytorch {settings.get('torch', '')}".strip(),
            "samples_per_s": f"{result.value:.6g}",
        }


def served(
    results: Sequence[Result], machine: Machine, *, planned: PlannedRun | None = None
) -> Iterator[Row]:
    """Each figure of each load of a language model behind an address; a plan says what serves it."""
    fields = {}
    if planned is not None:
        from rigright.verbs.runs.columns import planned_setup  # the planner's arrays, with a plan only

        fields = planned_setup(planned).cells("inference")
    note = "the cards are those of the machine that asked; mend them if the server stands elsewhere"
    for result in results:
        settings = dict(result.settings)
        metric = METRICS.get(result.what.partition(",")[0])
        if result.part != "endpoint" or metric is None:
            continue
        names = ("engine", "model", "load", "prompt_tok", "output_tok")
        version = settings.get("engine_version")
        yield {
            **_origin(result),
            "measured": _day(result),
            **{name: settings.get(name, "") for name in names},
            "chip": _chip(result, machine),
            "n_chips": str(len(machine.devices) or ""),
            "mode": "serve",
            "metric": metric,
            "value": f"{result.value * (KILO if metric.endswith('_ms') else 1):.6g}",
            "note": "" if fields else note,
            **{name: fields[name] for name in SERVED if fields.get(name)},
            **({"engine_version": version} if version else {}),
        }


def _origin(result: Result) -> Row:
    return {"id": f"{_day(result)} {result.what}", "source": "rigright bench"}


def _day(result: Result) -> str:
    return dt.datetime.fromtimestamp(result.at_s or 0, dt.UTC).date().isoformat()


def _chip(result: Result, machine: Machine) -> str:
    """The id of the card, or its name where we do not know it."""
    number = result.on.removeprefix("gpu ")
    devices = [device for device in machine.devices if not number.isdecimal() or device.index == int(number)]
    chip = chip_of(devices[0]) if devices else None
    return chip.id if chip is not None else result.chip or ""
