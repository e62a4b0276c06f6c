"""What a row of a table of runs asks, in the words in which every serving is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass, replace
from rigright.base.words import Sentence
from rigright.choice.case import Case, serving_case
from rigright.choice.layout import open_layouts
from rigright.cost.unsaid import Prior
from rigright.demand import Layout, Serving, Traffic
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine
from rigright.facts.nodes import Card, find_node
from rigright.predict.cases import CaseGroup, figures, prepared, serves_most
from rigright.predict.streams import StreamGroup
from rigright.predict.told import figure_in


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAsk:
    """One row: what it says, what stands in for what it leaves open, and what that may be instead."""

    arch: Arch
    engine: Engine
    card: Card
    chips: int
    serving: Serving
    traffic: Traffic
    layout: Layout | None  # None: not told, the best there is
    prefill: Layout | None = None  # where prompts have workers of their own; `layout` is then of the others
    metric: str
    unsaid: tuple[Prior, ...] = ()  # that decides the figure
    assumed: tuple[Sentence, ...] = ()
    is_alone: bool = False  # a stream or a static batch, with no server around it
    is_cut: bool = True  # the row tells how experts and attention share the chips
    ran: bool = False  # it is of a run that somebody made
    manner: str = ""  # how such runs are tuned
    samples: float = 0.0  # that the tower for pictures works on, for a request
    median: bool = False  # its TPOT is that of the middle pass, not the mean
    kernel: str = ""  # that reads the weights, where a row tells it
    file_gib: float | None = None  # of the very file
    seen_tok: float = 0.0  # in the cache before the prompt
    prompt_left_out: bool = False  # of the time that was measured
    on_device: bool = False  # the memory is as the driver shows it, not the framework

    @property
    def chip(self) -> Chip:
        """The accelerator."""
        return self.card.chip

    @property
    def told_layout(self) -> Layout:
        """The layout told; of rows that tell none, one card."""
        return self.layout or Layout()

    @property
    def figure(self) -> str:
        """What it measures."""
        return "itl_ms" if self.metric == "tpot_ms" and self.median else self.metric

    @property
    def cases(self) -> tuple[Case, ...]:
        """What ran, or may have: one for each layout where nobody tells it."""
        sent, seen = self.traffic, self.seen_tok
        if self.is_alone:
            sent = replace(sent, prompt_tok=seen + sent.prompt_tok, cached_tok=seen)
        case = serving_case(
            self.arch,
            replace(self.serving, batch=None),
            layout=self.told_layout,
            cards=(self.card,) * self.chips,
            engine=self.engine,
            traffic=sent,
            prefill=self.prefill,
            manner=self.manner,
            samples=self.samples,
            kernel=self.kernel,
            file_gib=self.file_gib,
            ran=self.ran and self.layout is not None,
            is_alone=self.is_alone,
            prompt_left_out=self.prompt_left_out,
        )
        if self.layout is not None and self.is_cut:
            return (case,)
        cuts = open_layouts(self.arch, self.engine, cards=self.chips, told=self.layout)
        return tuple(replace(case, layout=cut) for cut in cuts)


@cache
def first_card(chip: str) -> Card:
    """A file of runs names few chips, many times."""
    return find_node(chip).cards[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSet:
    """Rows whose figures are asked for together, as cases in the groups that the laws take."""

    asks: tuple[RunAsk, ...]
    run_of: np.ndarray  # of each row, its run: one run tells of itself in several rows
    owner: np.ndarray  # of each case, its run
    cases: tuple[Case, ...]
    groups: tuple[CaseGroup | StreamGroup, ...]

    def figures(self, tables: Mapping[str, Any] | None = None) -> np.ndarray:
        """What each row measures, in its unit: of the layout that is told, or of that which serves most."""
        found, best = figures(self.groups, tables=tables), np.arange(len(self.owner))
        if len(best) > len(set(self.owner.tolist())):
            most = serves_most(found, self.cases)
            order = np.lexsort((-best, most, self.owner))
            best = order[np.flatnonzero(np.diff(self.owner[order], append=-1))]
        at = best[self.run_of]
        told = {name: figure_in(found, name) for name in {ask.figure for ask in self.asks}}
        columns = [told[ask.figure] for ask in self.asks]
        return np.array(
            [np.nan if one is None else one[place] for one, place in zip(columns, at, strict=True)]
        )


def runs_of(asks: Sequence[RunAsk]) -> RunSet:
    """Such rows, each run once."""
    runs: dict[RunAsk, int] = {}
    run_of = [
        runs.setdefault(replace(ask, metric="", median=False, assumed=(), unsaid=()), len(runs))
        for ask in asks
    ]
    each = [run.cases for run in runs]
    cases = tuple(case for some in each for case in some)
    return RunSet(
        asks=tuple(asks),
        run_of=np.array(run_of, dtype=int),
        owner=np.repeat(np.arange(len(each)), [len(some) for some in each]),
        cases=cases,
        groups=prepared(cases),
    )
