"""The page of `explain --train`: verdict, bar and table of memory, how far it goes, what to change."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import fields
from itertools import groupby
from typing import Any

from rigright.base.units import show_bytes, show_count
from rigright.base.words import Sentence, say, tell
from rigright.report.page import (
    Bar,
    Bars,
    Column,
    Commands,
    Line,
    Page,
    Part,
    Piece,
    Points,
    Shown,
    Table,
    Tone,
)
from rigright.report.pages.samples import learning_lines, plain_samples, sample_table
from rigright.report.pages.training_time import NAMES as TIMES
from rigright.report.pages.training_time import plain_step, speed_facts, speed_line, time_table
from rigright.report.trained import RankUse, Trained

NAMES = {
    "frozen": say("frozen weights"),
    "weights": say("weights that learn"),
    "master": say("master weights"),
    "gradients": say("gradients"),
    "optimizer": say("optimizer"),
    "activations": say("activations"),
    "working": say("working set of a layer"),
    "loss": say("logits and loss"),
    "gathered": say("gathered weights"),
    "buckets": say("buckets"),
    "casts": say("cast copies"),
    "step": say("optimizer step"),
    "reserved": say("reserved"),
    "device": say("device"),
}
PHASES = {
    "load": say("after loading"),
    "backward-start": say("start of the backward pass"),
    "backward-end": say("end of the backward pass"),
    "step": say("optimizer step"),
}
MOST_STAGES = 8  # shown one by one; the rest in `--json`


def page(result: Trained, *, why: bool = False) -> Page:
    """The page for people."""
    parts: list[Part] = [_verdict(result)]
    if result.step is not None:
        parts.append(speed_line(result.step))
    parts += [_bars(result), _table(result)]
    if result.step is not None:
        parts.append(time_table(result.step))
    if result.samples is not None:
        parts += [sample_table(result.samples), Points(items=tuple(learning_lines(result.samples)))]
    parts.append(Points(items=tuple(_facts(result))))
    if result.remedies:
        parts.append(_remedies(result))
    if why:
        parts.append(_reasons(result))
    parts += [Line(said=note, tone="dim") for note in result.notes]
    if result.asked:
        parts.append(Commands(items=tuple(_next(result)), title=say("next")))
    return Page(title=_title(result), parts=tuple(parts))


def _title(result: Trained) -> Sentence:
    return say(
        "training {model} ({method}) on {machine} with {trainer}",
        model=result.model,
        method=result.training.method,
        machine=result.machine,
        trainer=result.trainer,
    )


def _verdict(result: Trained) -> Line:
    worst = result.worst
    peak = say(
        "{size} ({low} to {high}) of {total} on the worst rank, stage {stage}, at the {phase}",
        size=show_bytes(worst.device_bytes),
        low=show_bytes(worst.low_bytes),
        high=show_bytes(worst.high_bytes),
        total=show_bytes(worst.total_bytes),
        stage=worst.stage,
        phase=PHASES[worst.peak_phase],
    )
    if not result.fits:
        return Line(
            said=say(
                "does not fit, {missing} too much: {peak}", missing=show_bytes(-worst.spare_bytes), peak=peak
            ),
            tone="bad",
        )
    tight = worst.high_bytes > worst.total_bytes
    said = say("fits, but tightly: {peak}", peak=peak) if tight else say("fits: {peak}", peak=peak)
    return Line(said=said, tone="warn" if tight else "good")


def _bars(result: Trained) -> Bars:
    return Bars(
        bars=tuple(_bar(ranks) for ranks in _groups(result)), title=say("memory at the peak, by rank")
    )


def _groups(result: Trained) -> list[list[RankUse]]:
    """Neighbouring stages that hold the same, as one."""
    return [list(group) for _, group in groupby(result.ranks, key=lambda rank: round(rank.device_bytes))][
        :MOST_STAGES
    ]


def _label(ranks: list[RankUse]) -> Sentence:
    count = sum(rank.ranks for rank in ranks)
    if len(ranks) == 1:
        return say("stage {stage}, {ranks} ranks", stage=ranks[0].stage, ranks=count)
    return say(
        "stages {first} to {last}, {ranks} ranks", first=ranks[0].stage, last=ranks[-1].stage, ranks=count
    )


def _bar(ranks: list[RankUse]) -> Bar:
    rank = ranks[0]
    pieces = [Piece(name=NAMES[part], size=size, shown=show_bytes(size)) for part, size in rank.parts_bytes]
    rest = (
        (say("held by the allocator"), rank.reserved_bytes - rank.allocated_bytes),
        (say("context and NCCL"), rank.device_bytes - rank.reserved_bytes),
    )
    pieces += [Piece(name=name, size=size, shown=show_bytes(size)) for name, size in rest if size > 0]
    return Bar(
        label=_label(ranks),
        pieces=tuple(pieces),
        limit=rank.total_bytes,
        shown=f"{show_bytes(rank.device_bytes)} / {show_bytes(rank.total_bytes)}",
    )


def _table(result: Trained) -> Table:
    groups = _groups(result)
    known = {part for group in groups for part, _ in group[0].parts_bytes}
    rows: list[tuple[Shown, ...]] = [
        (NAMES[part], *(show_bytes(dict(group[0].parts_bytes).get(part, 0)) for group in groups))
        for part in NAMES
        if part in known
    ]
    totals = (
        (say("allocated by PyTorch"), [group[0].allocated_bytes for group in groups]),
        (say("reserved by PyTorch"), [group[0].reserved_bytes for group in groups]),
        (say("on the device"), [group[0].device_bytes for group in groups]),
    )
    rows += [(name, *(show_bytes(size) for size in sizes)) for name, sizes in totals]
    heads = (Column(head=say("part")), *(Column(head=_label(group), right=True) for group in groups))
    tones: list[Tone] = ["plain" for _ in rows[1:]]
    return Table(columns=heads, rows=tuple(rows), tones=(*tones, "strong"))


def _facts(result: Trained) -> Iterator[Sentence]:
    if result.step is not None:
        yield from speed_facts(result.step)
    yield say(
        "{learns} of {params} parameters learn; {precision}; {optimizer}",
        learns=show_count(result.learns),
        params=show_count(result.params),
        precision=result.precision,
        optimizer=result.optimizer,
    )
    yield say("largest micro-batch at this length: {batch}", batch=result.reach.micro_batch)
    if result.reach.seq_tok is not None:
        yield say("longest sequence at this micro-batch: {tokens} tokens", tokens=f"{result.reach.seq_tok:,}")
    if result.host_bytes:
        yield say("each rank keeps {size} in the host's memory", size=show_bytes(result.host_bytes))
    if result.nvme_bytes:
        yield say("each rank keeps {size} on NVMe", size=show_bytes(result.nvme_bytes))


def _remedies(result: Trained) -> Table:
    return Table(
        columns=(
            Column(head=say("change"), flexible=True),
            Column(head=say("saves"), right=True),
            Column(head=say("fits then")),
            Column(head=say("what it costs"), flexible=True),
        ),
        rows=tuple(
            (one.change, show_bytes(one.saves_bytes), say("yes") if one.fits else say("no"), one.price)
            for one in result.remedies
        ),
        title=say("what to change"),
        tones=tuple("good" if one.fits else "plain" for one in result.remedies),
    )


def _reasons(result: Trained) -> Table:
    names = NAMES | {f"{part}_s": name for part, name in TIMES.items()}
    return Table(
        columns=(
            Column(head=say("part")),
            Column(head=say("formula"), flexible=True),
            Column(head=say("numbers"), flexible=True),
            Column(head=say("source"), flexible=True),
        ),
        rows=tuple((names[one.part], one.formula, one.facts, one.source) for one in result.reasons),
        title=say("why"),
    )


def _next(result: Trained) -> Iterator[str]:
    helping = next((one for one in result.remedies if one.fits and one.flag), None)
    if helping is not None and helping.flag:
        yield again(result.asked, helping.flag)
    elif not result.remedies and result.reach.micro_batch > result.training.micro_batch:
        yield again(result.asked, f"--micro-batch {result.reach.micro_batch}")
    yield f"{result.asked} --why"


def again(asked: str, flags: str) -> str:
    """The command with flags that take the place of those it had."""
    words, new = shlex.split(asked), shlex.split(flags)
    for flag in (word for word in new if word.startswith("--") and word in words):
        start = words.index(flag)
        has_value = start + 1 < len(words) and not words[start + 1].startswith("--")
        del words[start : start + 1 + has_value]
    return shlex.join([*words, *new])


def plain(result: Trained, language: str) -> dict[str, Any]:
    """The same for scripts; the keys are described in docs/explain-json.md."""
    return {
        "model": result.model,
        "params": result.params,
        "learnt_params": result.learns,
        "machine": result.machine,
        "trainer": result.trainer,
        "precision": tell(result.precision, language),
        "optimizer": result.optimizer,
        "training": {field.name: getattr(result.training, field.name) for field in fields(result.training)},
        "layout": {field.name: getattr(result.layout, field.name) for field in fields(result.layout)},
        "fits": result.fits,
        "verdict": tell(_verdict(result).said, language),
        "worst_stage": result.worst.stage,
        "ranks": [_plain_rank(rank) for rank in result.ranks],
        "time": plain_step(result.step),
        "samples": plain_samples(result.samples),
        "host_bytes": round(result.host_bytes),
        "nvme_bytes": round(result.nvme_bytes),
        "limits": {
            "micro_batch": result.reach.micro_batch,
            "seq_tok": result.reach.seq_tok,
            "model_context_tok": result.reach.model_context_tok,
        },
        "remedies": [
            {
                "change": tell(one.change, language),
                "price": tell(one.price, language),
                "saves_bytes": round(one.saves_bytes),
                "fits": one.fits,
                "flag": one.flag or None,
            }
            for one in result.remedies
        ],
        "why": [
            {
                "part": one.part,
                "formula": tell(one.formula, language),
                "numbers": tell(one.facts, language),
                "source": one.source,
            }
            for one in result.reasons
        ],
        "notes": [tell(note, language) for note in result.notes],
    }


def _plain_rank(rank: RankUse) -> dict[str, Any]:
    return {
        "stage": rank.stage,
        "ranks": rank.ranks,
        "layers": list(rank.layers),
        "parts_bytes": {part: round(size) for part, size in rank.parts_bytes},
        "phases_bytes": {phase: round(size) for phase, size in rank.phases_bytes},
        "peak_phase": rank.peak_phase,
        "allocated_bytes": round(rank.allocated_bytes),
        "reserved_bytes": round(rank.reserved_bytes),
        "used_bytes": round(rank.device_bytes),
        "used_low_bytes": round(rank.low_bytes),
        "used_high_bytes": round(rank.high_bytes),
        "least_bytes": round(rank.least_bytes),
        "total_bytes": round(rank.total_bytes),
        "spare_bytes": round(rank.spare_bytes),
    }
