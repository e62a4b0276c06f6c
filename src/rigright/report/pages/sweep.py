"""The page of `sweep`: how many questions were answered where, and the cheapest answers."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rigright.base.words import say
from rigright.report.page import Column, Line, Page, Part, Points, Table
from rigright.report.swept import Answered, Question, Swept

MOST_ROWS = 20
SHOWN = ("supply", "weights", "ttft_s", "tpot_s", "output_tok_per_s", "days", "usd_per_h", "usd_per_mtok")


def page(result: Swept) -> Page:
    """The page for people."""
    title = say("{file}: {questions} questions", file=result.file, questions=f"{len(result.questions):,}")
    parts: list[Part] = [_verdict(result), _table(result)]
    reasons = Counter(one.why for one in result.answers if one.why)
    if reasons:
        items = tuple(
            say("{times} times: {reason}", times=times, reason=why) if times > 1 else why
            for why, times in reasons.most_common(MOST_ROWS)
        )
        parts.append(Points(items=items, title=say("nothing keeps every limit"), tone="warn"))
    if result.out is not None:
        parts.append(Line(said=say("all answers: {file}", file=result.out), tone="dim"))
    return Page(title=title, parts=tuple(parts))


def _verdict(result: Swept) -> Line:
    fits = sum(one.cells.get("fits") == "yes" for one in result.answers)
    said = say(
        "{fits} of {questions} have a plan that keeps every limit; {fresh} answered now in {places} places, "
        "{kept} kept from before, {seconds} s",
        fits=f"{fits:,}",
        questions=f"{len(result.questions):,}",
        fresh=f"{sum(result.places.values()):,}",
        places=len(result.places),
        kept=f"{result.kept:,}",
        seconds=f"{result.seconds:.1f}",
    )
    return Line(said=said, tone="good" if fits else "warn")


def _table(result: Swept) -> Table:
    asked = [
        name
        for name in dict.fromkeys(name for one in result.questions for name in one.words)
        if len({one.words.get(name) for one in result.questions}) > 1 or name == "model"
    ]
    given = [name for name in SHOWN if any(name in one.cells for one in result.answers)]
    pairs = list(zip(result.questions, result.answers, strict=True))[:MOST_ROWS]
    return Table(
        columns=tuple(Column(head=name, flexible=name == "supply") for name in (*asked, "fits", *given)),
        rows=tuple(_cells(one, answer, asked=asked, given=given) for one, answer in pairs),
    )


def _cells(one: Question, answer: Answered, *, asked: list[str], given: list[str]) -> tuple[str, ...]:
    found = [answer.cells.get(name, "") for name in ("fits", *given)]
    return (*(one.words.get(name, "") for name in asked), *found)


def sheet(result: Swept) -> Page:
    """Every question with its answer, for a spreadsheet."""
    asked = list(dict.fromkeys(name for one in result.questions for name in one.words))
    given = list(dict.fromkeys(name for one in result.answers for name in one.cells))
    rows = tuple(
        (
            *(one.words.get(name, "") for name in asked),
            *(answer.cells.get(name, "") for name in given),
            answer.why,
        )
        for one, answer in zip(result.questions, result.answers, strict=True)
    )
    heads = (*asked, *given, "why")
    return Page(
        title=result.file, parts=(Table(columns=tuple(Column(head=head) for head in heads), rows=rows),)
    )


def plain(result: Swept, language: str) -> dict[str, Any]:
    """The same for scripts."""
    del language
    return {
        "file": result.file,
        "kept": result.kept,
        "places": dict(result.places),
        "seconds": round(result.seconds, 3),
        "out": result.out,
        "answers": [
            {"asked": dict(one.words), **dict(answer.cells), "why": answer.why}
            for one, answer in zip(result.questions, result.answers, strict=True)
        ],
    }
