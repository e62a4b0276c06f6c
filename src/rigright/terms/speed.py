"""What chips reach under an engine: terms of servers and of streams, the format's, and the wires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from rigright.arch.record import Arch
from rigright.cost.speed import rates
from rigright.cost.speed.eras import table_of
from rigright.cost.speed.rates import SUBJECT, Rates, SpeedTerms
from rigright.cost.speed.reach import KERNEL, ElementForm, stored_in
from rigright.cost.speed.reach import stream_terms as terms_in
from rigright.cost.speed.work import PassWork, work_in
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine
from rigright.facts.formats import find_format, find_kv_format
from rigright.terms.fitted import fitted, wire_of

STREAMS = "speed_streams"
MANY = 256  # kinds of chips in an order, with an engine and a format


@cache
def stored(weights: str) -> ElementForm:
    """How an element of a format lies in memory, such as "q4_k_m", or "hqq4/codebook" with its kernel."""
    return stored_in(find_format(weights.partition(KERNEL)[0]), weights=weights)


def speed_terms(
    chips: Sequence[Chip],
    engine: Engine,
    *,
    weights: str,
    tables: Mapping[str, Any] | None = None,
    streams: Mapping[str, Any] | None = None,
) -> SpeedTerms:
    """What is fitted and tabulated of chips; `tables`, `streams`: other terms than ours."""
    serving = fitted(SUBJECT, tables)
    return SpeedTerms(
        chips=tuple(chips),
        engine=engine,
        stored=stored(weights),
        wire=wire_of(chips, engine=engine.id),
        serving=serving,
        streams=(serving.get("streams") if streams is None else streams) or fitted(STREAMS),
    )


def rates_of(
    chips: Sequence[Chip],
    engine: Engine,
    *,
    weights: str,
    tables: Mapping[str, Any] | None = None,
    manner: str = "",
) -> Rates:
    """The rates of chips, in their order; `tables`: other terms than ours, `manner`: how runs are tuned."""
    if tables is None and not manner:
        return _usual_rates(tuple(chips), engine, weights=weights)
    return rates.rates_of(speed_terms(chips, engine, weights=weights, tables=tables), manner=manner)


@lru_cache(MANY)
def _usual_rates(chips: tuple[Chip, ...], engine: Engine, *, weights: str) -> Rates:
    return rates.rates_of(speed_terms(chips, engine, weights=weights))


def stream_terms(
    engine: Engine, *, chip: Chip, weights: str, tables: Mapping[str, Any] | None = None
) -> Mapping[str, Any]:
    """The terms of one chip as a stream; empty where none of the engine are known."""
    streams = fitted(STREAMS, tables)
    return terms_in(streams, engine, chip=chip, stored=stored(weights))


def stream_table(engine: Engine, chip: Chip) -> str | None:
    """The table of streams that applies to an engine on a chip; None where there is none."""
    return table_of(fitted(STREAMS), engine, chip=chip)


def with_streams(tables: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Terms of servers with other terms of streams than ours; None where these are ours."""
    return None if tables is None else {**fitted(SUBJECT), "streams": tables}


def work_of(arch: Arch, *, weights: str, kv: str) -> PassWork:
    """What a forward pass does, with weights and caches of such formats."""
    return work_in(arch, find_format(weights), kv=find_kv_format(kv))
