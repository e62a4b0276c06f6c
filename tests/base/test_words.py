from __future__ import annotations

import ast
import csv
import re
import string
import tomllib
from functools import cache

import pytest

import housetree as house
from rigright.base.words import (
    CHINESE,
    ENGLISH,
    LANGUAGES,
    Sentence,
    pick_language,
    say,
    sentences,
    tell,
)

FOLDER = house.PACKAGE / "data" / "words" / CHINESE

NOT_LITERAL = {  # places that make a sentence from no literal -> why
    "base/words.py": "where sentences are made",
    "facts/monitoring.py": "each alert and panel is a row of data/alerts.toml, data/dashboard.toml",
    "facts/training.py": "each precision is a row of data/precisions.toml",
    "doctor/advice.py": "the severity of a finding is a cell of data/advice",
    "facts/guides.py": "each item is a row of data/guides.toml, each myth a row of data/myths.toml",
    "verbs/look_up/kinds/guides.py": "each item is a row of data/guides.toml, in both languages",
    "verbs/look_up/verb.py": "each summary is a cell of data/listing_kinds.csv",
    "verbs/look_up/listing.py": "each head is a cell of data/listing_fields.csv",
    "verbs/read/record.py": "each quantity is a row of data/claims.csv",
    "machine/stored.py": "a stored sentence, taken only if it is one of these",
}
TOLD_BY_TABLES = {  # tables whose cells are sentences
    "alerts.toml": ("says", "fix"),
    "claims.csv": ("id",),
    "dashboard.toml": ("title",),
    "listing_fields.csv": ("head",),
    "listing_kinds.csv": ("summary",),
    "driver_packages.csv": ("worth",),
    "metrics.csv": ("help",),
    "myths.toml": ("claim", "right", "since", "instead", "status"),
    "packages_gone.csv": ("reason",),
    "precisions.toml": ("label",),
    "slow_variables.csv": ("why",),
    "slowdowns.csv": ("short", "meaning"),
    "xids.csv": ("meaning",),
}
VALUES_COME_LATER = {}


@cache
def calls():
    """Each call of `say` and each bare `Sentence(...)`: (path, call)."""
    return [
        (module.path, node)
        for module in house.modules().values()
        if re.search(r"\b(?:say|Sentence)\(", module.source)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"say", "Sentence"}
    ]


def literal(call):
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


@cache
def said():
    """Every sentence of the package -> a place where it stands."""
    spoken = {literal(call): f"{path}:{call.lineno}" for path, call in calls() if literal(call)}
    for table, keys in TOLD_BY_TABLES.items():
        spoken |= {row[key]: f"data/{table}" for row in rows_of(table) for key in keys if row.get(key)}
    return spoken


def rows_of(table):
    text = (house.PACKAGE / "data" / table).read_text(encoding="utf-8")
    if table.endswith(".csv"):
        return list(csv.DictReader(text.splitlines()))
    groups = tomllib.loads(text).values()
    rows = [row for group in groups for row in (group if isinstance(group, list) else [group])]
    return [row | row.get("figures", {}) for row in rows]  # the words of a myth's figures are sentences


def placeholders(template):
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


def translated():
    """Each (file, English, Chinese)."""
    for path in sorted(FOLDER.glob("*.toml")):
        for english, chinese in tomllib.loads(path.read_text(encoding="utf-8"))["sentences"].items():
            yield path.name, english, chinese


def test_every_sentence_has_its_chinese():
    chinese = {english for _, english, _ in translated()}
    missing = [f"{place}: {text}" for text, place in said().items() if text not in chinese]
    assert not missing, "Add these to data/words/zh/*.toml:\n  " + "\n  ".join(sorted(missing))


VERBS = (  # and other words that end in s, and stand behind a value that counts nothing
    "is has does as its this was gets holds needs gives says takes draws lies runs comes bears weighs "
    "works starts stands stays splits knows lacks lists makes means misses names explains feeds describes "
    "decides carries contradicts binds asks keeps hides shows turns trains transcribes replaces serves "
    "generates exists leaves gathers fills looks both wheels weights collectives kernels ways "
    "Windows cases prompts less faults measurements states programs fans always plus slows baseboards "
    "matches across differs supports contains sends describes returns allows exceeds produces "
    "reaches handles expands uses loses"
)


@cache
def counted_nouns():
    """Nouns that may stand behind a number."""
    with (house.PACKAGE / "data" / "singular.csv").open(encoding="utf-8", newline="") as file:
        return [row["many"] for row in csv.DictReader(file) if row["kind"] == "noun"]


def test_what_stands_behind_a_number_has_its_singular():
    """A new noun that is counted goes into data/singular.csv; what is no noun, among the words above."""
    nouns = counted_nouns()
    counted = re.compile(r"(?<!{){(\w+)} (?:[a-z-]+ )?([A-Za-z]+s)\b")
    unknown = {
        f"{word}: {text}"
        for text in {*said(), *advised()}
        for _, word in counted.findall(text)
        if word not in nouns and word not in VERBS.split()
    }
    assert unknown == set()


def advised():
    """The English of every table of advice, and of what binds."""
    data = house.PACKAGE / "data"
    for path in (*(data / "advice").glob("*.toml"), data / "binding.toml"):
        yield from english_in(tomllib.loads(path.read_text(encoding="utf-8")))


def english_in(told):
    if isinstance(told, dict):
        yield from (told["en"],) if "en" in told else ()
        for value in told.values():
            yield from english_in(value)
    elif isinstance(told, list):
        yield from told[:1] if all(isinstance(one, str) for one in told) else ()
        for value in told:
            yield from english_in(value)


