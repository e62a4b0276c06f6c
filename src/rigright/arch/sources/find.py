"""The one finder for loose names of models: clear names resolve, unclear ones list, wrong ones suggest."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from rigright.arch.record import Arch
from rigright.arch.sources import zoo
from rigright.arch.sources.identity import identity_of, shared
from rigright.arch.sources.near import age, alias_rows, listed, unknown, which
from rigright.arch.sources.spelling import (
    MAX_KEPT,
    MAX_NAME,
    USUAL,
    Spelling,
    Tag,
    is_size,
    own_part,
    read_tag,
    selects,
    spell,
    tables,
)
from rigright.base.errors import AskError, RigError
from rigright.base.patterns import pattern
from rigright.base.record import dataclass, replace
from rigright.base.units import GIGA, KIB, MEGA
from rigright.base.words import Sentence, say

FORMAT, DATE = 64, 16  # a difference in storage or date outweighs those in training and publisher
_OTHER_KINDS = frozenset(
    {"audio", "colbert", "draft", "eagle", "eagle3", "omni", "speculator", "vision", "vl"}
)
PLAIN = frozenset({"bf16", "fp16", "fp32"})  # not quantised
GGUF_ENGINES = frozenset({"llama.cpp", "ollama"})
OTHERS = 4  # models a note names beside the one taken
OLDEST = (0.0,)  # a name without a version is that of the first
NEAR = 0.07  # 14b is said of 14.7 billion, 671b of 671.03
COMPARED = 8  # models that may turn out to be one architecture; more never are
_LENGTHS = {"k": KIB, "m": MEGA}  # 128k and 1m tokens, as names say them
_NUMBER = pattern(r"\d+(?:\.\d+)*")
_MEMORY = pattern(r"\d{1,5}(?:\.\d+)?\s*g(?:i?b)?(?:\s.*)?", re.IGNORECASE)
# a format by its bits -> the same in the files of an engine
_OWN = {
    "gguf": {
        "bf16": "gguf:BF16",
        "fp16": "gguf:F16",
        "fp32": "gguf:F32",
        "mxfp4": "gguf:MXFP4",
        "nvfp4": "gguf:NVFP4",
    },
    "mlx": {"int4": "mlx4", "int8": "mlx8"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMatch:
    """A model of the zoo that answers to a name."""

    name: str
    extra: frozenset[str]  # words of its own that were not asked for
    strange: int  # other differences: storage, training, publisher


def find(asked: str) -> Arch:
    """The Arch a name means: as the zoo spells it, an engine's tag, an alias, a size, or a loose name."""
    asked = asked.strip()
    if len(asked) > MAX_NAME:
        raise AskError(say("too long for a model name: {letters} characters", letters=len(asked)))
    name = zoo.exact(asked)
    if name is not None:
        return zoo.arch(name)
    tag = read_tag(asked)
    loose = asked if tag is None else tag.model or tag.name
    spelling = spell(f"{own_part(asked if tag is None else tag.name)} {_habit(asked)}")
    known, note = None if tag is None else zoo.exact(loose), None
    for reading in (_alias, _sized, _loose):
        if known is None:
            known, note = reading(
                loose, spell(own_part(loose)) if tag is not None and tag.model else spelling
            )
    return _as_asked(zoo.arch(known or ""), asked, spelling=spelling, tag=tag, note=note)


def is_known(asked: str) -> bool:
    """Whether the finder answers to a name."""
    try:
        find(asked)
    except RigError:
        return False
    return True


def _habit(asked: str) -> str:
    """The word for what all files of a publisher are: "mlx" for mlx-community."""
    habits: dict[str, str] = tables()["publishers"]
    return next((habits[piece] for piece in asked.lower().split("/")[:-1] if piece in habits), "")


