"""Models: one or several in full, by name or path; and the zoo, whose architectures ship with the program."""

from __future__ import annotations

from rigright.arch.sources import zoo
from rigright.arch.sources.find import find, is_known
from rigright.arch.sources.spelling import spell
from rigright.base.errors import AskError
from rigright.base.units import show_count
from rigright.base.words import say
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery, fields_of
from rigright.verbs.look_up.model_card import (
    ModelCard,
    cache_shown,
    context_shown,
    exact_count,
    find_models,
    model_parts,
    short_card,
)


def _unnamed(_asked: LookUpQuery) -> tuple[ModelCard, ...]:
    raise AskError(
        say(
            "give a model: rigright look-up model llama-3.1-8b, or a path; for all models: "
            "rigright look-up models"
        )
    )


MODEL = ListingKind(
    record=ModelCard,
    title=say("Model"),
    fields=fields_of(
        "model",
        shows={
            "params": exact_count,
            "active_params": exact_count,
            "embedding_params": exact_count,
            "spare_params": exact_count,
            "kv_bytes_per_token": lambda size: f"{size:,.0f} B",
            "kv_constant_bytes": cache_shown,
            "max_context_tok": context_shown,
            "flops_per_tok": show_count,
        },
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
    fields=fields_of(
        "models",
        shows={
            "params": show_count,
            "active_params": show_count,
            "kv_bytes_per_token": cache_shown,
            "max_context_tok": context_shown,
        },
    ),
    records=lambda _: _cards(zoo.names()),
    find=_find_in_zoo,
    searched=False,
    notes=lambda _asked, kept: (
        () if len(kept) == 1 else (say("details of one model: rigright look-up model NAME"),)
    ),
)
