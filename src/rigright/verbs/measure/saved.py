"""Keeps what was measured: all of it as JSON, or as a run that `validate` and `calibrate --from` read."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path

from rigright.base.errors import AskError, DataError
from rigright.base.files import check_place, write_whole
from rigright.base.tables import head_of
from rigright.base.units import to_gib
from rigright.base.words import say
from rigright.machine.stored import plain
from rigright.verbs.measure.record import Measured
from rigright.verbs.runs.files import read_text
from rigright.verbs.runs.planned import PlannedRun, count_of

_TRAINED = ("finetune", "pretrain")


def save(measured: Measured, file: str, *, planned: PlannedRun | None) -> None:
    """Write it by what the file is called: NAME.csv is a table of runs that grows, all else JSON."""
    path = Path(file)
    if path.suffix.lower() == ".csv" and planned is not None:
        # one more line below those that are there, under the same head
        row = run_row(measured, planned)
        there = read_text(file).text if path.exists() else ""
        heads = head_of(there.splitlines(), path.name) or list(row)
        if not set(row) <= set(heads):
            missing = ", ".join(name for name in row if name not in heads)
            raise DataError(
                say(
                    "{file} is a different table: it lacks the column {column}",
                    file=path,
                    column=missing,
                )
            )
        out = io.StringIO()
        writer = csv.DictWriter(out, heads, lineterminator="\n")
        if not there:
            writer.writeheader()
        writer.writerow(row)
        write_whole(path, there + ("\n" if there and not there.endswith("\n") else "") + out.getvalue())
    else:
        write_whole(path, json.dumps(plain(measured, "en"), ensure_ascii=False, indent=2) + "\n")


def check(file: str, *, planned: PlannedRun | None) -> None:
    """Refuse, before anything is run, what could not be saved after it."""
    if Path(file).suffix.lower() == ".csv" and planned is None:
        raise AskError(say("a run in a table needs its model and layout: add --plan, or save to NAME.json"))
    check_place(file)


def run_row(measured: Measured, planned: PlannedRun) -> dict[str, str]:
    """A measured run: what the plan says was run, and what it took."""
    if not measured.gpu_peak_bytes:
        raise AskError(say("the command used no GPU; nothing to add to a table of runs"))
    if planned.wish.get("work") in _TRAINED:
        return _trained(measured, planned)
    # A row of a table of inference memory
    work = planned.work
    batch = count_of(work.get("batch"))
    return {
        **_named(measured, planned, settings=_settings(measured, planned)),
        "format": _cell(work.get("weights")),
        "context": _cell(work.get("context_tok")),
        "batch": _cell(-(-batch // count_of(planned.layout.get("dp")))),  # of one replica
        "kv": _cell(work.get("kv")),
        "what": "total_gpu_preallocated" if planned.fills_cards else "total_gpu_peak",
        "value_gib": _peak_gib(measured),
    }


def _settings(measured: Measured, planned: PlannedRun) -> str:
    """How it was run, in the words that readers of memory tables know."""
    work, layout = planned.work, planned.layout
    texts = [
        measured.chips[0].removeprefix("NVIDIA ") if measured.chips else None,
        f"engine {work['engine']}" if work.get("engine") else None,
        f"TP={layout.get('tp') or 1}, PP={layout.get('pp') or 1}",
        "device memory",
        f"util {work['utilisation']}" if work.get("utilisation") else None,
    ]
    return "; ".join(text for text in texts if text)


def _named(measured: Measured, planned: PlannedRun, *, settings: str = "") -> dict[str, str]:
    return {
        "id": f"measured-{measured.at_s:.0f}",
        "source": "measured here",
        "model": planned.model,
        "arch": planned.model,
        "note": "; ".join(text for text in (settings, shlex.join(measured.command)) if text),
    }


def _peak_gib(measured: Measured) -> str:
    return f"{to_gib(max(size for _, size in measured.gpu_peak_bytes)):.3f}"


def _trained(measured: Measured, planned: PlannedRun) -> dict[str, str]:
    """A row of a table of training runs."""
    work = planned.work
    layout, cards = planned.layout, count_of(planned.plan.get("n_chips"))
    speed = measured.tokens / measured.lasted_s / cards if measured.tokens else None
    micro = count_of(work.get("micro_batch"))
    batch = micro * count_of(work.get("accumulate")) * count_of(layout.get("dp"))
    return {
        **_named(measured, planned),
        "chip": _cell(planned.plan.get("chip")),
        "n_chips": _cell(cards),
        "nodes": _cell(planned.plan.get("n_nodes")),
        "framework": _cell(work.get("trainer")),
        "precision": _cell(work.get("precision")),
        "method": _cell(work.get("method")),
        "optimizer": _cell(work.get("optimizer")),
        "sharding": _cell(work.get("sharding")),
        **{name: _cell(layout.get(name)) for name in ("tp", "pp", "cp", "ep", "dp")},
        "micro_batch": _cell(micro),
        "global_batch": _cell(batch),
        "seq_tok": _cell(work.get("seq_tok")),
        "recompute": _cell(work.get("recompute")),
        "tok_per_s_per_chip": "" if speed is None else f"{speed:.1f}",
        "peak_gib": _peak_gib(measured),
        "peak_kind": "device",
    }


def _cell(value: object) -> str:
    return "" if value is None else str(value)
