"""One model or several, by name or path: counts, cache, sizes in every format, what its files hold."""

from __future__ import annotations

from typing import Any

from rigright.arch.sources.find import is_known
from rigright.base.errors import AskError
from rigright.base.page import Shown
from rigright.base.units import show_count
from rigright.base.words import say
from rigright.verbs.look_up.fields import field
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery
from rigright.verbs.look_up.model import find_models
from rigright.verbs.look_up.model_card import ModelCard
from rigright.verbs.look_up.model_parts import cache_shown, context_shown, exact_count, model_parts


def _find(asked: LookUpQuery) -> tuple[ModelCard, ...]:
    if not asked.words:
        raise AskError(
            say(
                "give a model: rigright look-up model llama-3.1-8b, or a path; for all models: "
                "rigright look-up models"
            )
        )
    return find_models(asked)


def _named(asked: LookUpQuery) -> ModelCard | None:
    """The model a name means; a size alone or a path is none."""
    text = " ".join(asked.words)
    return find_models(asked)[0] if is_known(text) else None


def _hidden(_: Any) -> Shown:
    """What the parts under the fields show."""
    return ""


KIND = ListingKind(
    record=ModelCard,
    summary=say("one model by name or path: parameters, KV cache, layers, size in every format, files"),
    title=say("Model"),
    fields=(
        field("name", say("model"), listed=True),
        field("error?", say("error")),
        field("family", say("family")),
        field("task", say("task")),
        field("params", say("parameters"), show=exact_count),
        field("active_params", say("active per token"), show=exact_count),
        field("embedding_params", say("of these, embeddings"), show=exact_count),
        field("spare_params?", say("additional MTP parameters"), show=exact_count),
        field("kv_bytes_per_token", say("KV cache per token, 16-bit"), show=lambda size: f"{size:,.0f} B"),
        field("kv_constant_bytes", say("constant cache per sequence"), show=cache_shown),
        field("max_context_tok", say("maximum context"), show=context_shown),
        field("flops_per_tok", say("FLOPs per token, without attention scores"), show=show_count),
        field("layers", say("layers")),
        field("hidden", say("width")),
        field("heads", say("heads")),
        field("kv_heads", say("key-value heads")),
        field("head_dim", say("head dimension")),
        field("vocab", say("vocabulary")),
        field("tied", say("output head tied to the embeddings")),
        field("dtype", say("published in")),
        field("stored", say("stored as")),
        field("source", say("source"), flexible=True),
        field("towers?", say("towers"), show=_hidden),
        field("params_by_part?", say("parameters by part"), show=_hidden),
        field("kv_bytes_at?", say("KV cache of one sequence"), show=_hidden),
        field("weights_bytes", say("weights by format"), show=_hidden),
        field("files?", say("files"), show=_hidden),
        field("adapter?", say("adapter"), show=_hidden),
        field("warnings", say("warnings"), show=_hidden),
    ),
    find=_find,
    named=_named,
    searched=False,
    parts=model_parts,
    sources=lambda card: card.source or "-",
    full=True,
    failed=lambda card: card.error is not None,
)
