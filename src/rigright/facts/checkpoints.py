"""Weights in a format: the repository that has them, or how they are made of the 16-bit ones."""

from __future__ import annotations

from functools import cache

from rigright.base.loader import blocks, records
from rigright.base.record import dataclass
from rigright.facts.formats import GGUF

OWN_BLOCKS = "gguf:MXFP4"  # as its maker trained it: no mix of a 16-bit model


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A published repository."""

    model: str  # as the hub names the 16-bit one
    weights: str  # id of a format; "gguf": every mix of llama.cpp
    repository: str
    engines: frozenset[str]  # that load its files
    source: str
    as_of: str
    confidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantizer:
    """A tool that makes them; see the head of data/quantizing.toml."""

    id: str
    loads: tuple[str, ...]  # engines
    needs: str
    file: str
    text: str
    source: str
    recipes: dict[str, str]

    def __hash__(self) -> int:
        return hash(self.id)  # its table has none


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """What is done first, where nobody has published the weights of a plan."""

    source: str  # the 16-bit weights
    source_bytes: float
    tool: Quantizer
    sees: bool  # the model takes images too


def published(model: str, weights: str, *, engine: str) -> str | None:
    """What an engine loads a model in a format from: a repository, with the mix where it has several."""
    row, mix = _published().get((model, weights)), ""
    if row is None and weights.startswith(GGUF) and weights != OWN_BLOCKS:
        row, mix = _published().get((model, GGUF.rstrip(":"))), weights.removeprefix("gguf")
    return None if row is None or engine not in row.engines else row.repository + mix


def quantizer(engine: str, weights: str) -> Quantizer | None:
    """What makes files of a format that an engine loads."""
    able = (tool for tool in blocks("quantizing.toml", Quantizer).values() if engine in tool.loads)
    return next((tool for tool in able if recipe_of(tool, weights) is not None), None)


def recipe_of(tool: Quantizer, weights: str) -> str | None:
    """How a tool is told of a format."""
    kind = GGUF.rstrip(":") if weights.startswith(GGUF) and weights != OWN_BLOCKS else weights
    return tool.recipes.get(kind)


@cache
def _published() -> dict[tuple[str, str], Checkpoint]:
    return {(row.model, row.weights): row for row in records("checkpoints.csv", Checkpoint)}
