"""The page of `fit`: what runs on a machine, best first."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from rigright.base import telling
from rigright.base.page import Commands, Page, Shown, Table, known, number, prose, records
from rigright.base.units import show_bytes, show_count, show_short
from rigright.base.words import Sentence, assuming, say, with_commas
from rigright.cost.estimate import Estimate
from rigright.facts.chips import short
from rigright.report.pages.brief import gib, model_name, note_lines, short_format, show_tokens
from rigright.report.pages.figures import between
from rigright.verbs.fit import Fitted, Fitting

_MOST_ROWS = 12
_TIGHT = 0.05  # of the memory: less is left


def page(result: Fitted, *, details: bool = False) -> Page:
    """The page for people."""
    shown = result.models if details else result.models[:_MOST_ROWS]
    unread = say("{count} models have no readable config yet", count=len(result.unread) or None)
    typed = [] if details else [f"{result.asked} --details"]
    return Page.of(
        _verdict(result),
        _table(shown, details=details) if shown else None,
        note_lines((*result.notes, *_assumed(result, shown), unread), details=details),
        Commands.next((_next(result), *typed) if result.models and result.asked else ()),
        tone="good" if result.models else "bad",
    )


def _assumed(result: Fitted, shown: Sequence[Fitting]) -> Iterator[Sentence]:
    """What each row stands for."""
    parts = []
    loads = [row.concurrency for row in shown if row.concurrency is not None]
    if loads and result.context_tok is not None:
        least, most = (f"{load:,.0f}" for load in (min(loads), max(loads)))
        parts.append(say("at least {tokens} context", tokens=show_tokens(result.context_tok)))
        if least == most:
            parts.append(say("concurrency {users}", users=least))
    if any(row.samples_per_s for row in shown):
        parts.append(say("batch size: 32 for text and image inputs, 1 for generated images"))
    yield assuming(with_commas(parts))


def _verdict(result: Fitted) -> Sentence:
    machine, free = short(result.machine), show_bytes(result.free_bytes)
    if not result.models:
        return say("nothing fits: {machine} has {free} free", machine=machine, free=free)
    first = result.models[0]
    fields = {"model": model_name(first.model), "format": short_format(first.weights_format)}
    best = say("{model} in {format}", **fields)
    rate = _rate(first)
    if first.audio_h_per_h is not None:
        hours = show_short(first.audio_h_per_h.value)
        best = say("{model} in {format}: {hours} hours of audio per hour", hours=hours, **fields)
    elif rate is not None:
        best = say("{model} in {format} at {rate} tok/s", rate=show_short(rate.value), **fields)
    counts = {"found": result.found, "looked": result.looked_at}
    return say(
        "{machine} runs {found} of {looked} models; top pick: {best}", machine=machine, best=best, **counts
    )


def _table(rows: Sequence[Fitting], *, details: bool) -> Table:
    """What it is, how large, how fast; with `details` its size in parameters, its engine, and bands."""
    generates = any(row.user_tok_per_s and not row.audio_h_per_h for row in rows)
    crowded = any(_is_crowded(row) for row in rows)

    def speed(estimate: Estimate | None) -> str | None:
        return known(estimate, between if details else lambda estimate: show_short(estimate.value))

    return records(
        rows,
        (
            (prose(say("model")), lambda row: row.model if details else model_name(row.model)),
            (number(say("parameters")), _params if details else None),
            (say("format"), lambda row: short_format(row.weights_format)),
            (say("engine"), (lambda row: row.engine) if details else None),
            (number(say("size, GiB")), None if details else lambda row: gib(row.weights_bytes)),
            (number(say("max context")), _context if generates or details else None),
            (number(say("concurrency")), _users if generates and crowded else None),
            (number(say("tok/s")), (lambda row: speed(_rate(row))) if generates else None),
            (number(say("audio h/h")), lambda row: speed(row.audio_h_per_h)),
            (number(say("images or texts/s")), lambda row: speed(row.samples_per_s)),
            (number(say("used, GiB")), (lambda row: gib(row.used_bytes)) if details else None),
            (number(say("spare, GiB")), (lambda row: gib(row.spare_bytes)) if details else None),
            (prose(say("note")), None if details else _note),
        ),
        filled=True,
    )


def _users(row: Fitting) -> str | None:
    return known(row.concurrency, "{:,.0f}".format)


def _is_crowded(row: Fitting) -> bool:
    return row.concurrency is not None and row.concurrency > 1


def _rate(row: Fitting) -> Estimate | None:
    """Of one user alone as benchmarks give it, of more the output of all."""
    if row.audio_h_per_h is not None:
        return None
    return row.output_tok_per_s if _is_crowded(row) else row.user_tok_per_s


def _note(row: Fitting) -> Shown | None:
    """What a buyer should know of a row."""
    spared = _TIGHT * (row.used_bytes + row.spare_bytes)
    # as many as fit leave nothing, and so does as much on the cards as they hold
    tight = row.spare_bytes < spared and not _is_crowded(row) and not row.ram_bytes
    active = show_count(row.active_params) if row.active_params < row.params else None
    ram = known(row.ram_bytes or None, show_bytes)
    return with_commas(
        (
            say("{active} active", active=active),
            say("{size} in RAM", size=ram),
            say("tight") if tight else None,
        )
    )


def _params(row: Fitting) -> str:
    whole = show_count(row.params)
    return whole if row.active_params >= row.params else f"{whole} / {show_count(row.active_params)}"


def _context(row: Fitting) -> Shown | None:
    return say("unlimited") if row.is_endless else known(row.context_tok, show_tokens)


def _next(result: Fitted) -> str:
    row, typed = result.models[0], shlex.split(result.asked)
    given = [flag for flag in ("--on", "--context", "--concurrency") if flag in typed]
    kept = [word for flag in given for word in (flag, typed[typed.index(flag) + 1])]
    texts = ["--engine", row.engine, "--weights", short_format(row.weights_format)]
    if "--concurrency" in typed and row.kv_format is not None:
        texts += ["--kv", row.kv_format, *(() if "--context" in kept else ("--context", str(row.sized_tok)))]
    return shlex.join(["rigright", "explain", row.model, *kept, *texts])


plain = telling.RecordPrinter(Fitted)
