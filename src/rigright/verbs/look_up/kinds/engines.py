"""Serving engines: how each takes memory, at its newest version and before."""

from __future__ import annotations

from rigright.base.words import say
from rigright.facts.engines import Engine, engines, find_engine
from rigright.verbs.look_up.listing import Asked, Field, Kind

_POOLS = {
    "share": say("takes a share of the card"),
    "exact": say("allocates the context asked for"),
    "grow": say("grows with the tokens"),
}
_SPLITS = {"tensor": say("cuts layers over cards"), "layer": say("deals layers out to cards")}


def _named(asked: Asked) -> Engine | None:
    """The engine of that name."""
    wanted = " ".join(asked.words).casefold().replace(" ", "")
    return next((one for one in engines().values() if wanted in {one.id, one.label.casefold()}), None)


def _steps(steps: tuple[tuple[float, int], ...] | None) -> str | None:
    """Defaults by the size of the card: "2048; from 70 GiB 8192"."""
    if steps is None:
        return None
    first, *others = steps
    return "; ".join([str(first[1]), *(f">= {least:g} GiB: {value}" for least, value in others)])


KIND = Kind(
    summary=say("serving engines and how they take memory"),
    title=say("Serving engines"),
    fields=(
        Field(key="id", head=say("engine"), read=lambda engine: engine.id),
        Field(key="label", head=say("name"), read=lambda engine: engine.label),
        Field(key="version", head=say("version"), read=lambda engine: engine.version),
        Field(
            key="pool",
            head=say("cache"),
            read=lambda engine: engine.pool,
            show=_POOLS.__getitem__,
            flexible=True,
        ),
        Field(key="share", head=say("share"), read=lambda engine: engine.share, right=True),
        Field(key="share_of", head=say("share of"), read=lambda engine: engine.share_of, detail=True),
        Field(
            key="share_flag",
            head=say("flag of the share"),
            read=lambda engine: engine.share_flag,
            detail=True,
        ),
        Field(
            key="split", head=say("over cards"), read=lambda engine: engine.split, show=_SPLITS.__getitem__
        ),
        Field(
            key="budget_tok",
            head=say("tokens a step"),
            read=lambda engine: _steps(engine.budget_tok),
            detail=True,
        ),
        Field(
            key="max_seqs", head=say("sequences"), read=lambda engine: _steps(engine.max_seqs), detail=True
        ),
        Field(key="block_tok", head=say("tokens a block"), read=lambda engine: engine.block_tok, right=True),
        Field(
            key="formats",
            head=say("formats"),
            read=lambda engine: list(engine.formats),
            show=", ".join,
            detail=True,
        ),
        Field(
            key="before",
            head=say("older versions"),
            read=lambda engine: [row["version"] for row in engine.before] or None,
            show=", ".join,
            detail=True,
        ),
        Field(key="confidence", head=say("confidence"), read=lambda engine: engine.confidence),
        Field(key="as_of", head=say("as of"), read=lambda engine: engine.as_of, detail=True),
    ),
    find=lambda asked: (find_engine(" ".join(asked.words)),) if asked.words else tuple(engines().values()),
    named=_named,
    sources=lambda engine: engine.source,
)