def _alias(asked: str, spelling: Spelling) -> tuple[str | None, Sentence | None]:
    """A model that is another by name only: a row of data/model_aliases.csv."""
    model = _aliases().get(spelling.words | spelling.dates)
    if model is None:
        return None, None
    return model, say("{asked} has the same architecture as {model}", asked=asked, model=model)


@cache
def _aliases() -> dict[frozenset[str], str]:
    spelt = [(spell(row["alias"]), row["model"]) for row in alias_rows()]
    return {alias.words | alias.dates: model for alias, model in spelt}


def _sized(asked: str, spelling: Spelling) -> tuple[str | None, Sentence | None]:
    """The model that people mean by a size or a short name alone, with a note that names others."""
    words = spelling.words - frozenset(tables()["filler"]["words"])
    if _MEMORY.fullmatch(asked):
        raise AskError(
            say(
                '"{asked}" is a memory size, not a model; to see what fits: rigright fit {asked}',
                asked=asked[:40],
            )
        )
    if words in _meant():
        model, *others = _meant()[words]
        return model, _taken(asked, model, others=others)
    if len(words) != 1 or not is_size(*words):
        return None, None
    sizes = [size for (size,) in (texts for texts in _meant() if len(texts) == 1) if is_size(size)]
    near = sorted(sizes, key=lambda size: abs(_billions(size) - _billions(*words)))[:OTHERS]
    raise AskError(
        say(
            "no known model has {size} parameters; closest: {names}",
            size="".join(words),
            names=", ".join(_meant()[frozenset({size})][0] for size in near),
        )
    )


@cache
def _meant() -> dict[frozenset[str], list[str]]:
    """Sizes and short names, and the models that people mean by them, the likeliest first."""
    meant: dict[str, list[str]] = tables()["meant"]
    return {spell(name).words: models for name, models in meant.items()}


def _taken(asked: str, model: str, *, others: list[str]) -> Sentence:
    if not others:
        return say('using {model} for "{asked}"', asked=asked, model=model)
    return say(
        'using {model} for "{asked}"; it could also be {others}',
        asked=asked,
        model=model,
        others=", ".join(others[:OTHERS]),
    )


def _billions(size: str) -> float:
    number, unit = float(size[:-1].partition("x")[0]), size[-1]
    return number * {"t": 1000, "m": 0.001}.get(unit, 1)


def _loose(asked: str, spelling: Spelling) -> tuple[str, Sentence | None]:
    """The one model whose name holds all the words, or an error that lists what could be meant."""
    if not spelling.words:
        raise AskError(say('unknown model "{asked}"; see rigright look-up models', asked=asked[:80]))
    models = _matches(spelling, spell(asked.rpartition("/")[0]).words if "/" in asked else frozenset())
    best = [match for match in _plainest(models, asked) if not _is_other_kind(match, spelling)]
    best = [match for match in best if not _is_later(match, asked)]
    if not best:
        raise unknown(asked, spelling)
    ranked = sorted(
        best, key=lambda match: (match.strange, len(match.extra), age(match.name), len(match.name))
    )
    if len(best) == 1 or _alike(best):
        return ranked[0].name, None
    named_size = any(is_size(word) or word in tables()["sizes"]["words"] for word in spelling.words)
    if not named_size or len({_kind(match) for match in best}) > 1:
        raise AskError(
            say(
                '"{asked}" is ambiguous: {names}',
                asked=asked,
                names=listed([match.name for match in best]),
            )
        )
    newest, *others = sorted(
        best, key=lambda match: (age(match.name) or OLDEST, match.strange, len(match.name))
    )
    named = {which(match.name): match.name for match in reversed([newest, *others])}
    return newest.name, _taken(asked, newest.name, others=list(named.values())[-2::-1])


def _is_other_kind(match: ModelMatch, spelling: Spelling) -> bool:
    """Whether a word that was not asked for makes it another kind of architecture: Mamba-Codestral."""
    unsaid = spell(own_part(match.name)).words - spelling.words
    return not unsaid.isdisjoint(tables()["kinds"]["words"])


