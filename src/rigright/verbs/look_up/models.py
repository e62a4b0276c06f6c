"""The zoo as a list: every model, or those whose names bear the words."""

from __future__ import annotations

from rigright.arch.sources import zoo
from rigright.arch.sources.find import find
from rigright.arch.sources.spelling import spell
from rigright.verbs.look_up.listing import LookUpQuery
from rigright.verbs.look_up.model import short_card
from rigright.verbs.look_up.model_card import ModelCard


def list_models(asked: LookUpQuery) -> tuple[ModelCard, ...]:
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
