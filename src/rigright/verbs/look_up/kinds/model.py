"""One model or several, by name or path: counts, cache, sizes in every format, what its files hold."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rigright.arch.sources.find import is_known
from rigright.base.errors import AskError
from rigright.base.page import Shown
from rigright.base.units import show_bytes, show_count
from rigright.base.words import say
from rigright.verbs.look_up.fields import figure, told
from rigright.verbs.look_up.listing import Asked, Field, Kind
from rigright.verbs.look_up.model import find_models
from rigright.verbs.look_up.model_card import ModelCard
from rigright.verbs.look_up.model_parts import context_shown, exact_count, model_parts


def _find(asked: Asked) -> tuple[ModelCard, ...]:
    if not asked.words:
        raise AskError(
            say("name a model: rigright look-up model llama-3.1-8b, or a path; all: rigright look-up models")
        )
    return find_models(asked)


def _named(asked: Asked) -> ModelCard | None:
    """The model a name means; a size alone or a path is none."""
    text = " ".join(asked.words)
    return find_models(asked)[0] if is_known(text) else None


def _hidden(_: Any) -> Shown:
    """What the parts under the fields show."""
    return ""


def _sparse(key: str, head: Any) -> Field:
    return Field(key=key, head=head, read=lambda card: getattr(card, key), detail=True, sparse=True)


def _count(key: str, head: Any) -> Field:
    return Field(key=key, head=head, read=lambda card: getattr(card, key), show=exact_count, detail=True)


def _table(key: str, head: Any) -> Field:
    """Data for scripts; people see it as a table."""
    return Field(
        key=key,
        head=head,
        read=lambda card: getattr(card, key) or None,
        show=_hidden,
        detail=True,
        sparse=True,
    )


KIND = Kind(
    summary=say("one model by name or path: parameters, cache, layers, bytes in every format, its files"),
    title=say("Model"),
    fields=(
        told("name", say("model"), listed=True),
        _sparse("error", say("error")),
        told("family", say("family")),
        told("task", say("task")),
        _count("params", say("parameters")),
        _count("active_params", say("active a token")),
        _count("embedding_params", say("of these, token table")),
        Field(
            key="spare_params",
            head=say("beside them, for further tokens (MTP)"),
            read=lambda card: card.spare_params,
            show=exact_count,
            detail=True,
            sparse=True,
        ),
        Field(
            key="kv_bytes_per_token",
            head=say("cache a token, 16-bit"),
            read=lambda card: card.kv_bytes_per_token,
            show=lambda size: f"{size:,.0f} B",
            detail=True,
        ),
        Field(
            key="kv_constant_bytes",
            head=say("constant cache a sequence"),
            read=lambda card: card.kv_constant_bytes,
            show=lambda size: show_bytes(size) if size else "",
            detail=True,
        ),
        Field(
            key="max_context_tok",
            head=say("longest context"),
            read=lambda card: card.max_context_tok,
            show=context_shown,
            detail=True,
        ),
        Field(
            key="flops_per_tok",
            head=say("FLOPs a token, attention pairs apart"),
            read=lambda card: card.flops_per_tok,
            show=show_count,
            detail=True,
        ),
        figure("layers", say("layers"), written="{:,.0f}"),
        figure("hidden", say("width"), written="{:,.0f}"),
        figure("heads", say("heads"), written="{:,.0f}"),
        figure("kv_heads", say("key-value heads"), written="{:,.0f}"),
        figure("head_dim", say("width of a head"), written="{:,.0f}"),
        figure("vocab", say("vocabulary"), written="{:,.0f}"),
        Field(
            key="tied",
            head=say("head tied to the token table"),
            read=lambda card: card.tied,
            show=lambda tied: say("yes") if tied else say("no"),
            detail=True,
        ),
        told("dtype", say("published in")),
        told("stored", say("stored as")),
        told("source", say("source"), flexible=True),
        Field(
            key="towers",
            head=say("towers"),
            read=lambda card: [asdict(tower) for tower in card.towers] or None,
            show=_hidden,
            detail=True,
            sparse=True,
        ),
        _table("params_by_part", say("parameters by part")),
        Field(
            key="kv_bytes_at",
            head=say("cache of one sequence"),
            read=lambda card: {str(tok): size for tok, size in card.kv_bytes_at.items()} or None,
            show=_hidden,
            detail=True,
            sparse=True,
        ),
        Field(
            key="weights_bytes",
            head=say("weights by format"),
            read=lambda card: card.weights_bytes,
            show=_hidden,
            detail=True,
        ),
        Field(
            key="files",
            head=say("files"),
            read=lambda card: None if card.files is None else _files(card),
            show=_hidden,
            detail=True,
            sparse=True,
        ),
        _table("adapter", say("adapter")),
        Field(
            key="warnings",
            head=say("warnings"),
            read=lambda card: list(card.warnings),
            show=_hidden,
            detail=True,
        ),
    ),
    find=_find,
    named=_named,
    searched=False,
    parts=model_parts,
    sources=lambda card: card.source or "-",
    full=True,
    failed=lambda card: card.error is not None,
)


def _files(card: ModelCard) -> dict[str, Any]:
    held = asdict(card.files) if card.files is not None else {}
    return {**held, "notes": list(card.files.notes) if card.files is not None else []}
