"""The page of `sweep`: how many questions were answered where, and the cheapest answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rigright.base.words import Sentence, say
from rigright.report.page import Column, Line, Page, Part, Points, Table
from rigright.report.swept import Answered, Question, Swept

MOST_ROWS = 20
MOST_LINES = 4  # of the grid, named beside one reason
SHOWN = ("supply", "weights", "ttft_s", "tpot_s", "output_tok_per_s", "days", "usd_per_h", "usd_per_mtok")


def page(result: Swept) -> Page:
    """The page for people."""
    title = say("{file}: {questions} questions", file=result.file, questions=f"{len(result.questions):,}")
    parts: list[Part] = [_verdict(result), _table(result)]
    parts += [
        Points(items=items, title=title, tone="warn")
        for title, fits in ((say("not answered"), ""), (say("nothing keeps every limit"), "no"))
        if (items := tuple(_reasons(result, fits=fits)))
    ]
    if result.out is not None:
        parts.append(Line(said=say("all answers: {file}", file=result.out), tone="dim"))
    return Page(title=title, parts=tuple(parts))


def _reasons(result: Swept, *, fits: str) -> Iterator[Sentence]:
    """Why questions have no plan, the commonest reason first, with the lines of the grid that ask them."""
    lines: dict[str, dict[int, None]] = {}
    for question, one in zip(result.questions, result.answers, strict=True):
        if one.why and one.cells.get("fits") == fits:
            lines.setdefault(one.why, {})[question.line] = None
    for why, found in sorted(lines.items(), key=lambda pair: -len(pair[1]))[:MOST_ROWS]:
        told = ", ".join(str(line) for line in list(found)[:MOST_LINES])
        more = ", ..." if len(found) > MOST_LINES else ""
        yield say("line {lines}: {reason}", lines=told + more, reason=why)


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
