"""Serving engines: their defaults, how each takes memory, by version; and what they run on which chips."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from rigright.base.errors import unknown
from rigright.base.loader import blocks, records, rows
from rigright.base.record import dataclass, replace
from rigright.base.tables import DATA, frozen, read_toml
from rigright.base.units import to_gib
from rigright.base.words import DECIDES, Sentence, say
from rigright.facts.chips import Chip

Steps = tuple[tuple[float, int], ...]
NATIVE = "native"
_WORD = re.compile(r"[a-z]+")

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:\.[A-Za-z0-9_+-]+)*")
_ASKED = re.compile(
    r"\s*(?P<name>[a-z][a-z0-9 ._+-]*?)\s*(?:(?:==|@|\s[vb]?(?=\d))\s*[vb]?(?P<version>\d[\w.]*))?\s*\Z"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One engine at one version; the head of data/engines.toml says what each field means."""

    id: str
    label: str
    version: str
    as_of: str
    confidence: str
    source: str
    pool: str
    paging: str
    block_tok: int
    window_extra: str
    hidden_copies: float
    ffn_copies: float
    logit_rows: str
    logit_bytes: float
    split: str
    graph_sizes: Steps
    like: str = ""  # the engine that it is made from: what is not known of itself is known of that one
    aliases: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    libraries_mib: tuple[float, float] = (0, 0)  # of a rank alone, of one among several behind a switch
    expert_buffers: bool = False
    absorbs: bool = False
    graph_base_mib: float = 0
    graph_freed_mib: float = 0
    padded: dict[str, dict[str, tuple[int, int]]] = field(
        default_factory=dict
    )  # weight format -> chip -> multiples
    formats: tuple[str, ...] = ()
    small_chips: tuple[str, ...] = ()
    share: float | None = None
    share_of: str = "total"
    share_rule: str | None = None  # a share that follows from the device and the layout
    share_flag: str | None = None
    budget_tok: Steps | None = None  # None: the whole prompt at once
    graph_seqs: Steps | None = None  # of the largest captured graph; None: it is not stated
    max_seqs: Steps | None = None  # None: as many as are asked
    admits: str = "seqs"
    latent_block_tok: int = 0
    pad_tok: int = 1
    swa_share: float | None = None
    element_bytes: float = 2  # of an activation
    masks: bool = False
    scores: bool = False
    host_embed: bool = False
    native_bf16: bool = False
    usual_context_tok: int = 4096  # of the cache an engine sets aside when nobody says
    rope_tables: str = ""
    margin_mib: float = 0
    ram_tok: float | None = None  # see engines.toml; None: it keeps no weights in main memory
    ram_by: str = "pass"
    ram_experts: bool = True
    ram_batch: int | None = None
    kv_save: str | None = None  # the cache format that saves most and is common
    apart: tuple[str, ...] = ()  # vendors on whose chips prompts and next tokens have workers of their own
    apart_source: str = ""
    taken: dict[str, int] = field(default_factory=dict)  # place -> rank among the engines people take there
    batching: str = "vllm_sync"  # policy of its scheduler: continuous batching, one pass after the other
    split_flag: str | None = None  # says how many layers each card takes
    before: tuple[dict[str, Any], ...] = ()
    says: dict[str, str] = field(default_factory=dict)  # a loose name of precision -> weight format
    released: tuple[tuple[str, str], ...] = ()
    newest: str = ""  # version that is known to be out, where it is newer than the one counted with
    unsaid_weights: str = ""  # what people run where they name no format; "": as the model is published
    backends: dict[str, str] = field(default_factory=dict)  # vendor -> what people run it by there
    backend: str = ""  # what was asked for; "": the usual one
    options: tuple[str, ...] = ()  # of a build or a run, that change its speed: "hipblaslt", "no-flash"

    def __hash__(self) -> int:
        return hash((self.id, self.version, self.backend, self.options))  # its tables have none

    @property
    def asked(self) -> str:
        """The words that find just this engine again."""
        build = " ".join(word for word in (self.backend, *self.options) if word in _backend_words())
        return " ".join(word for word in (self.id, build, self.version) if word)

    def backend_on(self, vendor: str) -> str:
        """What it computes with on chips of a vendor; "": engines that have one way only."""
        return self.backend or self.backends.get(vendor, "")

    def default(self, steps: Steps | None, device_bytes: float, *, chip: str = "") -> int | None:
        """The engine's default on a device of so many bytes."""
        if steps is None:
            return None
        reached = [value for least, value in steps if to_gib(device_bytes) >= least]
        small = any(chip.startswith(name) for name in self.small_chips)
        return reached[0] if small else reached[-1]


