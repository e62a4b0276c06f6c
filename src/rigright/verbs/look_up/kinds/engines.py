"""Serving engines: how each takes memory, at its newest version and before."""

from __future__ import annotations

from rigright.base.words import say
from rigright.facts.engines import Engine, engines, find_engine
from rigright.verbs.look_up.fields import field
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery

_POOLS = {
    "share": say("reserves a share of the GPU"),
    "exact": say("allocates the requested context"),
    "grow": say("grows with the tokens"),
}
_SPLITS = {"tensor": say("splits each layer across GPUs"), "layer": say("assigns whole layers to GPUs")}


def _named(asked: LookUpQuery) -> Engine | None:
    """The engine of that name."""
    wanted = " ".join(asked.words).casefold().replace(" ", "")
    return next(
        (engine for engine in engines().values() if wanted in {engine.id, engine.label.casefold()}), None
    )


def _steps(steps: tuple[tuple[float, int], ...] | None) -> str | None:
    """Defaults by the size of the card: "2048; from 70 GiB 8192"."""
    if steps is None:
        return None
    first, *others = steps
    return "; ".join([str(first[1]), *(f">= {least:g} GiB: {value}" for least, value in others)])


def budget_tok(engine: Engine) -> str | None:
    """How many tokens it takes in a step by default, and from which size of the card on."""
    return _steps(engine.budget_tok)


def max_seqs(engine: Engine) -> str | None:
    """How many sequences it takes by default, and from which size of the card on."""
    return _steps(engine.max_seqs)


def before(engine: Engine) -> tuple[str, ...]:
    """Older versions that the tables know too."""
    return tuple(row["version"] for row in engine.before)


KIND = ListingKind(
    record=Engine,
    summary=say("serving engines and how they use memory"),
    title=say("Serving engines"),
    fields=(
        field("id", say("engine"), listed=True),
        field("label", say("name"), listed=True),
        field("version", say("version"), listed=True),
        field("pool", say("cache"), show=_POOLS.__getitem__, listed=True, flexible=True),
        field("share", say("share"), listed=True),
        field("share_of", say("share of")),
        field("share_flag", say("flag for the share")),
        field("split", say("across GPUs"), show=_SPLITS.__getitem__, listed=True),
        field("budget_tok", say("tokens per step"), law=budget_tok),
        field("max_seqs", say("sequences"), law=max_seqs),
        field("block_tok", say("tokens per block"), listed=True),
        field("formats", say("formats")),
        field("before", say("older versions"), law=before),
        field("confidence", say("confidence"), listed=True),
        field("as_of", say("as of")),
    ),
    find=lambda asked: (find_engine(" ".join(asked.words)),) if asked.words else tuple(engines().values()),
    named=_named,
    sources=lambda engine: engine.source,
)
