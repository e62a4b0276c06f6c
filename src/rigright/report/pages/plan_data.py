"""What `plan` found, for scripts: JSON (docs/plan-json.md), and one row a plan for a spreadsheet."""

from __future__ import annotations

from rigright.base import telling
from rigright.base.page import Page, table
from rigright.base.words import Sentence
from rigright.report.pages import plan as pages
from rigright.verbs.planning.planned import Planned, as_data, row_of


def _answer_words(result: Planned) -> Sentence | str:
    """The answer as a sentence."""
    return pages.verdict(result).text


def _tone(result: Planned) -> str:
    """How the answer is marked: `good`, `warn`, `bad`."""
    return pages.verdict(result).tone


plain = telling.RecordPrinter(Planned, as_data, verdict=_answer_words, tone=_tone)


def sheet(result: Planned) -> Page:
    """One row a plan, one column a figure, its unit in its name."""
    rows = [{"plan": str(place)} | row_of(plan) for place, plan in enumerate(result.shown, 1)]
    heads = list(dict.fromkeys(name for row in rows for name in row))
    cells = ((row.get(head, "") for head in heads) for row in rows)
    return Page.of(result.model, table(heads, cells))
