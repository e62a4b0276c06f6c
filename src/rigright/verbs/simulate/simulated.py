"""What a simulation showed: the load, the machine, what was counted, and what holds it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
    tally: Tally
    targets: Targets
    ttft_s: Estimate  # means, with their bands
    tpot_s: Estimate
    output_tok_per_s: Estimate
    certainty: Mapping[str, float] = field(default_factory=dict)  # by target: the chance that it is met
    rate_per_s: float | None = None  # that arrive; None: a closed loop, or a trace
    binds: tuple[Sentence, ...]
    against: Against | None = None
    wrote: str | None = None
    notes: tuple[Sentence, ...] = ()
    asked: str = ""

    TOLD = """
        model machine engine engine_version weights_format kv policy replicas prefill_workers router
        pool_tok max_seqs budget_tok serving
        layout{tp pp dp ep cp attention_dp sequence_parallel} load
        targets{ttft_s tpot_s percentile} certainty
        means=.{ttft_s tpot_s output_tok_per_s}
        *tally binds against notes
    """
