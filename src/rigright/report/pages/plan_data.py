"""What `plan` found, for scripts: JSON (docs/plan-json.md), and one row a plan for a spreadsheet."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from rigright.base.words import tell
from rigright.demand import Layout, Offload, Serving
from rigright.report.page import Column, Page, Table
from rigright.report.pages import plan as pages
from rigright.report.pages import plan_words as words
from rigright.report.pages.plan_details import ranks_of
from rigright.report.pages.speed import plain_estimate
from rigright.report.planned import Addition, Planned
from rigright.search.record import Plan, Rejection

CUTS = ("tp", "pp", "dp", "ep", "cp")


def plain(result: Planned, language: str) -> dict[str, Any]:
    """Everything, in SI units, bytes, tokens and dollars."""
    found, answer = result.found, pages.verdict(result)
    return {
        "model": result.model,
        "model_asked": result.model_asked,
        "params": result.params,
        "active_params": result.active_params,
        "licence": result.licence,
        "wish": {field.name: _bare(getattr(result.wish, field.name)) for field in fields(result.wish)},
        "fits": result.fits,
        "verdict": tell(answer.said, language),
        "tone": answer.tone,
        "plans": [plain_plan(plan, language) for plan in found.plans],
        "nearest": None if found.nearest is None else plain_plan(found.nearest, language),
        "steps": [_addition(one, language) for one in result.steps],
        "broken": [_rejection(one) for one in found.broken],
        "why_not": [_rejection(one) for one in found.rejections],
        "looked_at": found.looked_at,
        "chips": found.chips,
        "today": result.today,
        "why": [
            {"part": one.part, "formula": one.formula, "numbers": one.facts, "source": one.source}
            for one in result.reasons
        ],
        "notes": list(result.notes),
    }


def plain_plan(plan: Plan, language: str) -> dict[str, Any]:
    """One plan."""
    return {
        "machine": words.machine(plan),
        "chip": plan.chip.id,
        "n_chips": plan.n_chips,
        "n_nodes": plan.n_nodes,
        "supply": {
            "how": plan.supply.how,
            "label": plan.supply.label,
            "n_units": plan.supply.n_units,
            "used": plan.supply.used,
            "usd": plain_estimate(plan.supply.usd),
            "host_usd": plain_estimate(plan.supply.host_usd),
            "usd_per_h": plain_estimate(plan.supply.usd_per_h),
            "as_of": plan.supply.as_of,
            "stale": plan.supply.stale,
            "n_chips": plan.supply.n_chips,
        },
        "layout": _layout(plan.layout),
        "prefill": None if plan.prefill is None else _layout(plan.prefill),
        "drafts": {field.name: getattr(plan.drafts, field.name) for field in fields(plan.drafts)},
        "work": {field.name: _bare(getattr(plan.work, field.name)) for field in fields(plan.work)},
        "concurrency": plan.concurrency,
        "figures": {name: plain_estimate(one) for name, one in plan.figures.items()},
        "memory": [{part: round(size) for part, size in one} for one in ranks_of(plan)],
        "rank_bytes": plain_estimate(plan.rank_bytes),
        "room_bytes": round(plan.room_bytes),
        "bound": plan.bound,
        "held": dict(plan.held),
        "machines_needed": plan.machines_needed,
        "in_ram": None if plan.in_ram is None else tell(plan.in_ram, language),
        "reasons": [tell(reason, language) for reason in plan.reasons],
        "notes": [tell(note, language) for note in plan.notes],
    }


def _layout(layout: Layout) -> dict[str, Any]:
    return {name: getattr(layout, name) for name in CUTS} | {"attention_dp": layout.attention_dp}


def _rejection(one: Rejection) -> dict[str, Any]:
    return {
        "label": one.label,
        "reason": one.reason,
        "limit": one.limit,
        "usd_per_h": one.usd_per_h,
        "nearest": one.nearest,
    }


def _bare(value: Any) -> Any:
    if isinstance(value, Offload):
        return {"layers": value.layers, "experts": value.experts}
    return list(value) if isinstance(value, tuple) else value


def _addition(one: Addition, language: str) -> dict[str, Any]:
    """Something to add, what it costs and what the model then does."""
    return {
        "kind": one.kind,
        "label": tell(one.label, language),
        "on": one.on,
        "usd": plain_estimate(one.usd),
        "usd_per_h": plain_estimate(one.usd_per_h),
        "plan": plain_plan(one.plan, language),
    }


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
