"""One question of a sweep to one answer: the best plan as flat cells, or why there is none."""

from __future__ import annotations

from functools import cache

from rigright.base.errors import RigError
from rigright.base.record import replace
from rigright.base.words import ENGLISH, tell
from rigright.options.read import read_wish
from rigright.options.rows import options_of
from rigright.verbs.plan import plans
from rigright.verbs.planning.planned import row_of
from rigright.verbs.sweep.played import PLAY, SEED, played_cells, requests_of
from rigright.verbs.sweep.swept import Answered, SweepQuestion

MODEL = "model"
OPTIONS = frozenset(name for option in options_of("plan") for name in (option.name, *option.aliases))
WORDS = OPTIONS | {MODEL, PLAY, SEED}


def answer(question: SweepQuestion) -> Answered:
    """The first plan, or what comes nearest; a question that is wrong is answered with its error."""
    words = dict(question.words)
    cells = {"fits": ""}
    try:
        requests, seed = requests_of(words)
        model, wish = words.pop(MODEL, ""), replace(read_wish(words), most_plans=1)
        found = plans(model, wish=wish, beside=tuple(filter(None, map(_users_of, question.beside))))
        cells = {"fits": "yes" if found.fits else "no"}
        why = "" if found.fits else "; ".join(tell(one.reason, ENGLISH) for one in found.found.broken)
        if found.first is not None:
            cells |= row_of(found.first)
            if requests:
                cells |= played_cells(found, found.first, requests=requests, seed=seed)
    except RigError as error:
        why = tell(error.whole, ENGLISH)
    return Answered(index=question.index, cells=cells, why=why)


@cache
def _users_of(text: str) -> float | None:
    """What a cell of users says; what cannot be read is told where it is asked."""
    try:
        return read_wish({"users": text}).users
    except RigError:
        return None
