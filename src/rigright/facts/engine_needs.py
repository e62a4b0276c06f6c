"""What engines and libraries need: torch, CUDA, Python and chips, by version; and PyTorch's wheel indexes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from rigright.base.tables import DATA, read_rows, text, yes
from rigright.facts.software import Capability, Version, version_of

WHEELS = "https://download.pytorch.org/whl"
_PYTHONS = re.compile(r"(\d{1,18})\.(\d{1,18})(?:-(\d{1,18})\.(\d{1,18}))?")
_PROVENANCE = {"source": text, "as_of": text, "confidence": text, "notes": text}


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineNeeds:
    """One version of an engine or library."""

    name: str
    version: str
    torch: str | None  # the release it pins, or the newest it was seen with
    build: str | None  # of torch, as the package index serves it
    python: str | None  # "3.11-3.14"
    cc_min: Capability | None
    cuda_min: Version | None  # the driver must speak it, or one of its major version
    pins: bool  # it runs with that torch alone
    toolkit: bool  # it builds kernels with nvcc
    pip: str | None
    image: str | None
    systems: tuple[str, ...] | None  # where pip finds it beside Linux: "windows", "macos"
    source: str
    as_of: str
    confidence: str
    notes: str | None

    def runs_on(self, capability: Capability) -> bool:
        """Whether its kernels run on a chip."""
        return self.cc_min is None or self.cc_min <= capability


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchIndex:
    """One wheel index of PyTorch."""

    name: str  # "cu128", "rocm6.4", "cpu"
    kind: str
    torch_from: str | None
    torch_to: str | None
    source: str
    as_of: str
    confidence: str
    notes: str | None

    @property
    def url(self) -> str:
        """Where pip finds it."""
        return f"{WHEELS}/{self.name}"


def _capability(said: str) -> Capability:
    major, minor = version_of(said)
    return major, minor


@cache
def engine_needs() -> tuple[EngineNeeds, ...]:
    """Every version of the table, each engine's newest first."""
    whole: dict[str, Callable[[str], object]] = {
        **dict.fromkeys(("name", "version", "torch", "build", "python", "pip", "image"), text),
        "cc_min": _capability,
        "cuda_min": version_of,
        "pins": yes,
        "toolkit": yes,
        "systems": lambda cell: tuple(cell.split()),
        **_PROVENANCE,
    }
    required = ("name", "version", "pins", "toolkit", "source", "as_of", "confidence")
    return tuple(EngineNeeds(**row) for row in read_rows(DATA / "engine_needs.csv", whole, required=required))


@cache
def torch_indexes() -> dict[str, TorchIndex]:
    """Every wheel index that exists, by name."""
    readers = dict.fromkeys(("name", "kind", "torch_from", "torch_to"), text) | _PROVENANCE
    required = ("name", "kind", "source", "as_of", "confidence")
    rows = read_rows(DATA / "torch_indexes.csv", readers, required=required)
    return {row["name"]: TorchIndex(**row) for row in rows}


def pythons_of(cell: str | None) -> tuple[Version, Version] | None:
    """First and last Python of "3.10-3.14"; of several stretches the newest."""
    found = [match for part in (cell or "").split(",") if (match := _PYTHONS.fullmatch(part.strip()))]
    if not found:
        return None
    first = int(found[-1][1]), int(found[-1][2])
    last = (int(found[-1][3]), int(found[-1][4])) if found[-1][3] else first
    return first, last
