"""The whole table: an option or argument of a verb is one row, which every place that lists it reads."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from functools import cache, partial
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

from rigright.base.errors import AskError, RigError
from rigright.base.words import LANGUAGES, say, sentences
from rigright.faces import python, question
from rigright.faces.cli.front import verbs
from rigright.faces.cli.main import main, verb_parser
from rigright.faces.cli.options import BEHIND, groups, meaning, rows, words
from rigright.options import machine_rows
from rigright.options.row import row

ROOT = Path(__file__).parent.parent.parent
EVERY = [(verb, one) for verb in verbs() for one in rows(verb) if one.count != BEHIND]
NAMED = {"ids": lambda one: getattr(one, "name", one)}
LISTED = {"targets", "kinds", "shells"}  # words of a verb's own
NO_NUMBER = ("banana!", "-4", "nan", "八匹马")
COUNTED = {"N", "TIME", "MONEY", "PORT", "CELLS"}  # what stands for a number, where something reads it


@pytest.fixture(scope="module")
def script():
    """`scripts/docs`, which writes the reference and the manual pages."""
    folder = ROOT / "scripts"
    sys.path.insert(0, str(folder))
    try:
        loader = SourceFileLoader("docs_script", str(folder / "docs"))
        found = module_from_spec(spec_from_loader(loader.name, loader))
        loader.exec_module(found)
    finally:
        sys.path.remove(str(folder))
    return found


def helped(verb, language):
    return verb_parser(verb, language).format_help()


def printed(*arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main([*arguments]) == 0
    return out.getvalue()


def doubled(text):
    return int(text) * 2


def typed(one):
    """A row as a page of help begins its line."""
    return one.flag if not one.placed else one.metavar or one.name


@pytest.mark.parametrize(("verb", "one"), EVERY, **NAMED)
def test_each_row_means_something_in_both_languages(verb, one):
    if one.help is None:
        assert one.offered in LISTED
        assert meaning(one) == ", ".join(words(one)) != "", verb
        return
    assert re.search(r"[\u3001\u4e00-\u9fff]", sentences("zh").get(str(one.help), "")), one.help


@pytest.mark.parametrize(("verb", "one"), EVERY, **NAMED)
def test_each_row_says_how_it_is_read(verb, one):
    """A flag has no value; a word is taken as it is, or is one of a few; a number refuses what is none."""
    if one.is_flag:
        assert one.choices is None
        return
    if one.choices is not None:
        with pytest.raises(AskError) as refused:
            one.value("banana!")
        assert refused.value.hint is not None, verb
        assert one.value(one.choices()[0].upper()) is not None
    if one.metavar in COUNTED and one.read is not str:
        for text in NO_NUMBER:
            with pytest.raises(AskError) as refused:
                one.value(text)
            assert refused.value.hint is not None, (verb, one.name, text)
    if one.default is not None:
        assert one.value(one.default) is not None


def test_each_row_is_in_help_on_the_manual_page_and_completed():
    cases = re.findall(r'^    "?([^"\n]*?)"?\) words="(.*)" ;;$', printed("completion", "bash"), re.MULTILINE)
    offered = {place: set(options.split()) for place, options in cases}
    for language, folder in zip(LANGUAGES, ("man1", "zh_CN/man1"), strict=True):
        for verb in verbs():
            told = helped(verb, language)
            page = (ROOT / "docs" / "man" / folder / f"rigright-{verb}.1").read_text(encoding="utf-8")
            page = page.replace("\\-", "-")
            for _, one in ((name, one) for name, one in EVERY if name == verb):
                assert re.search(rf"^  (?:-h, )?{re.escape(typed(one))}(?:[ ,]|$)", told, re.MULTILINE), one
                assert (one.metavar or one.name.upper() if one.placed else one.flag) in page, one
    for verb, one in EVERY:
        if not one.placed:
            assert one.flag in offered[verb], (verb, one.name)
        for word in words(one):
            before = one.flag if not one.placed else verb
            assert word in offered[f"{verb} {before}"], (verb, one.name)


parser_in_english = cache(partial(verb_parser, language="en"))
ODD = ("--", "", " ", "-", "--on", "\udc80", "x" * 5000, "0" * 400, "1e999", "%s", "[", "\\", "\x00")


@pytest.mark.parametrize(("verb", "one"), [(verb, one) for verb, one in EVERY if not one.placed], **NAMED)
def test_a_value_of_any_letters_is_a_value_or_a_sentence(verb, one):
    parser = parser_in_english(verb)
    for value in () if one.is_flag else ODD:
        with contextlib.suppress(RigError):
            parser.read([f"{one.flag}={value}"])


def test_no_name_is_typed_for_two_rows_of_a_verb():
    for verb in verbs():
        names = [flag for one in rows(verb) if not one.placed for flag in one.flags]
        assert len(set(names)) == len(names), verb
        known = {one.name for one in rows(verb)}
        for one in rows(verb):
            if not one.verbs:  # those of wishes name options of other verbs, too
                assert {*one.bars, *(need.partition("=")[0] for need in one.needs)} <= known, (verb, one.name)


def test_an_option_that_is_added_is_everywhere(monkeypatch, script):
    """One row more: help, completion with its values, reference, manual page, Python and its arguments."""
    levels = ("shallow", "steep")
    new = row("depth", "|".join(levels), text=say("show this help"), choices=lambda: levels, bars="only")
    count = row(
        "spots", "N", text=say("print JSON for scripts"), read=lambda text: int(text) * 2, default="3"
    )
    told = machine_rows.ROWS["doctor"]()
    monkeypatch.setitem(machine_rows.ROWS, "doctor", lambda: (*told, new, count))
    assert "  --depth {shallow,steep}" in helped("doctor", "en")
    assert "  --spots N" in helped("doctor", "zh")
    completed = printed("completion", "bash")
    assert '"doctor --depth") words="shallow steep"' in completed
    assert "doctor --spots" in completed
    assert "`--depth shallow\\|steep`" in script.reference("en")
    pages = dict(script.man_pages("en", script.REFERENCE["en"]))
    assert "\\fB\\-\\-depth shallow|steep\\fR" in pages["man1/rigright-doctor.1"]
    assert {"depth", "spots"} <= {*python.signature("doctor").parameters}
    assert question.read("doctor", named={"depth": "steep"}).depth == "steep"
    read = verb_parser("doctor", "en").read(["--depth", "STEEP", "--spots", "4"])
    assert (read.depth, read.spots) == ("steep", 8)
    assert verb_parser("doctor", "en").read([]).spots == 6
    with pytest.raises(AskError) as refused:
        verb_parser("doctor", "en").read(["--depth", "stepe"])
    assert "steep" in str(refused.value.hint)
    with pytest.raises(AskError):
        verb_parser("doctor", "en").read(["--depth", "steep", "--only", "ecc"])


def test_one_place_makes_arguments():
    """Nothing is typed that is no row."""
    calls = [
        f"{path.name}:{number}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if ".add_argument(" in line
    ]
    assert [call.partition(":")[0] for call in calls] == ["options.py"]
    for verb in verbs():
        parsed = {flag for action in verb_parser(verb, "en")._actions for flag in action.option_strings}
        assert parsed == {flag for one in rows(verb) if not one.placed for flag in one.flags}
        assert [title for title, _ in groups(verb)][-1] == say("output")
