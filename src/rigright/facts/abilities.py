"""What only some engines do: ways to draft tokens, and KV caches beside the GPUs."""

from __future__ import annotations

from functools import cache

from rigright.base.errors import AskError
from rigright.base.loader import records, rows
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say
from rigright.facts.engines import Engine, order_of

RAM, NVME = "kv-ram", "kv-nvme"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ability:
    """One thing that an engine does."""

    engine: str
    ability: str  # a method that drafts tokens, or a tier for KV caches
    word: str  # the engine's
    since: str = ""
    share: float = 1.0  # of PCIe that caches return at
    bytes_per_s: float | None = None  # of a drive that they return from
    source: str


def ability(engine: Engine, name: str) -> Ability | None:
    """How an engine does it; None where it does not, or not yet."""
    known = (row for row in _abilities() if (row.engine, row.ability) == (engine.id, name))
    return next((row for row in known if order_of(engine.version) >= order_of(row.since)), None)


def unable(engine: Engine, name: str, *, what: Sentence | str, option: str) -> AskError:
    """That an engine does not, and which do."""
    able = ", ".join(row.engine for row in _abilities() if row.ability == name)
    return AskError(
        say("{engine} {version} has no {what}; these do: {engines}", what=what, engines=able,
            engine=engine.label, version=engine.version),
        hint=say("remove {option}", option=option),
    )  # fmt: skip


@cache
def acceptance(method: str, work: str) -> float:
    """The chance that a drafted token is kept if all before it were, for such work."""
    table = {row[:2]: float(row[2]) for row in rows("acceptance.csv", "method", "work", "accepted")}
    return table.get((method, work), table[method, ""])


def head_repo(model: str) -> str | None:
    """The EAGLE-3 head that is published for a model."""
    heads = {name.rpartition("/")[2].lower(): repo for name, repo in rows("draft_heads.csv", "model", "repo")}
    plain = model.rpartition("/")[2].lower()
    return heads.get(plain, heads.get(f"{plain}-instruct"))


@cache
def _abilities() -> tuple[Ability, ...]:
    return records("engine_abilities.csv", Ability)
