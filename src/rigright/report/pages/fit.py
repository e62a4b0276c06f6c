"""The page of `fit`: what runs on a machine, best first."""

from __future__ import annotations

from typing import Any

from rigright.base.units import show_bytes, show_count, to_gib
from rigright.base.words import Sentence, say
from rigright.report.fitted import Fitted, Fitting
from rigright.report.page import Column, Commands, Line, Page, Part, Table
from rigright.report.pages.speed import between, plain_estimate


def page(result: Fitted) -> Page:
    """The page for people."""
    parts: list[Part] = [
        Line(said=_verdict(result), tone="good" if result.rows else "bad"),
        _table(result),
        Line(
            said=say(
                "best first: most parameters, then the format that loses least; "
                "each row holds {context} tokens, or all its model allows; tok/s: next tokens of one user",
                context=f"{result.context_tok:,}",
            ),
            tone="dim",
        ),
    ]
    if any(row.samples_per_s for row in result.rows):
        said = say("images or texts/s: 32 at once on each card; one at a time where images are made")
        parts.append(Line(said=said, tone="dim"))
    if result.unread:
        parts.append(
            Line(
                said=say("{count} models of the zoo cannot be read yet", count=len(result.unread)), tone="dim"
            )
        )
    parts += [Line(said=note, tone="dim") for note in result.notes]
    if result.rows and result.asked:
        parts.append(Commands(items=(_next(result),), title=say("next")))
    return Page(title=say("what runs on {machine}", machine=result.machine), parts=tuple(parts))


def _verdict(result: Fitted) -> Sentence:
    if not result.rows:
        return say("nothing that was asked for fits in {free}", free=show_bytes(result.free_bytes))
    return say(
        "{found} of {looked} models fit in {free}; the first {shown} are shown",
        found=result.found,
        looked=result.looked_at,
        free=show_bytes(result.free_bytes),
        shown=len(result.rows),
    )


def _table(result: Fitted) -> Table:
    sampled = any(row.samples_per_s for row in result.rows)
    samples = (Column(head=say("images or texts/s"), right=True),) if sampled else ()
    return Table(
        columns=(
            Column(head=say("model"), flexible=True),
            Column(head=say("parameters"), right=True),
            Column(head=say("format")),
            Column(head=say("engine")),
            Column(head=say("largest context"), right=True),
            Column(head=say("tok/s"), right=True),
            *samples,
            Column(head=say("used GiB"), right=True),
            Column(head=say("spare GiB"), right=True),
        ),
        rows=tuple(
            (
                row.model,
                _params(row),
                row.weights_format.removeprefix("gguf:"),
                row.engine,
                _context(row),
                "" if row.user_tok_per_s is None else between(row.user_tok_per_s),
                *((_samples(row),) if sampled else ()),
                f"{to_gib(row.used_bytes):.1f}",
                f"{to_gib(row.spare_bytes):.1f}",
            )
            for row in result.rows
        ),
    )


def _samples(row: Fitting) -> str:
    return "" if row.samples_per_s is None else between(row.samples_per_s)


def _params(row: Fitting) -> str:
    whole = show_count(row.params)
    return whole if row.active_params >= row.params else f"{whole} / {show_count(row.active_params)}"


def _context(row: Fitting) -> Sentence | str:
    if row.is_endless:
        return say("no limit")
    if row.context_tok is None:
        return ""
    if row.context_tok == row.model_context_tok:
        return say("{context}, all", context=f"{row.context_tok:,}")
    return f"{row.context_tok:,}"


def _next(result: Fitted) -> str:
    row = result.rows[0]
    own = row.weights_format.removeprefix("gguf:")
    return f"{result.asked.replace('fit', f'explain {row.model}', 1)} --engine {row.engine} --weights {own}"


def plain(result: Fitted, _language: str) -> dict[str, Any]:
    """The same for scripts."""
    return {
        "machine": result.machine,
        "free_bytes": round(result.free_bytes),
        "total_bytes": round(result.total_bytes),
        "context_tok": result.context_tok,
        "found": result.found,
        "looked_at": result.looked_at,
        "order": "params descending, then loss of the format",
        "models": [_row(row) for row in result.rows],
        "unread": list(result.unread),
        "notes": list(result.notes),
    }


def _row(row: Fitting) -> dict[str, Any]:
    told = {name: getattr(row, name) for name in type(row).__slots__}
    return told | {name: plain_estimate(getattr(row, name)) for name in ("samples_per_s", "user_tok_per_s")}
