"""The zoo: models whose architecture ships with the program."""

from __future__ import annotations

from rigright.base.units import show_count
from rigright.base.words import say
from rigright.verbs.look_up.fields import field
from rigright.verbs.look_up.listing import ListingKind
from rigright.verbs.look_up.model_card import ModelCard
from rigright.verbs.look_up.model_parts import cache_shown, context_shown
from rigright.verbs.look_up.models import list_models

KIND = ListingKind(
    record=ModelCard,
    summary=say("models whose architecture is included"),
    title=say("Models"),
    fields=(
        field("name", say("model"), listed=True, flexible=True),
        field("family", say("family"), listed=True),
        field("task", say("task"), listed=True),
        field("params", say("parameters"), show=show_count, listed=True),
        field("active_params", say("active"), "active", show=show_count, listed=True),
        field("layers", say("layers"), listed=True),
        field("hidden", say("width"), listed=True),
        field("kv_bytes_per_token", say("KV cache per token"), "kv", show=cache_shown, listed=True),
        field("max_context_tok", say("context"), "context", show=context_shown, listed=True),
        field("vocab", say("vocabulary")),
        field("dtype", say("published in")),
        field("stored", say("stored as")),
        field("source", say("source"), flexible=True),
    ),
    find=list_models,
    searched=False,
    notes=lambda _asked, kept: (
        () if len(kept) == 1 else (say("details of one model: rigright look-up model NAME"),)
    ),
    sources=lambda card: card.source or "-",
)
