"""Sentences a person reads, in English and in Simplified Chinese.

Code writes a sentence in English with `say`; the English text is also its key.
Translations live in `data/words/<language>/*.toml`, one table `[sentences]` a file.
A table that has a sentence in both languages side by side (data/advice) makes it with `in_both`.
A record carries `Sentence`s, and only the face that shows them picks the language.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial, reduce

from rigright.base.patterns import pattern
from rigright.base.record import dataclass

ENGLISH = "en"
CHINESE = "zh"
LANGUAGES = (ENGLISH, CHINESE)
CHINESE_LETTERS = "\u4e00"  # from this one on

# kinds of notes
DECIDES = "decides"  # it costs an answer its tick, and is said on line 1
ASSUMED = "assumed"  # what nobody said: all of an answer in one line
OF_PRICE = "price"  # beside a price
OLD_PRICE = "old price"  # a page that names prices says it of all of them together
DOUBT = "doubt"  # why what is cheaper does not come first


_STEERS = pattern(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_AHEAD = pattern(r"(?<=[\u4e00-\u9fff]) ?{(?P<name>\w+)}")
_BEHIND = pattern(r"{(?P<name>\w+)} ?(?=[\u4e00-\u9fff])")
_JOINTS = "with|of|in|from|that|and|or|on|to|for|has|have"  # behind them nothing is counted
_COUNTED = pattern(  # "{count} bad cards are"; in "{count} of {all} cards are" the verb agrees with count
    rf"(?<!{{){{(\w+)}}( of {{\w+}})? ((?:(?!(?:{_JOINTS})\b)[a-z][a-z-]* ){{0,2}}?)"
    r"([A-Za-z]+s)\b( [a-z]+\b)?"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """An English template with the values that fill its `{names}`."""

    text: str
    values: tuple[tuple[str, object], ...] = ()
    chinese: str | None = None  # where it came with its English
    kind: str = ""  # of a note: what it is to its answer, one of those below

    def of(self, kind: str) -> Sentence:
        """The same as a note of a kind."""
        return Sentence(self.text, self.values, self.chinese, kind)

    def __str__(self) -> str:
        return tell(self, ENGLISH)


@dataclass(frozen=True, slots=True)
class Bilingual:
    """A name out of a table that has it in both languages."""

    english: str
    chinese: str

    def __str__(self) -> str:
        return self.english


def say(text: str, /, **values: object) -> Sentence:
    """Make a sentence; every template handed to this needs a translation."""
    return Sentence(text, tuple(values.items()))


def is_known(thing: Sentence | str | None) -> bool:
    """Whether there is something to say: a sentence with a value that nobody knows is not said."""
    if not isinstance(thing, Sentence):
        return bool(thing)
    values = (value for _, value in thing.values)
    return all(value is not None and (not isinstance(value, Sentence) or is_known(value)) for value in values)


def assuming(parts: Sentence | str | None) -> Sentence:
    """A note of what nobody said."""
    return say("assumed: {parts}", parts=parts or "").of(ASSUMED)


def in_both(english: str, chinese: str, *, values: Mapping[str, object]) -> Sentence:
    """A sentence that came in both languages; of the values, those that it names."""
    named = placeholders(english)
    return Sentence(english, tuple(value for value in values.items() if value[0] in named), chinese)


@cache
def placeholders(template: str) -> frozenset[str]:
    """The `{names}` of a template."""
    return frozenset(re.findall(r"(?<!{){(\w+)}", template))


def with_commas(parts: Iterable[Sentence | str | None]) -> Sentence | None:
    """Parts of one sentence, one behind another; what is empty or not known is left out."""
    return _joined(parts, lambda first, second: say("{first}, {second}", first=first, second=second))


def with_semicolons(parts: Iterable[Sentence | str | None]) -> Sentence | None:
    """Sentences in one line."""
    return _joined(parts, lambda first, second: say("{first}; {second}", first=first, second=second))


def split(joined: Sentence | None) -> tuple[Sentence, ...]:
    """The sentences of one line that `with_semicolons` made."""
    if joined is None or joined.text != "{first}; {second}":
        return () if joined is None else (joined,)
    return tuple(
        sentence for _, part in joined.values if isinstance(part, Sentence) for sentence in split(part)
    )


def _joined(
    parts: Iterable[Sentence | str | None], join: Callable[[Sentence, Sentence], Sentence]
) -> Sentence | None:
    kept = [
        sentence if isinstance(sentence, Sentence) else say("{text}", text=sentence)
        for sentence in parts
        if sentence is not None and is_known(sentence)
    ]
    return reduce(join, kept) if kept else None


def tell(thing: object, language: str) -> str:
    """Write a sentence (or anything else) out in one language."""
    if isinstance(thing, Bilingual):
        return thing.chinese if language == CHINESE else thing.english
    if not isinstance(thing, Sentence):
        return str(thing)
    template = thing.chinese if language == CHINESE else None
    if template is None:
        template = sentences(language).get(thing.text, thing.text)
    if language == ENGLISH:
        values = dict(thing.values)
        for name, many, text in _plurals(template):
            if str(values.get(name)) == "1":
                template = template.replace(many, text)
    texts = {name: tell(value, language) for name, value in thing.values}
    return (_spaced(template, texts) if language == CHINESE else template).format_map(texts)


def _spaced(template: str, texts: Mapping[str, str]) -> str:
    """A Chinese template: a space where Chinese meets Latin letters or digits, none within Chinese."""
    for edge, first in ((_AHEAD, True), (_BEHIND, False)) if texts else ():
        template = edge.sub(partial(_edge, texts, first=first), template)
    return template


def _edge(texts: Mapping[str, str], match: re.Match[str], *, first: bool) -> str:
    text = texts.get(match["name"], "")
    letter = text[:1] if first else text[-1:]
    if not letter.isalnum():
        return match[0]
    name = match[0].strip()
    space = "" if letter >= CHINESE_LETTERS else " "
    return space + name if first else name + space


@cache
def _plurals(template: str) -> tuple[tuple[str, str, str], ...]:
    """Numbers of an English template with what is counted: (name, as it stands, as it is said of one)."""
    if "{" not in template or "s" not in template:
        return ()
    nouns, verbs = _singular()
    rows = []
    for match in _COUNTED.finditer(template):
        name, all_of, adjectives, noun, verb = match.groups(default="")
        if noun not in nouns:
            continue
        text = f"{{{name}}}{all_of} {adjectives}{noun if all_of else nouns[noun]}{verb}"
        if verb.strip() in verbs:
            text = text.removesuffix(verb) + " " + verbs[verb.strip()]
        rows.append((name, match[0], text))
    return tuple(rows)


@cache
def _singular() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Nouns and verbs of many -> of one."""
    fields: dict[str, dict[str, str]] = {"noun": {}, "verb": {}}
    for row in _table("singular.csv"):
        fields[row["kind"]][row["many"]] = row["one"]
    return fields["noun"], fields["verb"]


