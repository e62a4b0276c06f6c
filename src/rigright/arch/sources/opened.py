"""What opening a description of a model gives: the Arch, and what its files hold where there are files."""

from __future__ import annotations

from dataclasses import field

from rigright.arch.record import Arch
from rigright.base.record import dataclass
from rigright.base.words import Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """One tensor of a weight file."""

    name: str
    dtype: str  # as the file calls it: "BF16", "Q4_K"
    shape: tuple[int, ...]
    size_bytes: int
    elems: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What weight files hold, counted from their headers."""

    tensors_bytes: int
    files: int = 1
    size_bytes: int | None = None  # of the files on disk; None where they are not here
    elems_by_dtype: dict[str, int] = field(default_factory=dict)
    bytes_by_dtype: dict[str, int] = field(default_factory=dict)
    params: int | None = None  # parameters, once packing is undone and buffers, scales, copies are left out
    complete: bool = True  # no file is missing
    notes: tuple[Sentence, ...] = ()  # why the files' total differs from the parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """A LoRA or its like beside or instead of a model."""

    kind: str
    rank: int | None
    targets: tuple[str, ...]
    params: int | None
    base: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A model, opened."""

    arch: Arch
    files: Files | None = None
    adapter: Adapter | None = None
