"""One question of a sweep to one answer: the best plan as flat cells, or why there is none."""

from __future__ import annotations

from rigright.base.errors import RigError
from rigright.base.words import ENGLISH, tell
from rigright.report.pages.plan_data import row_of
from rigright.report.swept import Answered, Question
from rigright.search.record import Rejection
from rigright.verbs.plan import plan
from rigright.verbs.planning.words import OPTIONS, read_wish

MODEL = "model"
WORDS = frozenset({MODEL, *OPTIONS})


def answer(question: Question) -> Answered:
    """The first plan, or what comes nearest; a question that is wrong is answered with its error."""
    words = dict(question.words)
    try:
        found = plan(words.pop(MODEL, ""), wish=read_wish(words))
    except RigError as error:
        return Answered(index=question.index, cells={"fits": ""}, why=tell(error.sentence, ENGLISH))
    if found.first is None:
        return Answered(index=question.index, cells={"fits": "no"}, why=_broken(found.found.broken))
    cells = {"fits": "yes" if found.fits else "no", **row_of(found.first)}
    return Answered(index=question.index, cells=cells, why="" if found.fits else _broken(found.found.broken))


def _broken(broken: tuple[Rejection, ...]) -> str:
    return "; ".join(tell(one.reason, ENGLISH) for one in broken)
