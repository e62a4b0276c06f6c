"""Speed of training runs: rows of a table read for time, alike ones priced at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.tables import Row
from rigright.base.words import Sentence, say
from rigright.cost.training_setup import set_up
from rigright.cost.training_time import training_rates, training_time
from rigright.cost.training_towers import trunk_of
from rigright.demand import Layout, Training
from rigright.facts.chips import Chip, by_id
from rigright.facts.find import find_chip
from rigright.verbs.validate.training_layouts import best_layout
from rigright.verbs.validate.training_rows import MEGATRON, TrainingQuestion

SPREAD_OF_LENGTHS = 1.5  # the longest sample of a batch over their mean, where lengths vary
DEEP = 8  # micro-batches for each stage, where nobody tells how many a step gathers
COUNTS = ("micro_batch", "seq_tok", "accumulate", "virtual_stages", "padded", "imbalance")
ONES: dict[str, Any] = dict.fromkeys(COUNTS, 1)
CUTS = ("tp", "pp", "dp", "ep", "cp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A row as the law of time takes it."""

    arch: Arch
    training: Training
    layout: Layout
    chip: Chip
    assumed: tuple[Sentence, ...]


def read_timed(row: Row, asked: TrainingQuestion) -> Timed:
    """What was trained, as it bears on time; what the row leaves open is assumed and said."""
    if not row.get("chip"):
        raise AskError(say("the row has no chip"))
    chip = by_id().get(row["chip"]) or find_chip(row["chip"])
    assumed = list(asked.assumed)
    training = _training(row, asked.training, assumed=assumed)
    # megatron divides norms over tensor ranks unless told not to; replicas are what the chips leave
    layout = asked.layout
    parallel = (
        asked.training.trainer in MEGATRON and layout.tp > 1 and row.get("sequence_parallel") is not False
    )
    cut = layout.tp * layout.pp * layout.cp
    replicas = max(1, int(row["n_chips"]) // cut) if row.get("n_chips") else layout.dp
    layout = replace(layout, dp=replicas, sequence_parallel=parallel or layout.sequence_parallel)
    if layout.dp != asked.layout.dp or training.accumulate is None:
        training = replace(training, accumulate=_accumulate(row, training, layout=layout))
    # whether a row of a trainer that cuts models says nothing of how
    told = any(row.get(name) for name in ("tp", "pp"))
    is_open = training.trainer in MEGATRON and not told and (row.get("n_chips") or 1) > 1
    if is_open:
        layout = best_layout(asked.arch, training, chip=chip, row=row)
        training = replace(training, accumulate=_accumulate(row, training, layout=layout))
        assumed.append(
            say(
                "no layout given: using the fastest that fits, tp {tp} pp {pp} cp {cp} dp {dp}",
                tp=layout.tp,
                pp=layout.pp,
                cp=layout.cp,
                dp=layout.dp,
            )
        )
    if training.accumulate is None:
        training = replace(training, accumulate=DEEP * layout.pp if layout.pp > 1 else 1)
        assumed.append(
            say("global_batch not stated: assuming {count} micro-batches", count=training.accumulate)
        )
    return Timed(arch=asked.arch, training=training, layout=layout, chip=chip, assumed=tuple(assumed))


def _training(row: Row, training: Training, *, assumed: list[Sentence]) -> Training:
    mean = row.get("mean_tok")
    if mean is None:
        return training
    # of what is counted with its padding, nothing is lost
    spread = 1.0 if row.get("padding_counted") else SPREAD_OF_LENGTHS
    longest = min(int(mean * spread), training.seq_tok)
    assumed.append(say("samples vary: assuming batches of {tokens} tokens", tokens=longest))
    return replace(training, seq_tok=longest, padded=1 - mean / longest)


def _accumulate(row: Row, training: Training, *, layout: Layout) -> int | None:
    batch = row.get("global_batch")
    return None if batch is None else max(1, int(batch / (training.micro_batch * layout.dp)))


def tok_per_s(timed: Sequence[Timed], *, terms: Mapping[str, Any] | None = None) -> np.ndarray:
    """Tokens a second and chip of each, in their order; alike ones in one go."""
    found = np.full(len(timed), np.nan)
    for places in alike(timed):
        found[list(places)] = _priced([timed[place] for place in places], terms=terms)
    return found


def alike(timed: Sequence[Timed]) -> tuple[tuple[int, ...], ...]:
    """Places of rows that differ only in numbers."""
    groups: dict[Any, list[int]] = {}
    for place, one in enumerate(timed):
        plain = replace(one.training, **ONES)
        groups.setdefault((id(one.arch), plain, one.layout.sequence_parallel), []).append(place)
    return tuple(tuple(places) for places in groups.values())


def _priced(timed: Sequence[Timed], *, terms: Mapping[str, Any] | None) -> np.ndarray:
    first = timed[0]
    counts: dict[str, Any] = {
        name: np.array([getattr(one.training, name) for one in timed]) for name in COUNTS
    }
    cuts: dict[str, Any] = {name: np.array([getattr(one.layout, name) for one in timed]) for name in CUTS}
    training, layout = replace(first.training, **counts), replace(first.layout, **cuts)
    setup = set_up(training, hidden=trunk_of(first.arch).hidden)
    rates = training_rates([one.chip for one in timed], setup, terms=terms)
    told = training_time(first.arch, training, layout=layout, rates=rates)
    return np.asarray(told.tok_per_s_per_chip)


def _columns(records: Sequence[Training] | Sequence[Layout], names: Sequence[str]) -> dict[str, Any]:
    return {name: np.array([getattr(record, name) for record in records]) for name in names}