def worded(of: str) -> Callable[[str], Sentence | str]:
    """How a page says the values of a field that tables write in short; a name stays as it is."""
    return lambda value: _cell_words().get((of, value), value)


def words_of(of: str) -> dict[str, Sentence]:
    """All values of such a field, in the order of the table, as pages say them."""
    return {value: word for (kind, value), word in _cell_words().items() if kind == of}


@cache
def _cell_words() -> Mapping[tuple[str, str], Sentence]:
    """What a field is of, and its value -> in both languages."""
    table = _table("cell_words.csv")
    return {(row["of"], row["value"]): in_both(row["english"], row["chinese"], values={}) for row in table}


def _table(name: str) -> Iterator[dict[str, str]]:
    """The rows of a table of words."""
    import csv
    from pathlib import Path

    with (Path(__file__).parents[1] / "data" / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


@cache
def sentences(language: str) -> Mapping[str, str]:
    """English template -> template in the language; empty for English."""
    if language == ENGLISH:
        return {}
    from pathlib import Path

    from rigright.base.compiled import toml_table

    fields: dict[str, str] = {}
    try:
        for path in sorted((Path(__file__).parents[1] / "data" / "words" / language).glob("*.toml")):
            fields.update(toml_table(path, path.read_bytes())["sentences"])
    except ModuleNotFoundError:  # Python 3.10, that only reads and measures for another
        return {}
    return fields


def pick_language(wish: str | None = None) -> str:
    """Choose the language: the wish, else the locale of the environment, else English."""
    if wish is not None:
        return wish
    settings = (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    text = next((setting for setting in settings if setting), None)
    if text is None and os.name == "nt":
        import locale

        text = locale.getlocale()[0]
    return CHINESE if (text or "").lower().startswith(("zh", "chinese")) else ENGLISH


def clean(text: str) -> str:
    """Foreign text without what could steer a terminal; line ends and tabs become spaces."""
    if text.isascii() and text.isprintable():
        return text.strip()
    return _STEERS.sub("\ufffd", re.sub(r"\s", " ", text)).strip()
