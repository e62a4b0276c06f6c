"""One stream or a static batch: seconds per output token and per prompt, on one GPU or several.

A prompt goes through in chunks of the engine's micro-batch. With layers on several GPUs, an output token
visits them one after another; only prompts of several chunks keep more than one GPU busy.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from rigright.base.record import replace
from rigright.cost.speed.pipeline import pipeline_gain
from rigright.cost.speed.rates import Rates, SpeedTerms, rates_of
from rigright.cost.speed.step import Pass, step
from rigright.cost.speed.work import PassWork
from rigright.demand import Layout, Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """What chips reach in an engine, and how it goes through prompts and cards; one entry a chip."""

    rates: Rates
    ubatch_tok: Numbers = np.inf  # tokens of a prompt worked on at once
    graph_tok: Numbers = np.inf  # longest context that a recorded graph of a pass covers
    bare_layer_s: Numbers = 0.0  # the host's time for a layer without one
    prompt_start_s: Numbers = 0.0  # before a prompt
    talk_s: Numbers = 0.0  # from a token to its reader: sampling, words, an interpreter
    row_card_s: Numbers = 0.0  # above 0: rows are cut over cards; what a layer then costs for each card

    def at(self, places: Numbers) -> Stream:
        """Entries by their places in the list of chips: one a run."""
        stream: Stream = _taken(self, np.asarray(places))
        return stream


_TERMS = (
    "ubatch_tok",
    "row_card_s",
    "talk_s",
    "graph_tok",
    "bare_layer_s",
    "prompt_start_s",
)


def stream_of(given: SpeedTerms) -> Stream:
    """What chips reach for a stream; engines without terms of their own go by their serving rates."""
    rates, terms = rates_of(given), given.of_streams
    if not all(terms):
        return Stream(rates=rates)
    return Stream(rates=rates, **{name: np.array([term[name] for term in terms]) for name in _TERMS})


def token_s(
    work: PassWork, stream: Stream, *, layout: Layout, seqs: Numbers, context_tok: Numbers
) -> Numbers:  # fmt: skip
    """Seconds in which each of `seqs` sequences makes its next token. `layout.pp`: cards with layers each."""
    content = Pass(decode_seqs=seqs, decode_context_tok=context_tok)
    time = _pass_s(work, stream, layout=layout, content=content)
    bare = np.maximum(time, work.layers * stream.bare_layer_s)
    return np.where(context_tok > stream.graph_tok, bare, time)


def prompt_s(
    work: PassWork, stream: Stream, *, layout: Layout, content: Pass
) -> Numbers:  # fmt: skip
    """Seconds for the prompts of `content`; `prefill_seen_tok` are keys that are there before them."""
    each = content.prefill_tok / np.maximum(content.prefill_seqs, 1)
    passes = np.ceil(each / stream.ubatch_tok) if np.all(np.isfinite(stream.ubatch_tok)) else 1.0
    item = replace(
        content,
        prefill_tok=content.prefill_tok / passes,
        prefill_seen_tok=content.prefill_seen_tok + each / 2,
    )
    serial = passes * _pass_s(work, stream, layout=layout, content=item)
    return stream.prompt_start_s + serial / pipeline_gain(work, stream.rates, cards=layout.pp, passes=passes)


def _pass_s(work: PassWork, stream: Stream, *, layout: Layout, content: Pass) -> Numbers:
    cards = np.asarray(layout.pp, dtype=float)
    rows = np.asarray(stream.row_card_s) > 0
    cut = replace(layout, tp=np.where(rows, cards, layout.tp), pp=np.where(rows, 1, cards))
    time = step(work, stream.rates, layout=cut, content=content)
    summed = np.where(rows & (cards > 1), work.layers * stream.row_card_s * cards, time.link_s)
    return time.total_s - time.link_s + summed


def _taken(record: Any, places: np.ndarray) -> Any:
    """A record with the same entries taken of each of its arrays."""
    taken = {}
    for each in fields(record):
        value = getattr(record, each.name)
        if is_dataclass(value):
            taken[each.name] = _taken(value, places)
        else:
            taken[each.name] = value[places] if np.ndim(value) else value
    return replace(record, **taken)
