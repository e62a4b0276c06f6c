"""The zoo: models whose architecture ships with the program."""

from __future__ import annotations

from rigright.arch.sources import zoo
from rigright.arch.sources.find import find
from rigright.arch.sources.spelling import spell
from rigright.base.units import show_count
from rigright.base.words import say
from rigright.verbs.look_up.fields import field
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery
from rigright.verbs.look_up.model import short_card
from rigright.verbs.look_up.model_card import ModelCard
from rigright.verbs.look_up.model_parts import cache_shown, context_shown


def _find(asked: LookUpQuery) -> tuple[ModelCard, ...]:
    """Cards of the zoo, the largest first; a name that is another model's finds that one."""
    names = zoo.names() if not asked.words else _named(" ".join(asked.words))
    cards = [short_card(zoo.arch(name), name) for name in names]
    return tuple(sorted(cards, key=lambda card: (-(card.params or 0), card.name)))


def _named(text: str) -> tuple[str, ...]:
    """Names that hold every word; the finder's own answer, or its complaint, where there are none."""
    words = text.lower().split()
    texts = [name for name in zoo.every_name() if all(word in name.lower() for word in words)]
    spelt = spell(text).words
    texts += [name for name in zoo.every_name() if name not in texts and spelt and spelt <= spell(name).words]
    return tuple(texts) or (find(text).name,)


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
    find=_find,
    searched=False,
    notes=lambda _asked, kept: (
        () if len(kept) == 1 else (say("details of one model: rigright look-up model NAME"),)
    ),
    sources=lambda card: card.source or "-",
)
