"""What somebody said of a load and of how it is served; None was left to us."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.base.errors import AskError, unknown
from rigright.base.words import say
from rigright.sim.fleet import ROUTERS
from rigright.sim.load import CLOSED, LOOPS, PROCESSES

USUAL, ROUNDS = 1000, 4  # requests to play; at least so many for each user
MOST_REQUESTS = 5_000_000
MOST_REPLICAS = 4096
MOST_TOK = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayWish:
    """The load, the policy, the targets."""

    trace: str | None = None
    setup: str | None = None
    requests: int | None = None
    rate_per_s: float | None = None
    concurrency: int | None = None
    prompt_tok: int = 1024
    output_tok: int = 256
    cached_share: float = 0.0  # of each prompt
    prompt_spread: float = 0.0  # standard deviation over mean
    output_spread: float | None = None  # None: of users that go on a little, else none
    arrivals: str | None = None
    gap_spread: float = 2.0  # gamma
    burst: int = 10
    period_s: float = 86_400.0
    think_s: float = 0.0
    turns: float | None = None  # of a session
    shared_tok: int | None = None  # that all prompts begin with
    seed: int = 0
    policy: str | None = None
    chunks: bool | None = None  # prompts may be cut over passes
    replicas: int = 1
    router: str = "least-busy"
    prefill_workers: int = 0  # of the same machine, for prompts alone
    ttft_s: float | None = None
    tpot_s: float | None = None
    percentile: float | None = None  # the share of requests that targets hold for; None: on average

    @property
    def count(self) -> int:
        """Requests to play."""
        return self.requests or max(USUAL, ROUNDS * (self.concurrency or 0))

    @property
    def is_loop(self) -> bool:
        """Whether each user asks again once he has his answer."""
        return self.trace is None and self.process in LOOPS

    @property
    def process(self) -> str:
        """How requests arrive."""
        return self.arrivals or (CLOSED if self.rate_per_s is None else "poisson")


def check(wish: PlayWish) -> None:
    """Refuse what no load can be."""
    _check_counts(wish)
    if wish.router not in ROUTERS:
        raise unknown(say("router"), wish.router, known=ROUTERS)
    if wish.trace is not None:
        return
    kinds = (*PROCESSES, *sorted(LOOPS))
    if wish.process not in kinds:
        raise unknown(say("arrival process"), wish.process, known=kinds)
    if wish.rate_per_s is None and wish.concurrency is None:
        raise AskError(
            say("no load given: add --rate, --concurrency or --trace"),
            hint=say("for example {example}", example="--users 8"),
        )
    if (wish.process in LOOPS) != (wish.concurrency is not None):
        raise AskError(
            say("--arrivals {kind} needs another load: closed and together take --concurrency, others --rate",
                kind=wish.process)
        )  # fmt: skip


def _check_counts(wish: PlayWish) -> None:
    counts = {
        "requests": (wish.requests, MOST_REQUESTS),
        "concurrency": (wish.concurrency, MOST_REQUESTS),
        "prompt": (wish.prompt_tok, MOST_TOK),
        "output": (wish.output_tok, MOST_TOK),
        "burst": (wish.burst, MOST_REQUESTS),
        "replicas": (wish.replicas, MOST_REPLICAS),
        "prefill-workers": (wish.prefill_workers or None, MOST_REPLICAS),
    }
    for name, (value, most) in counts.items():
        if value is not None and not 1 <= value <= most:
            raise AskError(
                say("--{name} must be 1 to {most}, got {value}", name=name, value=value, most=f"{most:,}")
            )
    if not 0 <= wish.cached_share < 1:
        raise AskError(say("--cached must be at least 0 and below 1, got {share}", share=wish.cached_share))
    if not 0 <= wish.seed < 2**64:
        raise AskError(say("--seed must be a whole number of 0 or more, got {seed}", seed=wish.seed))
