"""What is asked of each layout: its load, its limits of time; and how far its figures may be off."""

from __future__ import annotations

from typing import Any

import numpy as np

from rigright.base.record import replace
from rigright.choice.layout import is_staged
from rigright.choice.work import traffic_of as sent
from rigright.demand import Numbers, Traffic
from rigright.facts.anchors import ANY, anchors
from rigright.facts.hosts import CPU
from rigright.predict.bands import case_of
from rigright.predict.kept import RATES, TIMES, UNPROVEN, edges_of
from rigright.search.question import KindWay, Question
from rigright.search.space import LayoutPoints

EDGES = (*(f"{name}_edge" for name in (*TIMES, *RATES)), UNPROVEN)  # how many times worse each may be


def traffic_of(question: Question, load: Numbers, *, way: KindWay) -> Traffic:
    """What is sent to a way."""
    return sent(question.wish, load, arch=question.arch, drafts=way.drafts)


def bounds_of(question: Question) -> dict[str, float]:
    """The limits of time that a free load is as high as: those that were named, else what everybody wants."""
    named = {"ttft_s": question.wish.ttft_s, "tpot_s": question.wish.tpot_s}
    return question.comfort_s | {name: bound for name, bound in named.items() if bound is not None}


def edges_at(question: Question, way: KindWay, *, points: LayoutPoints) -> dict[str, Numbers]:
    """How many times worse each figure of a layout may be in one case of ten, as people are told."""
    kinds = [question.kinds[place] for place in way.kinds]
    alone = [kind.chip.vendor == CPU for kind in kinds]
    hosts = tuple(
        kind.host if way.offload is not None or cpu else None for kind, cpu in zip(kinds, alone, strict=True)
    )
    asked: Any = {"engine": way.engine, "kinds": tuple(kind.chips for kind in kinds), "hosts": hosts}
    apart = bool(len(points) and points.prefill_dp[0] > 0)
    loads, staged = np.nan_to_num(points.load), is_staged(way.engine.split, points.pp)
    if any(anchor.chip in {chip.id for kind in kinds for chip in kind.chips} for anchor in anchors()):
        pairs, place = np.unique(np.stack([loads, points.n_chips]), axis=1, return_inverse=True)
        cases = [
            case_of(traffic_of(question, load, way=way), way.weights, chips=float(cards))
            for load, cards in pairs.T
        ]
    else:
        place, cases = np.zeros(len(points), dtype=int), [ANY]
    values = {name: np.ones(len(points)) for name in EDGES}
    for number, case in enumerate(cases):
        for cut in (False, True):
            mine = (place.ravel() == number) & (staged == cut)
            edges = edges_of(question.arch, case=replace(case, apart=apart, staged=cut), **asked)
            for name in (*TIMES, *RATES):
                values[f"{name}_edge"][mine] = edges[name][points.row[mine]]
            values[UNPROVEN][mine] = edges[UNPROVEN][points.row[mine]]
    return values
