"""What an unclear or wrong name of a model may have meant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from rigright.arch.sources import zoo
from rigright.arch.sources.identity import identities
from rigright.arch.sources.spelling import Spelling, own_part, selects, spell
from rigright.base.errors import AskError
from rigright.base.tables import DATA, Row, read_rows, text
from rigright.base.words import Sentence, say

SHOWN = 8  # names an error lists at most
MOST_KNOWN = 4  # of which only the names are known
CHATS = frozenset({"text-generation", "vlm", "omni"})
LEAST_START = 3  # letters that a name is looked for by


@cache
def alias_rows() -> list[Row]:
    """Names of models that have the architecture of one in the zoo."""
    columns = ("alias", "model", "why", "source")
    return read_rows(DATA / "model_aliases.csv", dict.fromkeys(columns, text), required=columns)


def listed(names: list[str]) -> str:
    """Names for an error: the shortest first, newer versions before older ones, each model once."""
    ordered = sorted(names, key=lambda name: (len(spell(own_part(name)).words), age(name), len(name), name))
    once = list({which(name): name for name in reversed(ordered)}.values())[::-1]
    more = len(once) - SHOWN
    return ", ".join(once[:SHOWN]) + (f", ... (+{more})" if more > 0 else "")


def which(name: str) -> tuple[frozenset[str], frozenset[str]]:
    """The same for every copy of one model, whoever publishes it and however it is stored."""
    spelling = spell(own_part(name))
    return spelling.words, spelling.dates


def age(name: str) -> tuple[float, ...]:
    """Smaller for newer: the version number, turned round."""
    words = sorted(spell(own_part(name)).words)
    digits = [word.lstrip("krvm") for word in words]
    return tuple(sorted(-float(word) for word in digits if word.replace(".", "", 1).isdigit()))


def unknown(asked: str, spelling: Spelling) -> AskError:
    """The error for a name that no model answers to."""
    # published models that the identity table names, and that no config here describes
    opens = {name.partition("#")[0] for name in zoo.every_name()}
    left = [known.name for known in identities() if known.name not in opens]
    whole = [name for name in left if asked.lower() in {name.lower(), name.rpartition("/")[2].lower()}]
    alike = whole or [name for name in left if spell(own_part(name)).words == spelling.words]
    start = _plain(asked)
    known = alike[:1] or [
        name for name in left if len(start) >= LEAST_START and _plain(own_part(name)).startswith(start)
    ]
    if known:
        names = ", ".join(known[:MOST_KNOWN])
        tasks = {one.name: one.task in CHATS or one.task for one in identities()}
        like = [name.partition("#")[0] for name in _near(spell(own_part(known[0])))]
        near = [name for name in like if tasks.get(name) == tasks[known[0]]]
        give = say("give its config.json, its folder or a GGUF file")
        nearest = say("{give}; nearest that can be counted: {names}", give=give, names=", ".join(near[:2]))
        return AskError(say("no architecture known for {names}", names=names), hint=nearest if near else give)

    def hint() -> Sentence:
        near = _near(spelling)
        if near:
            return say("did you mean {names}? If not, give its config.json", names=", ".join(near))
        return say("give its config.json, or pick a model from `rigright look-up models`")

    return AskError(say('unknown {what} "{text}"', what=say("model"), text=asked[:80]), hint=hint)


def _plain(name: str) -> str:
    """A name without its signs: "YOLO-v8" is "yolov8"."""
    return re.sub(r"[^a-z0-9.]", "", name.lower())


def _near(spelling: Spelling) -> list[str]:
    """The nearest names: words may be misspelt, and some may be missing."""
    from difflib import get_close_matches

    names, vocabulary = _words()
    letters = [word for word in vocabulary if word.isalpha()]
    mended = spelling.words & vocabulary
    for word in spelling.words - vocabulary:
        mended |= set(get_close_matches(word, letters, n=1, cutoff=0.7) if len(word) > 2 else ())
    scored = sorted((-_score(mended, words), len(name), name) for name, words in names.items())
    return [name for score, _, name in scored if score < 0][:5]


@cache
def _words() -> tuple[dict[str, frozenset[str]], frozenset[str]]:
    """The words of every name and alias, and all of them together."""
    names = {name: spell(own_part(name)).words for name in zoo.every_name()}
    names |= {row["alias"]: spell(row["alias"]).words for row in alias_rows()}
    return names, frozenset(word for words in names.values() for word in words)


def _score(asked: Iterable[str], words: frozenset[str]) -> float:
    """Words in common count, the family's name most; words too many count a little against."""
    shared = words.intersection(asked)
    families = sum(2.0 for word in shared if word.isalpha() and not selects(word))
    return families + len(shared) - 0.3 * len(words - shared) if families else 0.0
