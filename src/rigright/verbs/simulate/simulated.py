"""What a simulation showed: the load, the machine, what was counted, and what holds it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rigright.base.record import Flat, Inner, derived
from rigright.base.words import Sentence
from rigright.cost.estimate import Estimate
from rigright.demand import Layout, Serving
from rigright.sim.tally import Tally, Targets


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """The same figures as they were measured, where the trace tells them."""

    requests: int
    ttft_s: float
    tpot_s: float
    ttft_error: float  # of the mean: simulated over measured, less one
    tpot_error: float
    request_ttft_error: float  # half of the requests are nearer
    request_tpot_error: float


class Means(NamedTuple):
    """Of all requests, with their bands."""

    ttft_s: Estimate  # to the first token
    tpot_s: Estimate  # from token to token
    output_tok_per_s: Estimate  # of all users


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """One load on one machine, played request by request."""

    model: str
    machine: str
    engine: str
    engine_version: str
    weights_format: str
    kv: str
    policy: str
    serving: Serving  # with what the engine was started for
    layout: Layout
    replicas: int
    prefill_workers: int
    router: str
    pool_tok: int | None  # of one replica; None: nothing grows
    max_seqs: int
    budget_tok: int
    load: Sentence  # in words
    tally: Flat[Tally]
    targets: Targets
    ttft_s: Inner[Estimate]  # means, with their bands
    tpot_s: Inner[Estimate]
    output_tok_per_s: Inner[Estimate]
    audio_h_per_h: float | None = None  # of what transcribes, hours of sound in an hour
    certainty: Mapping[str, float] = field(default_factory=dict)  # by target: the chance that it is met
    rate_per_s: Inner[float | None] = None  # that arrive; None: a closed loop, or a trace
    binds: tuple[Sentence, ...]
    against: Against | None = None
    wrote: Inner[str | None] = None
    notes: tuple[Sentence, ...] = ()
    asked: Inner[str] = ""

    @derived
    def means(self) -> Means:
        """Of all requests, with their bands."""
        return Means(self.ttft_s, self.tpot_s, self.output_tok_per_s)
