"""What somebody said of a load and of how it is served, in options or in the setup beside a trace."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import AskError, DataError, unknown
from rigright.base.files import read_bounded
from rigright.base.units import MIB
from rigright.base.words import Sentence, say
from rigright.demand import ServingWish
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


MOST_BYTES = MIB
MOST_CHARS = 200
MOST_COUNT = 2**31
PLAIN_KV = {"bf16", "fp16", "float16", "bfloat16", "auto", "16bit"}
NEEDED = ("chip", "arch")
TEXTS = ("chip", "arch", "engine", "engine_version", "weights", "kv", "source")
COUNTS = {
    "n_chips": None, "tp": "tp", "pp": "pp", "dp": "dp", "ep": "ep", "max_num_seqs": "max_seqs",
    "max_num_batched_tokens": "budget_tok", "max_model_len": "context_tok",
}  # fmt: skip
FLAGS = ("prefix_caching",)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationSetup:
    """What a setup says, in our words."""

    model: str
    machine: str
    wish: ServingWish
    max_context_tok: int | None
    notes: tuple[Sentence, ...] = ()


def read_setup(asked: str) -> SimulationSetup:
    """Read a setup; a field that is wrong is named."""
    name = Path(asked).name
    given = _object(asked, name)
    fields: dict[str, Any] = {field: _field(given, field, name=name) for field in _READERS}
    for field in NEEDED:
        if fields[field] is None:
            raise DataError(say("{file} has no {field}", file=name, field=field))
    ranks = math.prod(fields[cut] or 1 for cut in ("tp", "pp", "dp"))
    engine = fields["engine"] or "vllm"
    counts = {ours: fields[theirs] for theirs, ours in COUNTS.items() if ours is not None}
    if counts["tp"] is not None:  # it ran: what nobody names there was not turned on
        counts |= {"ep": counts["ep"] or 1, "attention_dp": False}
    return SimulationSetup(
        model=fields["arch"],
        machine=f"{fields['n_chips'] or ranks}x {fields['chip']}",
        wish=ServingWish(
            engine=f"{engine} {fields['engine_version']}" if fields["engine_version"] else engine,
            weights=fields["weights"],
            kv="16bit" if fields["kv"] in PLAIN_KV else fields["kv"],
            utilisation=fields["util"],
            **counts,
        ),
        max_context_tok=fields["max_model_len"],
        notes=_unread(given),
    )


def _object(asked: str, name: str) -> dict[str, Any]:
    content = read_bounded(asked, MOST_BYTES)
    try:
        value = bounded_json(content.decode("utf-8-sig"), unknown="NaN")
    except ValueError:
        raise DataError(say("{file} is not JSON", file=name)) from None
    if not isinstance(value, dict):
        raise DataError(say("{file} is not a JSON object with fields such as chip and arch", file=name))
    return value


def _field(fields: dict[str, Any], field: str, *, name: str) -> Any:
    value = fields.get(field)
    if value is None:
        return None
    try:
        return _READERS[field](value)
    except (TypeError, ValueError, OverflowError):
        shown = json.dumps(value)[:MOST_CHARS]
        raise DataError(
            say("{file}, field {field}: cannot read {value}", file=name, field=field, value=shown)
        ) from None


def _text(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value.strip()) <= MOST_CHARS:
        raise TypeError
    return value.strip()


def _count(value: Any) -> int:
    if isinstance(value, bool) or value != int(value) or not 1 <= value <= MOST_COUNT:
        raise TypeError
    return int(value)


def _share(value: Any) -> float:
    share = float(value)
    if isinstance(value, bool) or not 0 < share <= 1:
        raise TypeError
    return share


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


_READERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(TEXTS, _text),
    **dict.fromkeys(COUNTS, _count),
    **dict.fromkeys(FLAGS, _flag),
    "util": _share,
}


def _unread(fields: dict[str, Any]) -> tuple[Sentence, ...]:
    """Fields that change nothing here."""
    unknown = sorted(str(field)[:MOST_CHARS] for field in fields if field not in _READERS)
    if not unknown:
        return ()
    return (say("setup fields ignored: {fields}", fields=", ".join(unknown[:10])),)


def refuse_both(*, model: str | None, machine: str | None) -> None:
    """A setup names the model and the machine itself."""
    if model is not None or machine is not None:
        raise AskError(say("--setup names the model and the machine; drop MODEL and --on"))
