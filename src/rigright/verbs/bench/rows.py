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
    *(
        "n_chips",
        "tp",
        "pp",
        "ep",
        "attention_dp",
        "mode",
        "load",
        "prompt_tok",
        "output_tok",
        "metric",
        "value",
        "note",
    ),
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
        found = list(rows)
        if not found:
            continue
        out = io.StringIO(newline="")
        table = csv.DictWriter(out, columns, lineterminator="\n")
        table.writeheader()
        table.writerows(found)
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
    for one in results:
        settings = dict(one.settings)
        if one.part != "train_step" or one.unit != "items_per_s" or not one.what.startswith("resnet50"):
            continue
        if "recompute" in one.what or not one.on.startswith("gpu "):
            continue
        yield {
            "id": f"{_day(one)} {one.what}",
            "source": "rigright bench",
            "model": "resnet50",
            "gpu": _chip(one, machine),
            "n_gpus": "1",
            "mode": "train",
            "img_size": settings.get("image", ""),
            "batch_size": settings.get("batch", ""),
            "precision": settings.get("precision", ""),
            "layout": settings.get("layout", ""),
            "compile": "torch.compile" if one.what.endswith("compile") else "eager",
            "framework": f"pytorch {settings.get('torch', '')}".strip(),
            "samples_per_s": f"{one.value:.6g}",
        }


def served(
    results: Sequence[Result], machine: Machine, *, planned: PlannedRun | None = None
) -> Iterator[Row]:
    """Each figure of each load of a language model behind an address; a plan says what serves it."""
    said = {}
    if planned is not None:
        from rigright.verbs.runs.setup import (
            planned_setup,
        )  # the planner's arrays, for those with a plan only

        said = planned_setup(planned).cells("inference")
    note = "the cards are those of the machine that asked; mend them if the server stands elsewhere"
    for one in results:
        settings = dict(one.settings)
        metric = METRICS.get(one.what.partition(",")[0])
        if one.part != "endpoint" or metric is None:
            continue
        cards, version = len(machine.devices), settings.get("engine_version")
        yield {
            "id": f"{_day(one)} {one.what}",
            "source": "rigright bench",
            "measured": _day(one),
            "engine": settings.get("engine", ""),
            "model": settings.get("model", ""),
            "chip": _chip(one, machine),
            "n_chips": str(cards) if cards else "",
            "mode": "serve",
            "load": settings.get("load", ""),
            "prompt_tok": settings.get("prompt_tok", ""),
            "output_tok": settings.get("output_tok", ""),
            "metric": metric,
            "value": f"{one.value * (KILO if metric.endswith('_ms') else 1):.6g}",
            "note": "" if said else note,
            **{name: said[name] for name in SERVED if said.get(name)},
            **({"engine_version": version} if version else {}),
        }


def _day(one: Result) -> str:
    return dt.datetime.fromtimestamp(one.at_s or 0, dt.UTC).date().isoformat()


def _chip(one: Result, machine: Machine) -> str:
    """The id of the card, or its name where we do not know it."""
    number = one.on.removeprefix("gpu ")
    devices = [device for device in machine.devices if not number.isdecimal() or device.index == int(number)]
    chip = chip_of(devices[0]) if devices else None
    return chip.id if chip is not None else one.chip or ""