def test_one_of_a_thing_is_said_so():
    """Every sentence that counts, asked with 1: no noun of the table stays plural behind it."""
    nouns = counted_nouns()
    left = re.compile(rf"(?<![\w.])1 (?:(?!that|with|of|in)[a-z-]+ )?({'|'.join(nouns)})\b")
    seen = 0
    for text in {*said(), *advised()}:
        names = placeholders(text)
        if re.search(r"{\w+} (?:[a-z-]+ )?\w+s\b", text) and " of {" not in text:
            told = tell(Sentence(text, tuple((name, 1) for name in names)), ENGLISH)
            seen += "{" in text and told != text.format_map(dict.fromkeys(names, 1))
            assert not left.search(told), told
    assert seen > 150


@pytest.mark.letters
@pytest.mark.parametrize(
    ("text", "values", "told"),
    [
        ("it is {slots} slots wide", {"slots": 1}, "it is 1 slot wide"),
        ("{count} wrong values", {"count": "1"}, "1 wrong value"),
        ("{count} bad cards are lost", {"count": 1}, "1 bad card is lost"),
        ("{count} of {all} GPUs do not respond", {"count": 1, "all": 8}, "1 of 8 GPUs does not respond"),
        ("{count} processes", {"count": 2}, "2 processes"),
        ("{count} entries", {"count": 1}, "1 entry"),
        ("{count} checks", {"count": 1.0}, "1.0 checks"),
        ("{count} with faults", {"count": 1}, "1 with faults"),
    ],
)
def test_number_and_noun_agree(text, values, told):
    assert tell(Sentence(text, tuple(values.items())), ENGLISH) == told


def test_no_translation_is_stale():
    stale = [f"{file}: {english}" for file, english, _ in translated() if english not in said()]
    assert not stale, "No code says these any more:\n  " + "\n  ".join(stale)


def test_both_languages_fill_in_the_same_values():
    wrong = [
        f"{file}: {english}"
        for file, english, chinese in translated()
        if placeholders(english) != placeholders(chinese)
    ]
    assert not wrong, "The {names} differ:\n  " + "\n  ".join(wrong)


def test_no_sentence_is_translated_twice_in_two_ways():
    first = {}
    twice = []
    for file, english, chinese in translated():
        if first.setdefault(english, (file, chinese))[1] != chinese:
            twice.append(f"{english}: {first[english]} and {(file, chinese)}")
    assert not twice, "\n".join(twice)


def test_a_translation_is_chinese():
    latin = [
        english
        for _, english, chinese in translated()
        if len(re.findall(r"(?<!\S)[a-z]{2,}(?!\S)", english)) > 2
        and not re.search("[\u4e00-\u9fff]", chinese)
    ]
    assert not latin, "These were left in English:\n  " + "\n  ".join(latin)


def test_sentences_are_literals():
    loose = [
        f"{path}:{call.lineno} {ast.unparse(call)[:90]}"
        for path, call in calls()
        if literal(call) is None and path not in NOT_LITERAL
    ]
    assert not loose, "A sentence not written out cannot be translated:\n  " + "\n  ".join(loose)


def test_each_sentence_is_given_its_values():
    wrong = []
    for path, call in calls():
        given = {word.arg for word in call.keywords}
        if literal(call) is None or None in given or path in VALUES_COME_LATER:
            continue
        if ast.unparse(call.func).endswith("say") and given != placeholders(literal(call)):
            wrong.append(f"{path}:{call.lineno} {literal(call)!r} with {sorted(given)}")
    assert not wrong, "A sentence's {names} and the values given to it differ:\n  " + "\n  ".join(wrong)


def test_no_exception_of_this_file_is_stale():
    loose = {path for path, call in calls() if literal(call) is None}
    assert set(NOT_LITERAL) <= loose


@pytest.mark.letters
def test_a_sentence_is_told_in_either_language():
    sentence = say("no such file: {file}", file="a.csv")
    assert tell(sentence, ENGLISH) == str(sentence) == "no such file: a.csv"
    assert tell(sentence, CHINESE) == "没有文件 a.csv"


def test_a_sentence_inside_a_sentence_is_told_in_the_same_language():
    inner = say("no such file: {file}", file="a.csv")
    assert tell(say("cannot read {file}: {why}", file="b", why=inner), CHINESE).endswith("没有文件 a.csv")


def test_foreign_values_are_never_read_as_templates():
    assert tell(say("no such file: {file}", file="{0.__class__}"), ENGLISH).endswith("{0.__class__}")


def test_english_needs_no_table():
    assert sentences(ENGLISH) == {}
    assert tell(Sentence("as it is"), CHINESE) == "as it is"


@pytest.mark.parametrize(
    ("settings", "language"),
    [
        ({}, ENGLISH),
        ({"LANG": "zh_CN.UTF-8"}, CHINESE),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, ENGLISH),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_TW"}, CHINESE),
        ({"LANG": "zh_CN", "LC_ALL": ""}, CHINESE),
        ({"LANG": "de_DE.UTF-8"}, ENGLISH),
    ],
)
def test_the_locale_chooses(settings, language, monkeypatch):
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert pick_language() == language


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_wish_goes_before_the_locale(language, monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN" if language == ENGLISH else "C")
    assert pick_language(language) == language


@pytest.mark.parametrize(
    ("value", "shown"),
    [("PCIe", "受限于 PCIe 的机器"), ("算力", "受限于算力的机器"), ("3", "受限于 3 的机器")],
)
def test_chinese_and_latin_letters_stand_apart(value, shown):
    for template in ("受限于{part}的机器", "受限于 {part} 的机器"):
        assert tell(Sentence("limited", (("part", value),), template), CHINESE) == shown
    assert tell(Sentence("limited by {part} here", (("part", "算力"),)), ENGLISH) == "limited by 算力 here"
