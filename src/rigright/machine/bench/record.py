"""What is asked of a benchmark, and what comes back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rigright.base.record import Pairs
from rigright.base.words import Sentence

SMALLER_IS_BETTER = frozenset({"s", "bytes"})  # units of times, and of memory that a job took
Settings = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """Nodes that measure something together, and where they meet."""

    members: tuple[str, ...]
    address: str = ""  # of the first of them
    port: int = 0
    me: str | None = None  # None: as the node calls itself


@dataclass(frozen=True, slots=True, kw_only=True)
class SentLoad:
    """Requests to a server: so many in flight at all times, or so many that arrive in a second."""

    prompt_tok: int
    output_tok: int
    concurrency: int | None = None
    rate_per_s: float | None = None
    requests: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchWish:
    """What the user wants measured, and with what."""

    quick: bool = False
    budget_s: float | None = None
    devices: str | None = None  # "0,2"
    python: str | None = None  # that has PyTorch
    disk: str | None = None  # a folder on the disk to measure
    peer: str | None = None  # "host:port" of another rigright that listens
    endpoint: str | None = None  # address of an OpenAI-compatible server
    model: str | None = None  # as that server calls it
    load: SentLoad | None = None  # what it is asked; none: a row of loads of our own
    meeting: Meeting | None = None  # with other nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest(BenchWish):
    """One part's question: the wish, and this part's share. All of it travels to the child as plain data."""

    part: str
    spare_s: float = 60.0  # what the part may take
    names: tuple[str, ...] = ()  # of the accelerators, in the order the child sees them: "gpu 2"
    cpus: int = 1  # threads this process may use
    folder: str | None = None  # an own folder, removed at the end, for parts that write
    shown_folder: str | None = None  # the folder the user knows, that the own one lies in


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One measured figure, in SI units and bytes."""

    part: str  # of the benchmark: "gemm"
    what: str  # within the part: "bf16 8192x8192x8192", "read sequential"
    on: str  # "gpu 0", "gpu 0 -> gpu 1", "gpu all", "cpu", "/data"
    value: float  # median
    unit: str  # "flops_per_s", "bytes_per_s", "ops_per_s", "s", "ratio", "bytes", "items_per_s"
    low: float  # the least and the most of the repeats
    high: float
    repeats: int
    settings: Pairs[str, str] = ()  # what one must know to repeat it
    chip: str | None = None  # the device's name as its driver says
    at_s: float | None = None  # seconds since 1970
    notes: tuple[Sentence, ...] = ()

    def share_of(self, full: float) -> float:
        """How much of a full figure it reaches, which is below one where it is worse."""
        if self.unit in SMALLER_IS_BETTER:
            return full / self.value if self.value else 1.0
        return self.value / full

    def beats(self, other: Result) -> bool:
        """Whether it is better than another figure of the same thing."""
        return self.value < other.value if self.unit in SMALLER_IS_BETTER else self.value > other.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A part that was not measured, and why."""

    part: str
    why: Sentence


SIZES = frozenset(
    (
        *("shape", "size", "buffer", "array", "file", "file system", "batch", "image", "layout", "lasted"),
        *("tokens", "width", "layers", "threads", "workers", "connections", "ranks", "nodes", "jobs"),
        *("depth", "model", "load", "requests", "engine", "backend", "bytes"),
    )
)  # settings that make another job of it; versions and the state of a link do not: they are what changes


def same_job(a: Result, b: Result) -> bool:
    """Whether two figures can be held against each other: a short run reads a smaller file."""
    alike = (a.part, a.what, a.on, a.unit) == (b.part, b.what, b.on, b.unit)
    return alike and all(
        {pair for pair in a.settings if pair[0] == size} == {pair for pair in b.settings if pair[0] == size}
        for size in SIZES
    )


def disk_bytes_per_s(results: Iterable[Result]) -> float | None:
    """What the disk was benched at: the best of its sequential reads; None where none was."""
    reads = (result.value for result in results if result.part == "disk" and result.unit == "bytes_per_s"
             and result.what.startswith("sequential read"))  # fmt: skip
    return max(reads, default=None)