def _is_later(match: ModelMatch, asked: str) -> bool:
    """Whether a name written as on the hub, chatglm-6b, would be taken for a later one, chatglm2-6b."""
    if " " in asked.strip() or "-" not in asked:
        return False
    own, texts = own_part(match.name).lower(), spell(own_part(asked)).words
    later = [word for word in match.extra if word[0].isdigit() and not is_size(word)]
    return any(f"{family}{number}" in own for family in texts if family.isalpha() for number in later)


def _kind(match: ModelMatch) -> frozenset[str]:
    """The words that are no number and no size: generations of one model have the same."""
    own = spell(own_part(match.name)).words
    return frozenset(word for word in own if not any(sign.isdigit() for sign in word))


def _matches(spelling: Spelling, publisher: frozenset[str]) -> list[ModelMatch]:
    """Every model whose name holds all the words asked for."""
    letters = [word for word in spelling.words if word.isalpha()]
    likely = [name for name in zoo.every_name() if all(word in name.lower() for word in letters)]
    models = [_match(name, spelling, publisher=publisher) for name in likely]
    matches = [match for match in models if match is not None]
    return matches or [
        ModelMatch(name=name, extra=frozenset(), strange=0)
        for name in zoo.every_name()
        if _glued(name, spelling)
    ]


def _match(name: str, spelling: Spelling, *, publisher: frozenset[str]) -> ModelMatch | None:
    """How well one model answers; None where it does not."""
    maker, _, own = name.partition("/")
    makers, other = spell(maker).words, spell(own)
    missing = spelling.words - other.words - makers
    if missing and (any(map(is_size, other.words)) or not all(_is_of_size(name, word) for word in missing)):
        return None
    # whether this is a part of a pipeline that a bare name does not mean
    if other.part is None or spelling.part is not None:
        is_other_part = other.part != spelling.part
    else:
        whole = name.partition("#")[0]
        parts = [part for part in tables()["parts"]["words"] if zoo.exact(f"{whole}#{part}")]
        is_other_part = bool(other.part != parts[0])
    if is_other_part or _other_date(other, spelling):
        return None
    # whether it is somebody's copy of a model that the zoo has from its own publisher
    base = shared().get(name)
    if base is None or base.partition("/")[0] == name.partition("/")[0]:
        is_copy = False
    else:
        is_copy = other.words == spell(own_part(base)).words
    return ModelMatch(
        name=name,
        extra=other.words - spelling.words - makers,
        strange=FORMAT * len((other.formats ^ spelling.formats) - PLAIN)
        + DATE * len(other.dates ^ spelling.dates)
        + len(other.variants ^ spelling.variants)
        + 2 * is_copy
        + 2 * bool(publisher and not publisher & makers),
    )


def _is_of_size(name: str, size: str) -> bool:
    """Whether a model whose name says no size has so many parameters: DeepSeek-R1 is the 671b."""
    known = identity_of(name) if is_size(size) and "x" not in size else None
    params = None if known is None else known.params
    return params is not None and abs(_billions(size) * GIGA / params - 1) < NEAR


def _other_date(other: Spelling, spelling: Spelling) -> bool:
    return bool(spelling.dates and other.dates and not spelling.dates & other.dates)


def _glued(name: str, spelling: Spelling) -> bool:
    """Whether the words are the same when written together (qwq32b, deepseekr1)."""
    other = spell(name.rpartition("/")[2])
    return (
        other.part is None
        and not _other_date(other, spelling)
        and _joined(other.words) == _joined(spelling.words)
    )


@lru_cache(maxsize=MAX_KEPT)
def _joined(words: frozenset[str]) -> tuple[str, list[str]]:
    """Its letters, and its numbers: 3.5 and 2b are not 2.5 and 3b."""
    return "".join(sorted("".join(words))), sorted(_NUMBER.findall(" ".join(words)))


