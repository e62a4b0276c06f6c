"""The one finder for loose names of models: clear names resolve, unclear ones list, wrong ones suggest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from rigright.arch.record import Arch
from rigright.arch.sources import zoo
from rigright.arch.sources.near import age, alias_rows, listed, unknown
from rigright.arch.sources.spelling import MAX_NAME, Spelling, own_part, selects, spell, tables
from rigright.base.errors import AskError, RigError
from rigright.base.words import Sentence, say

FORMAT, DATE = 64, 16  # a difference in storage or date outweighs those in training and publisher
PLAIN = frozenset({"bf16", "fp16", "fp32"})  # not quantised


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A model of the zoo that answers to a name."""

    name: str
    extra: frozenset[str]  # words of its own that were not asked for
    strange: int  # other differences: storage, training, publisher


def find(asked: str) -> Arch:
    """The Arch a name means: as the zoo spells it, an alias, or a loose name."""
    asked = asked.strip()
    if len(asked) > MAX_NAME:
        raise AskError(say("a name of {letters} letters is no model's name", letters=len(asked)))
    name = zoo.exact(asked)
    if name is not None:
        return zoo.arch(name)
    spelling = spell(own_part(asked))
    known, note = _alias(asked, spelling)
    if known is None:
        known = _loose(asked, spelling)
    return _as_asked(zoo.arch(known), asked, spelling=spelling, note=note)


def is_known(asked: str) -> bool:
    """Whether the finder answers to a name."""
    try:
        find(asked)
    except RigError:
        return False
    return True


def _alias(asked: str, spelling: Spelling) -> tuple[str | None, Sentence | None]:
    """A model that is another by name only: a row of data/model_aliases.csv."""
    model = _aliases().get(spelling.words | spelling.dates)
    if model is None:
        return None, None
    return model, say("{asked} has the architecture of {model}", asked=asked, model=model)


@cache
def _aliases() -> dict[frozenset[str], str]:
    spelt = [(spell(row["alias"]), row["model"]) for row in alias_rows()]
    return {alias.words | alias.dates: model for alias, model in spelt}


def _loose(asked: str, spelling: Spelling) -> str:
    """The one model whose name holds all the words, or an error that lists what could be meant."""
    if not spelling.words:
        raise AskError(say('"{asked}" names no model; see: rigright look-up models', asked=asked[:80]))
    found = _matches(spelling, _publisher(asked))
    if not found:
        raise unknown(asked, spelling)
    best = _plainest(found)
    if len(best) > 1 and not _alike(best):
        raise AskError(
            say(
                '"{asked}" could mean {names}; name one of them',
                asked=asked,
                names=listed([match.name for match in best]),
            )
        )
    return min(
        best, key=lambda match: (match.strange, len(match.extra), age(match.name), len(match.name))
    ).name


def _publisher(asked: str) -> frozenset[str]:
    """The words of the publisher in "org/name"."""
    return spell(asked.rpartition("/")[0]).words if "/" in asked else frozenset()


def _matches(spelling: Spelling, publisher: frozenset[str]) -> list[Match]:
    """Every model whose name holds all the words asked for."""
    letters = [word for word in spelling.words if word.isalpha()]
    likely = [name for name in zoo.names() if all(word in name.lower() for word in letters)]
    found = [_match(name, spelling, publisher=publisher) for name in likely]
    matches = [match for match in found if match is not None]
    return matches or [
        Match(name=name, extra=frozenset(), strange=0) for name in zoo.names() if _glued(name, spelling)
    ]


def _match(name: str, spelling: Spelling, *, publisher: frozenset[str]) -> Match | None:
    """How well one model answers; None where it does not."""
    maker, _, own = name.partition("/")
    makers, other = spell(maker).words, spell(own)
    if not spelling.words <= other.words | makers or _is_other_part(name, other, spelling=spelling):
        return None
    if _other_date(other, spelling):
        return None
    return Match(
        name=name,
        extra=other.words - spelling.words - makers,
        strange=FORMAT * len(other.formats ^ spelling.formats)
        + DATE * len(other.dates ^ spelling.dates)
        + len(other.variants ^ spelling.variants)
        + 2 * bool(publisher and not publisher & makers),
    )


def _other_date(other: Spelling, spelling: Spelling) -> bool:
    return bool(spelling.dates and other.dates and not spelling.dates & other.dates)


def _is_other_part(name: str, other: Spelling, *, spelling: Spelling) -> bool:
    """Whether this is a part of a pipeline that a bare name does not mean."""
    if other.part is None or spelling.part is not None:
        return other.part != spelling.part
    whole = name.partition("#")[0]
    parts = [part for part in tables()["parts"]["words"] if zoo.exact(f"{whole}#{part}")]
    return bool(other.part != parts[0])


def _glued(name: str, spelling: Spelling) -> bool:
    """Whether the words are the same when written together (qwq32b, deepseekr1)."""
    other = spell(name.rpartition("/")[2])
    return (
        other.part is None
        and not _other_date(other, spelling)
        and _joined(other.words) == _joined(spelling.words)
    )


def _joined(words: Iterable[str]) -> str:
    return "".join(sorted("".join(words)))


def _plainest(found: list[Match]) -> list[Match]:
    """Those named in full; else those that differ least in kind (coder, vision, distilled ...)."""
    full = [match for match in found if not match.extra]
    if full:
        least = min(match.strange // DATE for match in full)
        return [match for match in full if match.strange // DATE == least]

    def kinds(match: Match) -> int:
        return sum(not selects(word) for word in match.extra)

    least = min(map(kinds, found))
    return [match for match in found if kinds(match) == least]


def _alike(found: list[Match]) -> bool:
    """Whether all are one architecture, whatever their names and storage."""
    return len({zoo.arch(match.name).towers for match in found}) == 1


def _as_asked(arch: Arch, asked: str, *, spelling: Spelling, note: Sentence | None) -> Arch:
    """The zoo's Arch in the storage asked for, with a note where it was found under another name."""
    own = spell(own_part(arch.name))
    if note is None and (own.variants ^ spelling.variants or own.formats ^ spelling.formats):
        note = say('"{asked}" is counted as {model}: the same architecture', asked=asked, model=arch.name)
    elif note is None and own.words - spelling.words - spell(arch.name.partition("/")[0]).words:
        note = say('"{asked}" is read as {model}', asked=asked, model=arch.name)
    return replace(
        arch,
        stored=_stored(arch, own, spelling=spelling),
        warnings=arch.warnings if note is None else (*arch.warnings, note),
    )


def _stored(arch: Arch, own: Spelling, *, spelling: Spelling) -> str | None:
    """The storage the name asks for; else what the model is published in, unless that is one of several."""
    asked = spelling.stored
    if asked is None:
        return None if own.formats else arch.stored
    if arch.stored is not None and arch.stored.startswith(asked):
        return arch.stored
    return None if asked in PLAIN else asked
