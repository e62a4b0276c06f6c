"""Why nothing runs at all: the engine, the weights or the cache that the chips asked for do not know."""

from __future__ import annotations

from rigright.base.words import Sentence, say
from rigright.choice.ways import format_of
from rigright.facts.chips import Chip
from rigright.facts.engines import engines_of, find_engine, how_runs, runs_of, unrun
from rigright.facts.formats import find_kv_format
from rigright.search.question import Question

NOTHING = say("no engine runs these weights on these GPUs; remove a format or engine")


def is_known(question: Question) -> bool:
    """Whether it is known what the engines run that were asked for; memory alone is known of others too."""
    return all(runs_of(find_engine(name).id) for name in question.wish.engines)


def no_way(question: Question) -> Sentence:
    """What is in the way, and what would run."""
    chips = {chip.id: chip for kind in question.kinds for chip in kind.chips}
    if len(chips) == 1:
        return _on_one(question, next(iter(chips.values())))
    return NOTHING


def _on_one(question: Question, chip: Chip) -> Sentence:
    wish, arch = question.wish, question.arch
    named = tuple(find_engine(name).id for name in wish.engines)
    engines = named or engines_of(chip)
    form = arch.stored or arch.dtype
    if wish.weights and engines:
        form = format_of(wish.weights[0], engine=find_engine(engines[0]), named=bool(named))
    if wish.kv and any(how_runs(name, form, chip=chip) for name in engines):
        cache = find_kv_format(wish.kv[0])
        return say(
            "{engine} has no {kv} KV cache; these do: {engines}",
            engine=engines[0], kv=cache.label, engines=", ".join(cache.engines),
        )  # fmt: skip
    if not engines:
        return say("no known engine runs on {chip}", chip=chip.name)
    return unrun(engines[0], form, chip=chip) or NOTHING