def _plainest(models: list[ModelMatch], asked: str) -> list[ModelMatch]:
    """Those named in full; else those that differ least in kind (coder, vision, distilled ...).

    "qwen 7b", in words, asks for a size of a family: the first Qwen is one of several that answer.
    """

    def kinds(match: ModelMatch) -> int:
        return sum(not selects(word) for word in match.extra)

    full = [match for match in models if not match.extra]
    words = spell(own_part(asked)).words
    of_family = (
        " " in asked and any(map(is_size, words)) and all(word.isalpha() or is_size(word) for word in words)
    )
    if full and not of_family:
        least = min(match.strange // DATE for match in full)
        return [match for match in full if match.strange // DATE == least]
    least = min(map(kinds, models), default=0)
    return [match for match in models if kinds(match) == least]


def _alike(models: list[ModelMatch]) -> bool:
    """Whether all are one architecture, whatever their names and storage."""
    return len(models) <= COMPARED and len({zoo.arch(match.name).towers for match in models}) == 1


def _as_asked(arch: Arch, asked: str, *, spelling: Spelling, tag: Tag | None, note: Sentence | None) -> Arch:
    """The zoo's Arch in the storage asked for, with a note where it was found under another name."""
    own = spell(own_part(arch.name))
    if note is None and (own.variants ^ spelling.variants or own.formats ^ spelling.formats):
        note = say("using {model} (same architecture)", model=arch.name)
    elif note is None and own.words - spelling.words - spell(arch.name.partition("/")[0]).words:
        note = say('using {model} for "{asked}"', asked=asked, model=arch.name)
    engine = spelling.engine if tag is None else tag.engine
    lengths = [word for word in spelling.variants if word[:-1].isdigit() and word[-1] in _LENGTHS]
    longest = max((int(int(word[:-1]) * _LENGTHS[word[-1]]) for word in lengths), default=None)
    return replace(
        arch,
        engine=engine,
        max_context_tok=longest or arch.max_context_tok,
        stored=_stored(arch, own, spelling=spelling, tag=tag),
        warnings=arch.warnings if note is None else (*arch.warnings, note),
    )


def _stored(arch: Arch, own: Spelling, *, spelling: Spelling, tag: Tag | None) -> str | None:
    """The storage the name asks for; else what the model is published in, unless that is one of several."""
    asked, engine = spelling.stored, spelling.engine if tag is None else tag.engine
    if engine in GGUF_ENGINES:
        usual = "gguf:MXFP4" if arch.published == "mxfp4" else (tag and tag.stored) or USUAL
        usual = "gguf:Q4_0" if "qat" in spelling.variants else usual
        return _OWN["gguf"].get(asked or "", asked) or usual
    if engine == "mlx":
        return None if asked in PLAIN else _OWN["mlx"].get(asked or "", asked) or "mlx4"
    if asked is None:
        return None if own.formats else arch.stored
    if arch.stored is not None and arch.stored.startswith(asked):
        return arch.stored
    return None if asked in PLAIN else asked


@cache
def copied(asked: str) -> Arch | None:
    """The model that a name begins with, its size included: makers of copies append words of their own.

    None where no known model is left, or where a word that is cut away tells of another architecture.
    """
    name = re.sub(r"\.(?:gguf|safetensors|bin)\Z", "", asked.strip()[:MAX_NAME].lower().replace("\\", "/"))
    pieces = re.split(r"[-_ ]", name.rpartition("/")[2] or name)
    others = _OTHER_KINDS.union(tables()["kinds"]["words"])
    whole = (
        len(pieces) if name.startswith(("/", "~", "./")) else len(pieces) - 1
    )  # a folder has its model's name
    for end in range(whole, 0, -1):
        sized = [is_size(piece) for piece in pieces[:end]]
        if end < len(pieces) and (pieces[end] in others or not any(sized) or all(sized)):
            return None
        try:
            return find("-".join(pieces[:end]))
        except RigError:
            continue
    return None
