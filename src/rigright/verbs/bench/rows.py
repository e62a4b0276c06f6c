"""Figures as runs that `validate` and `calibrate --from` read: ResNet-50 trained, language models served."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rigright.base.files import unwritten, write_whole
from rigright.base.units import KILO
from rigright.doctor.recognise import chip_of
from rigright.machine.bench.record import Result
from rigright.machine.record import Machine

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
        from rigright.verbs.runs.setup import planned_setup  # the planner's arrays, with a plan only

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
