"""Optimizers, precisions and training programs: what each keeps, found by loose names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TypeVar

from rigright.base.errors import unknown
from rigright.base.loader import blocks
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimizer:
    """States an optimizer keeps; see the head of data/optimizers.toml."""

    id: str
    label: str
    source: str
    copies: float = 0
    bytes: float | None = None
    table_copies: float | None = None
    table_bytes: float | None = None
    vector_copies: float | None = None
    vector_bytes: float | None = None
    factored: bool = False
    step_copies: float = 0
    paged: bool = False
    half_adapters: bool = False
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """Bytes an element of each copy of the parameters; see the head of data/precisions.toml."""

    id: str
    label: str
    compute: float
    param: float
    master: float
    grad: float
    state: float
    cast: float
    gather: float
    residual: float
    input: float
    aliases: tuple[str, ...] = ()

    @property
    def said(self) -> Sentence:
        """The label in the reader's language."""
        return Sentence(self.label)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainer:
    """Habits of a training program; see the head of data/trainers.toml."""

    id: str
    label: str
    source: str
    mixed: str
    mixed_sharded: str
    optimizer: str
    fused_norm: bool
    fused_glu: bool
    wide_grads: float
    logit: float
    adapter: float
    cast_inputs: bool
    frozen_residual: float
    ddp_copies: float
    selective: str
    grads_stand: bool = False
    offload_checkpoints: bool = False
    keeps_input_grads: bool = False
    keeps_whole: bool = False
    frozen_half: bool = False
    unties: bool = False
    scattered: bool = False
    experts_at_once: bool = False
    partition_grads: float = 0
    recompute: str = "none"
    recompute_sharded: str = ""
    dropout: float = 0
    buckets: float = 0
    score_bytes: float = 0
    quantised_inputs: bool = False
    quantised_copies: bool = False
    compiled_logit: float = 8
    program: str = ""  # the row this is an earlier time of; itself where none
    until: str = ""
    shares_weights: bool = False
    chosen_logit: float = 18
    methods: tuple[str, ...] = ()  # that it trains by; every one where none is named
    uncut: tuple[str, ...] = ()  # ways to cut a model that it does not have: "tp", "pp", "cp", "ep"
    aliases: tuple[str, ...] = ()

    def trains(self, method: str) -> bool:
        """Whether it trains by that method."""
        return not self.methods or method in self.methods

    def at(self, month: str | None) -> Trainer:
        """The program as it was in a month (2023-10); as it is now where nobody says."""
        rows = (row for row in trainers().values() if row.program == self.id)
        earlier = [row for row in rows if month and month <= row.until]
        return min(earlier, key=lambda row: row.until, default=self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What a loss needs beside the model that learns; see the head of data/objectives.toml."""

    id: str
    label: str
    source: str
    as_of: str
    confidence: str
    trainers: tuple[str, ...]
    sequences: int = 1
    references: int = 0
    rewards: int = 0
    critics: int = 0
    forwards: int = 0
    rollout: bool = False
    logits: bool = True
    fused: tuple[str, ...] = ()
    program: str = ""
    module: str = "trl"
    loss_type: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What runs that pre-train a kind of model use; see the head of data/pretraining.toml."""

    id: str
    experts: bool
    least_params: float
    seq_tok: int
    batch_tok: int
    trainers: tuple[str, ...]
    tp: tuple[int, ...]
    pp: tuple[int, ...]
    source: str
    cp: tuple[int, ...] = (1,)
    ep: tuple[int, ...] = (1,)


_N = TypeVar("_N", bound=Optimizer | Precision | Trainer)


@cache
def recipes() -> dict[str, Recipe]:
    """Every kind of pre-training by id."""
    return blocks("pretraining.toml", Recipe)


@cache
def objectives() -> dict[str, Objective]:
    """Every loss of post-training by id."""
    return blocks("objectives.toml", Objective)


@cache
def optimizers() -> dict[str, Optimizer]:
    """Every optimizer by id."""
    return blocks("optimizers.toml", Optimizer)


@cache
def precisions() -> dict[str, Precision]:
    """Every precision of training by id."""
    return blocks("precisions.toml", Precision)


@cache
def trainers() -> dict[str, Trainer]:
    """Every training program by id."""
    return blocks("trainers.toml", Trainer, own=frozenset({"aliases"}))


@cache
def find_optimizer(asked: str) -> Optimizer:
    """The optimizer of a loose name: "AdamW", "paged_adamw_8bit"."""
    return _find(asked, optimizers(), table="optimizers")


@cache
def find_precision(asked: str) -> Precision:
    """The precision of a loose name: "bf16", "bf16-mixed", "float32"."""
    return _find(asked, precisions(), table="precisions")


@cache
def find_trainer(asked: str) -> Trainer:
    """The training program of a loose name: "hf", "Megatron-LM", "torchtune"."""
    return _find(asked, trainers(), table="trainers")


def labelled(asked: str, rows: Mapping[str, _N]) -> _N | None:
    """The row whose label somebody wrote as we print it."""
    return next((row for row in rows.values() if row.label == asked.strip()), None)


def _find(asked: str, rows: dict[str, _N], *, table: str) -> _N:
    from difflib import get_close_matches

    name = asked.strip().lower().replace("_", "-").replace(" ", "-")
    known: dict[str, str] = {}
    for key, row in rows.items():
        known |= dict.fromkeys((key, *row.aliases), key)
    if name in known:
        return rows[known[name]]
    near = get_close_matches(name, known, n=3, cutoff=0.4)
    raise unknown(
        say("{text}", text=table.removesuffix("s")), asked, near=(known[word] for word in near), known=rows
    )