@cache
def engines() -> dict[str, Engine]:
    """Every engine at its newest version, by id."""
    return blocks("engines.toml", Engine, own=frozenset({"aliases", "before", "newest", "released", "taken"}))


@cache
def find_engine(asked: str) -> Engine:
    """The engine of a loose name, with a version where one is told: "vllm", "vLLM 0.8.5", "hf==4.38.2"."""
    match = _ASKED.match(asked.lower())
    name = match["name"].strip() if match else ""
    known = {
        word: engine
        for engine in engines().values()
        for word in (engine.id, engine.label.lower(), *engine.aliases)
    }
    backend, options = backend_in(asked)
    bare = _without_backend(asked)
    if name not in known and backend and bare and bare != " ".join(asked.lower().split()):
        engine = find_engine(bare)
        return replace(engine, backend=backend, options=options) if engine.backends else engine
    if name not in known:
        raise unknown(say("engine"), asked, near=_near(name, known), known=engines())
    version = match["version"] if match else None
    return known[name] if version is None else _at_version(known[name], version)


def engines_in(text: str) -> list[str]:
    """Words of a text that are names of engines, the last first."""
    names = {word for engine in engines().values() for word in (engine.id, engine.label.lower())}
    words = [name for word in reversed(_NAME.findall(text)) for name in (word, word.rpartition("-")[0])]
    return [word for word in words if word.lower() in names]


def _near(name: str, known: Mapping[str, Engine]) -> list[str]:
    """What is nearest to an engine that is not known; else engines whose name is spelt nearly so."""
    from difflib import get_close_matches

    spelt = [known[word].id for word in get_close_matches(name, known, n=2, cutoff=0.6)]
    rows = read_toml(DATA / "foreign.toml")["nearest"]
    return next((row["engines"] for row in rows if re.search(row["pattern"], name)), spelt)


def unknown_version(asked: str) -> Sentence | None:
    """That no such version is out as far as anybody knows, and which one is counted with."""
    engine, known = find_engine(asked), engines()[find_engine(asked).id]
    newest = max(known.version, known.newest, key=order_of)
    if order_of(engine.version)[: len(order_of(newest))] <= order_of(newest):
        return None
    return say(
        "no {engine} {version} is known, the newest is {newest}; counted with the figures of {version_known}",
        engine=engine.label,
        version=engine.version,
        newest=newest,
        version_known=known.version,
    ).of(DECIDES)


@cache
def at_date(engine: Engine, date: str) -> Engine:
    """The engine as it was on a day, where its releases are known."""
    versions = [version for day, version in engine.released if day <= date]
    return _at_version(engine, versions[-1]) if versions else engine


@cache
def _at_version(engine: Engine, version: str) -> Engine:
    """The engine as it was at a version."""
    if order_of(version) == order_of(engine.version):
        return engine
    older = [row for row in engine.before if order_of(version) < order_of(row["version"])]
    if not older:
        return replace(engine, version=version)
    era = min(older, key=lambda row: order_of(row["version"]))
    return replace(engine, **frozen(era) | {"version": version})


def order_of(version: str) -> tuple[int, ...]:
    """A version as numbers that compare."""
    return tuple(int(digits) for digits in re.findall(r"\d{1,9}", version)[:3])


@cache
def _backends() -> list[tuple[str, ...]]:
    return rows("backends.csv", "word", "backend", "option", "label")


