"""The page of `sweep`: how many questions were answered where, and the cheapest answers."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base import telling
from rigright.base.page import Column, Line, Page, Points, Table, grouped, table
from rigright.base.units import show_short
from rigright.base.words import Sentence, say
from rigright.facts.chips import short
from rigright.report.pages.brief import short_format
from rigright.report.pages.figures import FIGURES
from rigright.verbs.sweep.sheet import Swept

_MOST_ROWS = 20
_FEW_ROWS = 12  # of one screen
_MOST_LINES = 4  # of the grid, named beside one reason
SHOWN = (  # of an answer: its head and what its number is multiplied by; None: a text
    ("supply", say("machine"), None),
    ("weights", say("format"), None),
    *(
        (name, FIGURES[name].titled(), FIGURES[name].scale)
        for name in ("ttft_s", "tpot_s", "output_tok_per_s")
    ),
    ("days", say("days"), 1.0),
    ("usd_per_h", say("{sign}/hour", sign="$"), 1.0),
    ("usd_per_mtok", FIGURES["usd_per_mtok"].titled(), 1.0),
)


def page(result: Swept, *, details: bool = False) -> Page:
    """The page for people."""
    most = _MOST_ROWS if details else _FEW_ROWS
    rest = Line.dim(say("{count} more rows: --csv", count=len(result.questions) - most))
    few = most if details else 3
    written = say("answers written to {file}", file=result.out)
    missed = list(_reasons(result, fits="no"))[:few]
    return Page.of(
        _verdict(result),
        _table(result, most),
        Points.of(list(_reasons(result, fits=""))[:few], title=say("not answered"), tone="warn"),
        Points.of(missed, title=say("nothing meets every limit"), tone="warn"),
        Line.dim(written) if result.out is not None else rest if len(result.questions) > most else None,
    )


def _reasons(result: Swept, *, fits: str) -> Iterator[Sentence]:
    """Why questions have no plan, the commonest reason first, with the lines of the grid that ask them."""
    pairs = zip(result.questions, result.cells, strict=True)
    unmet = {(cell.why, row.line): None for row, cell in pairs if cell.why and cell.cells.get("fits") == fits}
    for why, lines in sorted(grouped(unmet).items(), key=lambda pair: -len(pair[1]))[:_MOST_ROWS]:
        text = ", ".join(map(str, lines[:_MOST_LINES]))
        more = ", ..." if len(lines) > _MOST_LINES else ""
        yield say("line {lines}: {reason}", lines=text + more, reason=why)


def _verdict(result: Swept) -> Line:
    fits = sum(answered.cells.get("fits") == "yes" for answered in result.cells)
    questions = len(result.questions)
    fields = {"fits": f"{fits:,}", "questions": f"{questions:,}", "kept": f"{result.kept:,}"}
    sentence = say(
        "{fits} of {questions} questions have a plan that meets every limit ({seconds} s, {kept} cached)",
        seconds=f"{result.seconds:.1f}", **fields,
    )  # fmt: skip
    return Line(text=sentence, tone="good" if fits == questions else "warn" if fits else "bad")


def _table(result: Swept, most: int) -> Table:
    asked = [
        name
        for name in dict.fromkeys(name for question in result.questions for name in question.words)
        if len({question.words.get(name) for question in result.questions}) > 1 or name == "model"
    ]
    given = [row for row in SHOWN if any(row[0] in answer.cells for answer in result.cells)]
    pairs = list(zip(result.questions, result.cells, strict=True))[:most]
    return table(
        (
            *(Column(head=name, flexible=name == "model") for name in asked),
            say("fits"),
            *(Column(head=head, flexible=scale is None, right=scale is not None) for _, head, scale in given),
        ),
        (
            (
                *(question.words.get(name, "") for name in asked),
                say("yes") if answer.cells.get("fits") == "yes" else say("no"),
                *(_shown(answer.cells.get(name, ""), scale) for name, _, scale in given),
            )
            for question, answer in pairs
        ),
    )


def _shown(cell: str, scale: float | None) -> str:
    """A cell for people: names as they are said, numbers to three digits."""
    if not cell:
        return ""
    return short(short_format(cell)) if scale is None else show_short(float(cell) * scale)


def sheet(result: Swept) -> Page:
    """Every question with its answer, for a spreadsheet."""
    return Page.of(result.file, table(*result.table))


plain = telling.RecordPrinter(Swept)
