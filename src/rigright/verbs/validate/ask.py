"""What a row of a table of runs asks, in the words in which every serving is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.base.record import dataclass, replace
from rigright.base.tables import Row
from rigright.base.words import Sentence, say
from rigright.choice.case import Case
from rigright.choice.layout import open_layouts
from rigright.cost.unsaid import Prior
from rigright.demand import Traffic
from rigright.facts.chips import Chip
from rigright.facts.hosts import Host, host_chip
from rigright.facts.nodes import Card, Node, find_node
from rigright.facts.units import devices_of
from rigright.predict.bands import figure_in
from rigright.predict.cases import AnyCases, figures, prepared, serves_most
from rigright.verbs.validate.record import lookup

_BYTES = 256  # no vocabulary is smaller than the bytes it must spell


def model_of(row: Row) -> tuple[Arch, tuple[Sentence, ...]]:
    """The Arch of a row, and what was assumed to find it."""
    if row.get("arch"):
        return _open(row["arch"]), ()
    if row.get("shape"):
        shape, notes = _plausible(row["shape"])
        return _open(shape), notes
    if row.get("model"):
        arch = _open(row["model"])
        return arch, arch.warnings  # which model a short name was taken for
    raise AskError(say("the row has no model: arch, shape and model are empty"))


def _plausible(shape: str) -> tuple[str, tuple[Sentence, ...]]:
    """A vocabulary below 256 was written in thousands."""
    pairs = [pair.partition("=") for pair in shape.split(",")]
    vocab = next((value.strip() for key, _, value in pairs if key.strip() == "vocab"), "")
    if not vocab.isdecimal() or not 0 < int(vocab) < _BYTES:
        return shape, ()
    meant = shape.replace(f"vocab={vocab}", f"vocab={vocab}000")
    return meant, (say("vocab={vocab} read as thousands", vocab=vocab),)


@cache
def _open(asked: str) -> Arch:
    return open_model(asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAsk:
    """One row: what it says, what stands in for what it leaves open, and what that may be instead."""

    case: Case  # of rows that tell no layout, each replica on one card
    metric: str
    unsaid: tuple[Prior, ...] = ()  # that decides the figure
    assumed: tuple[Sentence, ...] = ()
    is_laid_out: bool = True  # the row tells a layout; else it was the best there is
    is_cut: bool = True  # and how experts and attention share the chips
    median: bool = False  # its TPOT is that of the middle pass, not the mean
    on_device: bool = False  # the memory is as the driver shows it, not the framework

    @property
    def chip(self) -> Chip:
        """The accelerator."""
        return self.case.cards[0].chip

    @property
    def traffic(self) -> Traffic:
        """What is sent, of a row of speed."""
        assert self.case.traffic is not None  # noqa: S101 - those of memory alone have none
        return self.case.traffic

    @property
    def host(self) -> Host | None:
        """The machine whose main memory holds a part of the model, or all; None: cards hold it."""
        return None if self.case.beside is None else self.case.host

    @property
    def timed(self) -> Chip:
        """What decides its time, and is known least: the processor where main memory holds a part."""
        return self.chip if self.host is None else host_chip(self.host)

    def sent(self, **changes: Any) -> RunAsk:
        """The same with something else sent."""
        return replace(self, case=replace(self.case, traffic=replace(self.traffic, **changes)))

    @property
    def figure(self) -> str:
        """What it measures."""
        return "itl_ms" if self.metric == "tpot_ms" and self.median else self.metric

    @property
    def cases(self) -> tuple[Case, ...]:
        """What ran, or may have: one for each layout where nobody tells it."""
        case, flag = self.case, self.is_laid_out
        if flag and self.is_cut:
            return (case,)
        cuts = open_layouts(
            case.arch, case.engine, cards=len(case.cards), layout=case.layout if flag else None
        )
        return tuple(replace(case, layout=cut) for cut in cuts)


def is_encoding(row: Row) -> bool:
    """Whether a row's batch goes through an encoder once: nothing is generated."""
    return row.get("metric") == "latency_ms" and row.get("output_tok") == 0


def card_of(chip: str | None) -> Card:
    """The card that a row names."""
    if not chip:
        raise AskError(say("the row has no chip"))
    return first_card(chip)


@cache
def node_of(chip: str) -> Node | None:
    """The cards that a cell names and may count, "8x h100"; None: that is stated where it is read."""
    node = lookup(find_node, chip) if chip else None
    return node if node is not None and node.cards else None


def count_of(node: Node) -> int:
    """How many of them it counts, of cards as they are sold."""
    return node.n_cards // devices_of(node.cards[0].chip)


def most_bytes(chip: Chip) -> float:
    """The largest memory that the chip comes with."""
    return max(chip.mem_bytes, *chip.mem_options_bytes, 0.0)


@cache
def first_card(chip: str) -> Card:
    """A file of runs names few chips, many times."""
    return find_node(chip).cards[0]


def usual(row: Row, column: str, *, value: Any, assumed: list[Sentence]) -> Any:
    """What a cell says; where it is empty, what it usually would, which is then stated."""
    if row.get(column) is not None:
        return row[column]
    assumed.append(unstated(column, value))
    return value


def unstated(column: str, value: object) -> Sentence:
    """What stands in for a cell that is empty."""
    return say("{column} not stated: assuming {value}", column=column, value=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSet:
    """Rows whose figures are asked for together, as cases in the groups that the laws take."""

    asks: tuple[RunAsk, ...]
    run_of: np.ndarray  # of each row, its run: one run tells of itself in several rows
    owner: np.ndarray  # of each case, its run
    cases: tuple[Case, ...]
    groups: tuple[AnyCases, ...]

    def figures(self, tables: Mapping[str, Any] | None = None) -> np.ndarray:
        """What each row measures, in its unit: of the layout that is stated, or of that which serves most."""
        values, best = figures(self.groups, tables=tables), np.arange(len(self.owner))
        if len(best) > len(set(self.owner.tolist())):
            most = serves_most(values, self.cases)
            order = np.lexsort((-best, most, self.owner))
            best = order[np.flatnonzero(np.diff(self.owner[order], append=-1))]
        at = best[self.run_of]
        given = {name: figure_in(values, name) for name in {ask.figure for ask in self.asks}}
        columns = [given[ask.figure] for ask in self.asks]
        return np.array(
            [np.nan if item is None else item[place] for item, place in zip(columns, at, strict=True)]
        )


def runs_of(asks: Sequence[RunAsk]) -> RunSet:
    """Such rows, each run once."""
    runs: dict[object, int] = {}
    each: list[tuple[Case, ...]] = []
    run_of = []
    for ask in asks:
        run_of.append(runs.setdefault((ask.case, ask.is_laid_out, ask.is_cut), len(runs)))
        if len(runs) > len(each):
            each.append(ask.cases)
    cases = tuple(case for some in each for case in some)
    return RunSet(
        asks=tuple(asks),
        run_of=np.array(run_of, dtype=int),
        owner=np.repeat(np.arange(len(each)), [len(some) for some in each]),
        cases=cases,
        groups=prepared(cases),
    )
