"""How fast a serving is: what users see, with low and high, and what the time goes into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from rigright.base.record import Flat, Inner, Pairs, Sparse, dataclass, derived
from rigright.cost.estimate import Estimate
from rigright.demand import Size

TIME_PARTS = ("memory", "compute", "links", "fixed")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeParts:
    """Seconds of passes, by what they go into: each kind of work by the longer of reading and computing."""

    memory_s: float  # reading weights and caches
    compute_s: float  # computing
    links_s: float  # waiting for other cards
    fixed_s: float  # starting kernels, the engine's own work

    @derived
    def total_s(self) -> float:
        """All of it."""
        return self.memory_s + self.compute_s + self.links_s + self.fixed_s

    @derived
    def bound(self) -> str:
        """What takes most of it."""
        return max(TIME_PARTS, key=self.of)

    def of(self, part: str) -> float:
        """One part."""
        return float(getattr(self, f"{part}_s"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """One serving under one load."""

    prompt_tok: float  # of a request
    output_tok: float  # of a request
    concurrency: float  # asked for
    running: float  # at work at once; fewer where the cache holds fewer
    ttft_s: Estimate  # to the first token
    tpot_s: Estimate  # from token to token
    output_tok_per_s: Estimate  # of all users
    user_tok_per_s: Estimate  # of one, once it started
    prefill_tok_per_s: Estimate  # one prompt alone
    token_pass: TimeParts  # a pass that makes each user's next token
    prompt_pass: TimeParts  # all passes of one prompt alone
    audio_h_per_h: Sparse[Estimate | None] = None  # of models that transcribe
    audio_s: Inner[float | None] = None  # of a window
    rate_per_s: Inner[float | None] = None  # of requests that arrive, where such a load was asked for
    percentile: Sparse[float | None] = None  # share of requests that TTFT and TPOT hold for; None: the mean
    shares_kept: Inner[Mapping[str, float]] = field(
        default_factory=dict
    )  # by limit: share of requests that keep it
    certainty: Inner[Mapping[str, float]] = field(
        default_factory=dict
    )  # by limit: chance that its figure keeps it


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSpeed:
    """Whole images or texts on cards that each work alone."""

    unit: str  # "images", "videos", "texts"
    made: Inner[bool]  # images of noise, not looked at
    batch_per_card: int  # samples at once on each card
    cards: int
    rate: Inner[Estimate]  # a second, of all cards
    compiled: Inner[Estimate | None]  # the same with torch.compile; None where nobody knows
    batch_s: Estimate
    parts_s: Pairs[str, float]  # of a batch on the first card, each as if alone
    picture: Inner[Size | None] = None
    frames: int | None = None  # of a video
    seconds: float | None = None  # that it plays
    given: int = 0  # pictures that each is made from
    steps: int | None = None
    length_tok: int | None = None  # of a text
    beside_bytes: float = 0.0  # of weights that a generator needs beside the denoiser
    waits: bool = False  # each part of it lies in main memory until its turn

    @derived
    def image_px(self) -> int | None:
        """A side of the picture; its width, where the sides differ."""
        return None if self.picture is None else self.picture.width_px

    @derived
    def height_px(self) -> int | None:
        """The other side of the picture."""
        return None if self.picture is None else self.picture.height_px

    @property
    def is_compiled(self) -> bool:
        """Whether the rate is that with torch.compile."""
        return self.rate == self.compiled

    @derived
    def speeds(self) -> Flat[dict[str, Estimate | None]]:
        """A second, of all cards: as it is, and with torch.compile; `images` or `texts` in the name."""
        return {f"{self.unit}_per_s": self.rate, f"{self.unit}_per_s_compiled": self.compiled}

    @derived
    def bound(self) -> str:
        """What would take longest alone."""
        return max(self.parts_s, key=lambda part: part[1])[0]
