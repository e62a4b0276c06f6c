"""A model in formats by their names: bytes, files, and the work of a pass."""

from __future__ import annotations

from rigright.arch.record import Arch
from rigright.base.record import kept
from rigright.cost.speed.work import Work, work_in
from rigright.cost.weights import WeightBytes, stored
from rigright.facts.formats import GgufMix, find_format, find_kv_format

# tokens and merges in a GGUF file: 57 +- 5 B a token left over in 24 published sizes of Llama-3-70B files
GGUF_BYTES_PER_TOKEN = 57


def weigh(arch: Arch, weights: str) -> WeightBytes:
    """Bytes of every place of the model."""
    return stored(arch, find_format(weights))


@kept
def weights_bytes(arch: Arch, weights: str) -> int:
    """Bytes of all weights, as an engine loads them."""
    return round(weigh(arch, weights).total_bytes)


def file_bytes(arch: Arch, weights: str) -> int:
    """Bytes of the files: the weights and, in a GGUF, the vocabulary."""
    vocabulary = arch.vocab * GGUF_BYTES_PER_TOKEN if isinstance(find_format(weights), GgufMix) else 0
    return weights_bytes(arch, weights) + vocabulary


def file_band(arch: Arch, weights: str, *, least_spread: float = 0.0) -> tuple[float, float]:
    """Where four of five files of a format lie: with and without vocabulary, and as the mix is made."""
    spread = max(find_format(weights).spread, least_spread)
    return weights_bytes(arch, weights) * (1 - spread), file_bytes(arch, weights) * (1 + spread)


def work_of(arch: Arch, *, weights: str, kv: str) -> Work:
    """What a forward pass does, with weights and caches of such formats."""
    return work_in(arch, find_format(weights), kv=find_kv_format(kv))
