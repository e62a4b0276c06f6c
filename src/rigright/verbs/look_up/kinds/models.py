"""Models: one or several in full, by name or path; and the zoo, whose architectures ship with the program."""

from __future__ import annotations

from typing import Any

from rigright.arch.sources import zoo
from rigright.arch.sources.find import find, is_known
from rigright.arch.sources.spelling import spell
from rigright.base.errors import AskError
from rigright.base.page import Shown
from rigright.base.units import show_count
from rigright.base.words import say, worded
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery, field
from rigright.verbs.look_up.model_card import ModelCard, find_models, short_card
from rigright.verbs.look_up.model_parts import cache_shown, context_shown, exact_count, model_parts


def _unnamed(_asked: LookUpQuery) -> tuple[ModelCard, ...]:
    raise AskError(
        say(
            "give a model: rigright look-up model llama-3.1-8b, or a path; for all models: "
            "rigright look-up models"
        )
    )


def _hidden(_: Any) -> Shown:
    """What the parts under the fields show."""
    return ""


MODEL = ListingKind(
    record=ModelCard,
    title=say("Model"),
    fields=(
        field("name", say("model"), listed=True),
        field("error?", say("error")),
        field("family", say("family")),
        field("task", say("task"), show=worded("task")),
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
    records=_unnamed,
    find=find_models,
    named=lambda asked: find_models(asked)[0] if is_known(asked.text) else None,
    searched=False,
    parts=model_parts,
    full=True,
)


def _cards(names: tuple[str, ...]) -> tuple[ModelCard, ...]:
    """Cards of the zoo, the largest first."""
    cards = [short_card(zoo.arch(name), name) for name in names]
    return tuple(sorted(cards, key=lambda card: (-(card.params or 0), card.name)))


def _find_in_zoo(asked: LookUpQuery) -> tuple[ModelCard, ...]:
    """Those whose names hold every word; the finder's own answer, or its complaint, where there are none."""
    words = asked.text.lower().split()
    names = [name for name in zoo.every_name() if all(word in name.lower() for word in words)]
    spelt = spell(asked.text).words
    names += [name for name in zoo.every_name() if name not in names and spelt and spelt <= spell(name).words]
    return _cards(tuple(names) or (find(asked.text).name,))


MODELS = ListingKind(
    record=ModelCard,
    title=say("Models"),
    fields=(
        field("name", say("model"), listed=True, flexible=True),
        field("family", say("family"), listed=True),
        field("task", say("task"), show=worded("task"), listed=True),
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
    records=lambda _: _cards(zoo.names()),
    find=_find_in_zoo,
    searched=False,
    notes=lambda _asked, kept: (
        () if len(kept) == 1 else (say("details of one model: rigright look-up model NAME"),)
    ),
)