@cache
def _backend_words() -> dict[str, tuple[str, str | None]]:
    """Words people write -> the backend, and the option of its build that they name."""
    return {word: (backend, option or None) for word, backend, option, _ in _backends()}


def backend_label(backend: str) -> str:
    """As its makers write it; "" where there is none to tell."""
    return next((label for _, named, _, label in _backends() if named == backend), "")


def backend_in(text: str) -> tuple[str, tuple[str, ...]]:
    """The backend that words name, and options of it; "" where they name none, or several."""
    words = _backend_words()
    named = [words[word] for word in _WORD.findall(text.lower()) if word in words]
    backends = {backend for backend, _ in named}
    if len(backends) != 1:
        return "", ()
    return backends.pop(), tuple(sorted({option for _, option in named if option is not None}))


def _without_backend(text: str) -> str:
    """The same without those words, and without what parted them."""
    words = "|".join(sorted(_backend_words(), key=len, reverse=True))
    bare = re.sub(rf"[\s(/_-]*\b({words})\b\)?", " ", text.lower())
    return " ".join(bare.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """One engine on chips of one kind; an empty cell of the table fits all."""

    engine: str
    formats: tuple[str, ...]  # ids, or patterns such as "gguf:*"
    vendor: str
    isa: tuple[str, ...] = ()
    cc_min: tuple[int, int] | None  # least compute capability
    architectures: tuple[str, ...] = ()
    how: str  # "native": multiplied in the format; "16-bit": unpacked to 16 bit first
    source: str
    as_of: str
    confidence: str

    def holds(self, chip: Chip) -> bool:
        """Whether a chip is of this kind."""
        own = chip.compute_capability
        return (
            chip.vendor == self.vendor
            and (not self.isa or chip.isa in self.isa)
            and (self.cc_min is None or (own is not None and own >= self.cc_min))
            and (not self.architectures or chip.architecture in self.architectures)
        )

    def takes(self, form: str) -> bool:
        """Whether weights of a format are among those it runs."""
        return any(fnmatchcase(form, pattern) for pattern in self.formats)


@cache
def runnings() -> tuple[Running, ...]:
    """Every row, in its order."""
    return records("engine_runs.csv", Running, read={"cc_min": _version})


@cache
def how_runs(engine: str, form: str, *, chip: Chip) -> str | None:
    """How an engine runs weights of a format on a chip; None where it does not."""
    return next((row.how for row in runs_of(engine) if row.takes(form) and row.holds(chip)), None)


def engines_of(chip: Chip) -> tuple[str, ...]:
    """The engines that run anything on a chip, in the order of the table."""
    return tuple(dict.fromkeys(row.engine for row in runnings() if row.holds(chip)))


def unrun(engine: str, form: str, *, chip: Chip) -> Sentence | None:
    """What keeps an engine from running such weights on a chip, and what does run there.

    None where it runs them, and where nothing is known of the engine.
    """
    if not runs_of(engine) or how_runs(engine, form, chip=chip) is not None:
        return None
    shown = form.removeprefix("gguf:")
    rows = [row for row in runs_of(engine) if row.holds(chip)]
    forms = dict.fromkeys(form.removesuffix(":*") for row in rows for form in row.formats)
    if forms:
        return say(
            "{engine} does not run {form} weights on {chip}; supported there: {forms}",
            engine=engine, form=shown, chip=chip.name, forms=", ".join(forms),
        )  # fmt: skip
    others = engines_of(chip)
    if others:
        return say("{engine} does not run on {chip}; engines that do: {engines}",
                   engine=engine, chip=chip.name, engines=", ".join(others))  # fmt: skip
    return say("no known engine runs on {chip}", chip=chip.name)


@cache
def runs_of(engine: str) -> tuple[Running, ...]:
    """What is known of an engine; nothing: where it runs is not known."""
    rows = tuple(row for row in runnings() if row.engine == engine)
    like = engines()[engine].like if not rows and engine in engines() else ""
    return runs_of(like) if like else rows


def _version(cell: str) -> tuple[int, int]:
    major, _, minor = cell.partition(".")
    return int(major), int(minor or 0)
