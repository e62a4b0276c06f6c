"""How good a model is: one score a benchmark, as its leaderboard has it."""

from __future__ import annotations

import re
from functools import cache
from math import log2

from rigright.arch import count
from rigright.arch.record import Arch
from rigright.arch.sources import zoo
from rigright.arch.sources.identity import identity_of
from rigright.arch.sources.spelling import own_part, spell
from rigright.base.record import dataclass, kept
from rigright.base.tables import DATA, CellReader, number, read_rows, text, yes
from rigright.base.units import GIGA

ARENA = "arena"  # people's votes on chats: the benchmark that most models have
AT_1B_IN_2024, EACH_DOUBLING, EACH_YEAR = 1082.0, 25.0, 98.0  # see `rated`; a test fits them anew
CHATS = ("text", "image-text")
MISS, LAST_VOTE = 31.0, 2026.7
_Words = frozenset[str]
_SIZE = re.compile(
    r"[-_ ](?=e?[0-9]+(?:\.[0-9]+)?(?:b|m|t)\b)"
    r"|[-_](?:instruct|chat|base|it|thinking|hf)\b"
)
_PACKED = re.compile(r"[-_](?:(?:nv|mx)?fp[48]|bf16|int[48]|awq|gptq)\b.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkScore:
    """One model's score on one benchmark."""

    model: str
    benchmark: str  # "arena", "arena-coding", "livebench", "mteb-en", "asr-wer"
    score: float
    higher_is_better: bool
    source: str
    as_of: str
    confidence: str


def quality_of(name: str, *, benchmark: str = ARENA) -> float | None:
    """The score of a model, or of a copy or training of it that has one; None where none has."""
    score = score_of(name, benchmark=benchmark)
    return None if score is None else score.score


def score_of(name: str, *, benchmark: str = ARENA) -> BenchmarkScore | None:
    """The same with its source and date."""
    exact = _by_name().get((name.partition("#")[0], benchmark))
    if exact is not None:
        return exact
    spelling = spell(own_part(name))
    alike = _by_words().get((spelling.words, benchmark), ())
    dated = [score for score in alike if spell(own_part(score.model)).dates == spelling.dates]
    return max(dated or alike, key=lambda score: score.as_of, default=None)


@kept
def rated(arch: Arch) -> tuple[float, bool]:
    """How useful a model is, as a score of the arena; and whether it has one, or others tell it.

    The nearest in size of the same series tells it best: 25 a doubling of the parameters (the geometric mean
    of all and of those at work) misses by 19. Where none has a score, size and age do: 98 a year, the
    least-squares fit over the models of the zoo that have one, misses by 31. Such a model counts as two
    misses worse, as three where it is made for more than chat, as two more where nobody packs it for home
    use, and as no younger than the last vote.
    """
    score = quality_of(arch.name)
    if score is not None:
        return score, True
    params = (count.params(arch) * count.active_params(arch)) ** 0.5 / GIGA
    series = _voted().get(series_of(arch.name), ())
    kin = min(series, key=lambda pair: abs(log2(params / pair[0])), default=None)
    if kin is not None:
        return kin[1] + EACH_DOUBLING * log2(params / kin[0]), False
    identity = identity_of(arch.name)
    released = None if identity is None else identity.released
    years = min(_year(released), LAST_VOTE) - 2024
    doubts = 2 + (arch.task not in CHATS) + 2 * (identity is None or identity.ollama is None)
    return AT_1B_IN_2024 + EACH_DOUBLING * log2(params) + EACH_YEAR * years - doubts * MISS, False


def series_of(name: str) -> str:
    """A name without publisher, size and what follows it: "Qwen3-30B-A3B-Instruct" is of Qwen3."""
    own = _PACKED.sub("", name.rpartition("/")[2].casefold())
    return _SIZE.split(own)[0].strip("-_. ") or own


@cache
def copies() -> frozenset[str]:
    """Models of the zoo that are another one of it, stored in another format."""
    owns = {name: name.rpartition("/")[2].casefold() for name in zoo.every_name()}
    there = frozenset(owns.values())
    return frozenset(name for name, own in owns.items() if _PACKED.sub("", own) in there - {own})


@cache
def _voted() -> dict[str, tuple[tuple[float, float], ...]]:
    """By series: parameters in billions and score of its models that have one."""
    pairs: dict[str, tuple[tuple[float, float], ...]] = {}
    there = frozenset(zoo.every_name())
    for score in scores():
        if score.benchmark == ARENA and score.model in there:
            arch = zoo.arch(score.model)
            params = (count.params(arch) * count.active_params(arch)) ** 0.5 / GIGA
            series = series_of(score.model)
            pairs[series] = (*pairs.get(series, ()), (params, score.score))
    return pairs


def _year(released: str | None) -> float:
    """A date as years; who has none is taken to be as old as the arena."""
    if released is None:
        return 2023.0
    year, _, rest = released.partition("-")
    return int(year) + (int(rest[:2]) - 1) / 12 if rest else float(year)


@cache
def scores() -> tuple[BenchmarkScore, ...]:
    """Every row."""
    readers: dict[str, CellReader] = dict.fromkeys(
        ("model", "benchmark", "source", "as_of", "confidence"), text
    )
    readers |= {"score": number, "higher_is_better": yes}
    return tuple(
        BenchmarkScore(**row)
        for row in read_rows(DATA / "model_quality.csv", readers, required=tuple(readers))
    )


@cache
def _by_name() -> dict[tuple[str, str], BenchmarkScore]:
    return {(score.model, score.benchmark): score for score in scores()}


@cache
def _by_words() -> dict[tuple[_Words, str], tuple[BenchmarkScore, ...]]:
    result: dict[tuple[_Words, str], tuple[BenchmarkScore, ...]] = {}
    for score in scores():
        key = (spell(own_part(score.model)).words, score.benchmark)
        result[key] = (*result.get(key, ()), score)
    return result
