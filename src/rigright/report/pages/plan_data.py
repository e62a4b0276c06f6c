"""What `plan` found, for scripts: JSON (docs/plan-json.md), and one row a plan for a spreadsheet."""

from __future__ import annotations

from rigright.base import telling
from rigright.base.words import Sentence
from rigright.demand import Serving
from rigright.report.page import Column, Page, Table
from rigright.report.pages import plan as pages
from rigright.report.pages import plan_words as words
from rigright.report.planned import Planned
from rigright.search.record import Plan

CUTS = ("tp", "pp", "dp", "ep", "cp")


def _said(result: Planned) -> Sentence | str:
    """The answer as a sentence."""
    return pages.verdict(result).said


def _tone(result: Planned) -> str:
    """How the answer is marked: `good`, `warn`, `bad`."""
    return pages.verdict(result).tone


plain = telling.Told(Planned, words.plan_told, verdict=_said, tone=_tone)


def sheet(result: Planned) -> Page:
    """One row a plan, one column a figure, its unit in its name."""
    rows = [{"plan": str(place)} | row_of(plan) for place, plan in enumerate(result.shown, 1)]
    heads = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(
        columns=tuple(Column(head=head) for head in heads),
        rows=tuple(tuple(row.get(head, "") for head in heads) for row in rows),
    )
    return Page(title=result.model, parts=(table,))


def row_of(plan: Plan) -> dict[str, str]:
    """A plan as flat cells: what it is, then each figure with its low and high."""
    work = plan.work
    row: dict[str, object] = {
        "chip": plan.chip.id,
        "n_chips": plan.n_chips,
        "n_nodes": plan.n_nodes,
        "how": plan.supply.how,
        "supply": plan.supply.label,
        **{name: getattr(plan.layout, name) for name in CUTS},
        "prefill": "" if plan.prefill is None else words.pool(plan.prefill),
        "engine": work.engine if isinstance(work, Serving) else work.trainer,
        "weights": work.weights if isinstance(work, Serving) else work.method,
        "kv": work.kv if isinstance(work, Serving) else "",
        "concurrency": "" if plan.concurrency is None else f"{plan.concurrency:g}",
        "bound": plan.bound,
    }
    for name, one in plan.figures.items():
        row |= {name: f"{one.value:.6g}", f"{name}_low": f"{one.low:.6g}", f"{name}_high": f"{one.high:.6g}"}
    row |= {"price_as_of": plan.supply.as_of or "", "price_stale": "yes" if plan.supply.stale else "no"}
    return {name: str(value) for name, value in row.items()}
