"""How programs are started: versions, ports, health checks, and their words for formats."""

from __future__ import annotations

from dataclasses import field
from functools import cache
from typing import Any

from rigright.base.errors import AskError
from rigright.base.loader import blocks, records
from rigright.base.record import dataclass, derived
from rigright.base.tables import DATA, frozen, read_toml
from rigright.base.words import Sentence, in_both, say


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """A server or a training program; see the head of data/launches.toml."""

    id: str
    label: str
    version: str
    source: str
    kind: str  # "serve", "train", or "sample": whole texts or images, one pass each
    runs: tuple[str, ...]  # engines or trainers of a plan that it carries out
    serves: str = ""  # the engine that a trainer's library is, too
    works: tuple[str, ...] = ()  # kinds of work, where it passes whole samples
    port: int | None = None
    health: str = ""
    check: str = ""  # the same as a command inside its image
    images: dict[str, str] = field(default_factory=dict)  # by vendor; "none": a processor alone
    binary: str = ""  # its command inside the image, where PATH has it not
    cache: str = "/root/.cache"  # inside the image: what it downloads
    environment: dict[str, str] = field(default_factory=dict)  # what it reads there instead of from flags
    workers: str = ""  # its flag on every node but the first
    per_gpu: bool = False  # over several nodes it is started once a GPU, not once a node
    process: str = ""  # pattern of its command line, where a server of it runs
    nccl: bool = True
    post: bool = False  # it learns from preferences or rewards, and from nothing else
    starts: bool = True  # it has a command of its own, which schedulers can run
    data_parallel: bool = False
    joins_nodes: bool = False
    joins_experts: bool = False
    apart: dict[str, str] = field(default_factory=dict)  # what hands caches from prompts to tokens, by vendor
    apart_package: dict[str, str] = field(default_factory=dict)  # that brings it, by vendor
    handover: int = 0  # the first port that workers apart meet on; each counts up by its first GPU
    router: Router | None = None  # what deals requests out to workers apart
    kv: dict[str, str] = field(default_factory=dict)
    converts: dict[str, str] = field(default_factory=dict)
    gone: tuple[str, ...] = ()  # formats of weights that an earlier version loaded
    optimizers: dict[str, str] = field(default_factory=dict)
    configs: dict[str, str] = field(default_factory=dict)  # of its own, by the name of a model
    families: tuple[str, ...] = ()  # of models, where it is told the shape of the model by itself
    implies: tuple[str, ...] = ()  # choices of a plan that it makes in any case, without a word of them
    notes: tuple[str, ...] = ()  # comments at the head of its files: what the user does and what he must know
    narrow: tuple[str, ...] = ()  # precisions below 16 bit that it was told to use
    shards: bool = False  # it divides and offloads states itself, and not the user's own script
    one_queue: bool = False  # before Blackwell it takes one queue of kernels where tensors are cut
    sharded: dict[str, str] = field(default_factory=dict)  # those that have another word under FSDP

    def __hash__(self) -> int:
        return hash(self.id)  # its tables have none

    def refusal(self, choice: str, *, hint: Sentence | None = None) -> AskError:
        """The error for a choice of a plan that it cannot be started with."""
        return AskError(
            say("{engine} is not exported with {choice}", engine=self.label, choice=choice), hint=hint
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Router:
    """What takes the requests of workers apart."""

    package: str
    version: str
    command: tuple[str, ...]
    meets: bool = False  # it is told the port on which each worker of prompts is asked for its caches


@cache
def programs() -> dict[str, Launcher]:
    """Every program, by the name of its target."""
    router = {"router": lambda row: Router(**frozen(row))}
    return blocks("launches.toml", Launcher, own=frozenset({"process"}), read=router)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One option of a program at a version, as its own parser has it."""

    program: str
    version: str
    flag: str
    aliases: tuple[str, ...] = ()
    takes: str  # "0", "1", "?", "*", "+"
    choices: tuple[str, ...] = ()

    def accepts(self, value: str | None) -> bool:
        """Whether it may stand so in a command."""
        if value is None:
            return self.takes in {"0", "?", "*"}
        return self.takes != "0" and (not self.choices or value in self.choices)


@cache
def flags(program: str) -> dict[str, Flag]:
    """Each flag of a program, under every name it has."""
    result: dict[str, Flag] = {}
    for record in records("launch_flags.csv", Flag):
        if record.program == program:
            result |= dict.fromkeys((record.flag, *record.aliases), record)
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagCheck:
    """One flag of a plan, and what the server was given."""

    flag: str
    planned: str | None  # None: the plan leaves it out
    running: str | None  # None: it was not given

    @derived
    def kept(self) -> bool:
        """Whether the server has what was planned; a size of 1, and "auto", is what it takes by itself."""
        if self.planned is None or self.running is None:
            usual = {None, "no", "auto", *("1" for _ in range(self.flag.endswith("-size")))}
            return {self.planned, self.running} <= usual
        try:
            return float(self.planned) == float(self.running)
        except ValueError:
            return self.planned == self.running

    @derived
    def costs(self) -> Sentence | None:
        """What it costs that it was not kept."""
        row = None if self.kept else _choices().get(self.flag)
        return None if row is None else in_both(*row["costs"], values={})


@cache
def _choices() -> dict[str, dict[str, Any]]:
    rows = read_toml(DATA / "launch_costs.toml")["choice"]
    return {flag: row for row in rows for flag in row["flags"]}


def switches() -> tuple[str, ...]:
    """Flags that change a server by being there."""
    return tuple(flag for flag, row in _choices().items() if row.get("switch"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Serves:
    """How an engine is started inside a container."""

    command: str  # with {model} and {tp}
    port: int
    health: str
    cache: str  # where it keeps weights
    model: str  # a small one to try the image with; none: it is named in each request
    source: str
    as_of: str


@cache
def serving() -> dict[str, Serves]:
    """Engine -> how it is started."""
    return {name: Serves(**frozen(row)) for name, row in read_toml(DATA / "engine_serves.toml").items()}
