"""What `fit` found: models and formats that a machine holds, best first."""

from __future__ import annotations

from rigright.base.record import Inner, dataclass, derived
from rigright.base.words import Sentence
from rigright.cost.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """One model in one format that fits."""

    model: str  # its id
    task: str  # what it is for
    family: str  # of its architecture
    params: int  # of the model
    active_params: int  # that work on a token
    weights_format: str  # a name of `rigright look-up formats`
    kv_format: str | None  # of its cache, "16bit" where nothing smaller was needed
    engine: str  # that runs it
    weights_bytes: float  # of all cards
    used_bytes: float  # of the fullest card, with the context asked for
    spare_bytes: float  # on the fullest card
    context_tok: int | None  # largest with one sequence; None where nothing is generated, or no limit is
    model_context_tok: int | None  # what the model itself allows
    is_endless: bool = False  # it generates, and no context is too long
    licence: str | None  # of the model
    quality: float | None = None  # the arena's score, where it has one
    released: str | None = None  # ISO date
    samples_per_s: Estimate | None = None  # of whole images or texts
    audio_h_per_h: Estimate | None = None  # of what transcribes
    user_tok_per_s: Estimate | None = None  # of each user, under that load; None where nothing is generated
    output_tok_per_s: Estimate | None = None  # of all that are in flight
    concurrency: float | None = None  # requests in flight: one at home, elsewhere as many as suit it
    ram_bytes: float = 0.0  # of it in main memory, because the cards have no room
    sized_tok: int | None = None  # context of each sequence that is counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """All that fits, cut to the limit."""

    machine: str
    free_bytes: float
    total_bytes: float
    context_tok: int | None  # every row is sized for at least so many
    models: tuple[Fitting, ...]
    found: int  # before the limit
    looked_at: int
    unread: tuple[str, ...] = ()  # models of the zoo that cannot be read
    notes: tuple[Sentence, ...] = ()
    asked: Inner[str] = ""

    @derived
    def order(self) -> str:
        """How rows are ordered."""
        return "arena score, or its estimate from size and age, less what the format loses"
