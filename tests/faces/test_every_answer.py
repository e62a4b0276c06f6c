"""Each question is asked once; its answer is judged in every form, on every screen and through every door."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import shlex
from contextlib import ExitStack
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest
from answer_rooms import Room, answering, filled, typed, written
from questions import PLANNED, QUESTIONS, SHAPES, Question, named

import rigright as rig
from programs import rigright
from rigright.base.errors import AskError
from rigright.base.words import LANGUAGES, tell
from rigright.faces import tools
from rigright.faces.cli import schemas
from rigright.faces.cli.main import verb_parser
from rigright.faces.cli.options import DETAILED
from rigright.faces.page import ASKED
from rigright.faces.reply import reply
from rigright.faces.short import SHORT, TEXT, shortened
from rigright.report.formats import csv as csv_format
from rigright.report.formats import html, markdown, text
from rigright.report.screen import Screen, width

WIDTHS = (40, 60, 100)
HEIGHT = 30
CODES = {  # others answer with 0
    **{verb: {0, 10, 20} for verb in ("doctor", "diagnose", "bench", "fleet", "upgrade")},
    "build": {0, 20}, "prices": {0, 20}, "look-up": {0, 1},
}  # fmt: skip
ASIDE = {"measure"}  # stdout is the command's, the answer stands beside it
NO_TABLE = {
    "diagnose",
    "fleet health",
    "prices check",
    "look-up plugins",
    "export alerts --out {folder}/exported",
}
UNTYPED = {  # whose record is none of those that the stub names
    "bench --list", "fleet files", "fleet health", "export alerts", "export prometheus", "export grafana",
}  # fmt: skip
NOT_LONG = {  # the page of one screen: what is asked for more than that, or is a list
    "build", "cost", "look-up", "mcp", "sweep", "prices", "validate", "calibrate",
}  # fmt: skip
AS_IT_IS = {  # files, what programs read, and tables that quote their sources
    "completion", "mcp", "export", "fleet files", "look-up", "prices show",
}  # fmt: skip
MARKS = ("✓ ", "✗ ", "! ", "[ok] ", "[x] ", "[!] ")
DRAWN = set("█▓▒░▚▙▞▛•│─…✓✗")
BY_NAME = {
    "kv_bytes_at",  # lengths up to the model's own
    "parts_s",  # those that take any time
    "places",
    "files",
    "shares",
    "helps",
    "gpu_peak_bytes",
    "energy_j",
    "slowed_s",
}  # mappings whose keys are names of things
PRIVATE = re.compile(
    r"at once|of old|is none of|nobody|loses least|costs least|surely|not said|is counted as|stands behind|"
    r"\bseats?\b|dice|holds it back|held back|tells of|\btold\b|first tokens? after|next tokens|known by|"
    r"runs of such|played|asked for at most|M tokens\b|an hour\b"
)
NAMES = re.compile(
    r"\b(?:hf|deepspeed|torchtitan|megatron) [a-z0-9 -]+|\$ rigright .*|https?://\S+"
    r"|\([^)]*\)|[“\"'`][^”\"'`]*[”\"'`]|\b[A-Z][\w./+-]*(?: [A-Z0-9(][\w./+-]*)*"
)
ENGLISH = re.compile(r"[a-z]{3,} [a-z]{2,} [a-z]{2,}")
SOURCES = re.compile(r"来源|NVRM|CUDA 报告|: rigright: |：rigright: ")  # and what Slurm's own list shall show


PLANS = [one for one in QUESTIONS if one.planned and one.verb != "look-up"]
OTHERS = [one for one in QUESTIONS if one not in PLANS]


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """Where nothing but small files is read."""
    return Room(written(tmp_path_factory.mktemp("answers")))


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Where played machines have left their files, too."""
    return Room(filled(tmp_path_factory.mktemp("answers")))


@pytest.mark.parametrize("question", PLANS, ids=lambda one: one.line)
def test_a_plan_holds_in_every_form_and_through_every_door(room, question):
    judged(room, question)


@pytest.mark.parametrize("question", OTHERS, ids=lambda one: one.line)
def test_an_answer_holds_in_every_form_and_through_every_door(lab, question):
    judged(lab, question)


def judged(where, question):
    """One answer in every way; all that does not hold is named."""
    failed = []
    with ExitStack() as stack:
        asked = where.open(question, stack)
        for judge in JUDGES:
            try:
                judge(asked)
            except AssertionError as error:
                error.add_note(f"{judge.__name__}: rigright {question.line}")
                failed.append(error)
    if failed:
        failed[0].add_note(f"{len(failed)} of {len(JUDGES)} judges")
        raise failed[0]


def kind(question, names):
    """Whether it is one of these: a verb, a verb with its first word, or a whole line."""
    return bool({question.verb, " ".join(question.line.split()[:2]), question.line} & names)


def the_exit_code_is_that_of_the_answer(asked):
    said, line = asked.said_json, asked.question.line
    allowed = CODES.get(asked.question.verb, {0})
    assert said.code == asked.said.code == asked.answer.exit_code
    assert said.code in allowed
    if isinstance(asked.data, dict) and "exit_code" in asked.data:
        assert asked.data["exit_code"] == said.code, line
    beside = asked.said.out if asked.question.verb in ASIDE else asked.said.err
    assert beside == "", "nothing is told aside"
    assert asked.question.verb in ASIDE or said.err == ""


def the_command_line_prints_the_page_and_the_json(asked):
    made = asked.text(width=100) if asked.answer.text is None else asked.answer.text()
    said = asked.said.err if asked.question.verb in ASIDE else asked.said.out
    assert said == made
    assert asked.said_json.out == asked.json() + "\n"


def other_forms_are_those_that_flags_ask_for(asked):
    """Of one question a verb."""
    if (
        asked.question is not FIRST[asked.question.verb]
        or asked.answer.text is not None
        or "--" in asked.words
    ):
        return
    screen = Screen(width=40, language="zh", stated=True)
    options = verb_parser(asked.words[0], "zh").read(asked.words[1:])
    options.language = "zh"
    with answering(asked.words[0], options) as chinese:  # in yuan
        page = chinese.page()
    assert typed([*asked.words, "--width", "40", "--lang", "zh"]).out == text.render(page, screen)
    assert typed([*asked.words, "--html"]).out == html.render(asked.page, Screen())
    assert typed([*asked.words, "--markdown"]).out == markdown.render(asked.page, Screen())
    assert typed([*asked.words, "--color", "always"]).out == asked.text(colour=True)


FIRST = {one.verb: one for one in reversed(QUESTIONS)}


def files_go_to_the_screen_as_they_are(asked):
    """What is piped into kubectl or a file is the same whatever the screen; JSON tells it by name."""
    if asked.answer.text is None or asked.question.verb == "measure":
        return
    assert typed([*asked.words, "--width", "40", "--lang", "zh"]).out == asked.said.out
    told = asked.data.get("files", asked.data.get("script"))
    texts = (
        told.values()
        if isinstance(told, dict)
        else [told]
        if isinstance(told, str)
        else [one["text"] for one in told]
    )
    assert any(one.strip() and one.strip() in asked.said.out for one in texts)


def a_screen_of_ascii_gets_ascii(asked):
    """LANG=C: nothing that such a screen cannot draw, and no error for it."""
    said = typed(asked.words, encoding="ascii")
    assert (said.out + said.err).isascii()
    assert said.code == asked.said.code


def the_json_is_one_value_without_nan_and_has_english_keys_in_each_language(asked):
    def refuse(name):
        raise AssertionError(name)

    english, chinese = (json.loads(asked.json(language), parse_constant=refuse) for language in LANGUAGES)
    assert isinstance(english, dict) or asked.question.verb == "look-up"
    assert keys(english) == keys(chinese)
    assert all(key.isascii() for key in every_key(chinese))


def keys(value):
    if isinstance(value, dict):
        return {key: keys(inner) for key, inner in value.items()}
    return [keys(one) for one in value] if isinstance(value, list) else None


def every_key(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from every_key(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from every_key(inner)


def no_key_is_lost_and_no_type_changes(asked):
    if asked.question.as_json in SHAPES:
        assert list(lost(SHAPES[asked.question.as_json], shape(asked.data))) == []


def shape(value):
    """Names and types: a list speaks by its first element."""
    if isinstance(value, dict):
        return {key: {} if key in BY_NAME else shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, int | float):
        return "number"
    return "null" if value is None else "text"


def lost(held, now, where=""):
    """What was there and is not, or is of another type; null says nothing of a type."""
    if isinstance(held, dict) and isinstance(now, dict):
        for key, inner in held.items():
            if key in now:
                yield from lost(inner, now[key], f"{where}.{key}")
            else:
                yield f"{where}.{key} is gone"
    elif isinstance(held, list) and isinstance(now, list):
        if held and now:
            yield from lost(held[0], now[0], f"{where}[]")
    elif held != now and "null" not in {
        held if isinstance(held, str) else "",
        now if isinstance(now, str) else "",
    }:
        yield f"{where} was {held}, is {now}"


def it_is_what_its_schema_says_and_holds_no_other_key(asked):
    wrong = validator(asked.question.verb).iter_errors(sample(asked.data))
    assert [f"{error.json_path}: {error.message[:300]}" for error in wrong] == []


@cache
def validator(name):
    schema = schemas.schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(closed(schema))


def closed(schema):
    """The same, where nothing else may stand in an object."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(one) for key, one in schema.items()}
    return {"additionalProperties": False} | inner if isinstance(inner.get("properties"), dict) else inner


def sample(value):
    """The same with one of each kind of record in its lists: schemas speak of keys and types alone."""
    if value == "inf":
        return None  # a limit of the system without an end; of it the schema says a number or null
    if isinstance(value, dict):
        return {key: sample(inner) for key, inner in value.items()}
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return [*{repr(typed_shape(one)): sample(one) for one in value}.values()]
    return [sample(one) for one in value] if isinstance(value, list) else value


def typed_shape(value):
    if isinstance(value, dict):
        return {key: typed_shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [typed_shape(one) for one in value]
    whole = isinstance(value, float) and value.is_integer()
    return "int" if whole else type(value).__name__


def no_line_is_wider_than_the_screen(asked):
    """Commands are never broken: they are there to be copied."""
    if asked.answer.text is not None:
        return
    for detailed in {False, asked.detailed is not asked.page}:
        for language in LANGUAGES:
            for cells in WIDTHS:
                for line in asked.text(width=cells, language=language, detailed=detailed).splitlines():
                    assert width(line) <= cells or "$ " in line, (language, cells, line)


def chinese_holds_no_english_sentence(asked):
    quotes = "--why" in asked.words and asked.question.verb != "build"  # formulas with their sources
    if asked.answer.text is not None or quotes or kind(asked.question, AS_IT_IS):
        return
    sourced = asked.question.verb == "cost"  # whose details name sources
    for detailed in {False, asked.detailed is not asked.page and not sourced}:
        out = asked.text(width=4000, language="zh", detailed=detailed)
        assert re.search(r"[\u4e00-\u9fff]", out)
        lines = [line for line in out.splitlines() if "$ " not in line and not SOURCES.search(line)]
        assert [line for line in lines if ENGLISH.search(NAMES.sub("", line))] == []


def colour_and_ascii_change_no_word(asked):
    """What colour says, words say too; what a screen cannot draw is drawn with what it can."""
    plain, coloured = asked.text(), asked.text(colour=True)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    poor = asked.text(unicode=False)
    assert not DRAWN & set(poor)
    assert len(poor.splitlines()) >= len(plain.splitlines()) // 2


def the_csv_is_a_table_whose_rows_are_of_one_length(asked):
    if asked.question.verb == "history":  # which tells more of its samples there
        out = typed([*asked.words, "--csv"]).out
    else:
        page = asked.answer.sheet() if asked.answer.sheet is not None else asked.page
        try:
            out = csv_format.render(page, Screen())
        except AskError:
            assert kind(asked.question, NO_TABLE), "it has a table"
            return
        assert not kind(asked.question, NO_TABLE), "it has no table"
    rows = list(csv.reader(io.StringIO(out)))
    assert len({len(row) for row in rows}) <= 1
    assert len(set(rows[0])) == len(rows[0]) or not any(rows[0])  # a list for eyes has no heads


class Tags(HTMLParser):
    """Tags that are opened and closed, and whatever a page would fetch from elsewhere."""

    void = frozenset({"meta", "br", "hr", "img", "link", "input", "col"})

    def __init__(self):
        super().__init__()
        self.open, self.fetched, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.void:
            self.open.append(tag)
        self.fetched += [
            value for name, value in attrs if name in {"src", "href"} and not value.startswith("#")
        ]

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def the_html_is_one_whole_page_that_fetches_nothing(asked):
    tags = Tags()
    tags.feed(html.render(asked.page, Screen()))
    assert tags.open == []
    assert tags.fetched == []
    assert tell(asked.page.title, "en").split()[0] in "".join(tags.text)


def markdown_tables_hold_together(asked):
    lines = markdown.render(asked.page, Screen()).splitlines()
    for before, after in pairwise(lines):
        if before.startswith("|") and after.startswith("|"):
            assert before.replace("\\|", "").count("|") == after.replace("\\|", "").count("|")


def a_planning_page_is_one_screen_with_its_answer_first(asked):
    """On eighty cells, in both languages: no private word, nothing said twice, two commands at the most."""
    if asked.question.verb not in PLANNED - NOT_LONG or {"--why", "--details"} & set(asked.words):
        return
    for language in LANGUAGES:
        out = asked.text(width=80, language=language)
        lines = out.splitlines()
        assert len(lines) <= HEIGHT, out
        assert lines[0].startswith(MARKS), out
        assert len([line for line in lines if line.startswith("  $ ")]) <= 2, out
        assert not PRIVATE.findall(out)
        sentences = [line for line in lines if len(line) > 20 and "  " not in line]
        assert len(sentences) == len(set(sentences)), out
        narrow = asked.text(width=40, language=language).splitlines()
        assert narrow[0].startswith(MARKS)
        longer = asked.text(width=80, language=language, detailed=True).splitlines()
        assert longer[0] == lines[0]
        assert len(longer) >= len(lines), "details show more"


@cache
def kinds_of(verb):
    """The records that editors are told to expect of a function."""
    tree = ast.parse((Path(rig.__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))
    replies = {one.name: one.bases[0].slice for one in tree.body if isinstance(one, ast.ClassDef)}
    return ast.unparse(replies[f"{''.join(verb.title().split('_'))}Reply"]).split(" | ")


def python_answers_the_same(asked):
    if asked.question.verb in {"watch", "measure", "mcp", "completion"}:
        return
    verb, said = named_in(asked)
    found = getattr(rig, verb)(**said)
    assert found.to_dict() == asked.data
    untyped = verb == "look_up" or kind(asked.question, UNTYPED)
    assert untyped or type(found.record).__name__ in kinds_of(verb), type(found.record)
    assert str(found).splitlines()[0] in found.to_html() or repr(found)[:9] == "<rigright"


def named_in(asked):
    verb, said = named(asked.question.line.format(folder=asked.folder))
    return verb, said | {"lang": said.get("lang", "en")}


def the_page_of_the_web_answers_the_same(asked):
    if not asked.question.planned or named_in(asked)[0] not in ASKED:
        return
    verb, said = named_in(asked)
    found = reply(verb, {name: one for name, one in said.items() if name not in KEPT}, language=said["lang"])
    if not said.keys() & KEPT:
        assert (found.text, found.exit_code) == (asked.said_json.out, asked.said_json.code)


KEPT = {"details", "run_code", "prices", "lang"}  # what strangers may not say, and what is told beside


def an_agent_is_answered_the_same(asked):
    """The whole with detail=full; in short, a part of it, and what was left out is counted."""
    if asked.question.verb.replace("-", "_") not in tools.TOOLS:
        return
    verb, said = named_in(asked)
    if "details" in said or not may_read(asked, said):
        return
    said = {name: [str(item) for item in one] if isinstance(one, list) else one for name, one in said.items()}
    full, short = (tools.call(verb, said | {"detail": one}, root=asked.folder) for one in ("full", "short"))
    assert not full.failed, full.text
    takes, gives = agents(verb, asked.folder)
    takes.validate({name: one for name, one in said.items() if name in takes.schema["properties"]})
    gives.validate(full.data)
    kinds = asked.question.line == "look-up"  # whose keys are the kinds of what is known
    assert kinds or {*full.data} <= {tools.ROWS, *gives.schema["properties"]}
    first = asked.text(width=4000).splitlines()[0]
    assert full.text.replace("\\", "").startswith(f"# {first}"), "which a screen may wrap"
    whole = shortened(tools.as_object(asked.data), most=tools.DETAIL["full"])
    assert full.data == whole
    assert len(json.dumps(short.data, ensure_ascii=False)) <= SHORT or "left_out" in short.data
    assert len(short.text) < TEXT + 200
    assert short.text == full.text
    left = short.data.get("left_out", {})
    for key, value in short.data.items():
        cut = any(one.split(".")[0] == key for one in left)
        assert key == "left_out" or value == full.data.get(key) or cut, key


@cache
def agents(tool, root):
    """The schemas that an agent reads of a tool."""
    both = tools.shown(tool, root), tools.in_short(tool)
    for one in both:
        jsonschema.Draft202012Validator.check_schema(one)
    return tuple(map(jsonschema.Draft202012Validator, both))


def may_read(asked, said):
    """Whether an agent may ask for it: it may name files below the root alone, and these by `from`."""
    known = tools.arguments(named_in(asked)[0], asked.folder)
    return {*said} <= {*known} | {"lang"}


JUDGES = (
    the_exit_code_is_that_of_the_answer,
    the_command_line_prints_the_page_and_the_json,
    other_forms_are_those_that_flags_ask_for,
    files_go_to_the_screen_as_they_are,
    a_screen_of_ascii_gets_ascii,
    the_json_is_one_value_without_nan_and_has_english_keys_in_each_language,
    no_key_is_lost_and_no_type_changes,
    it_is_what_its_schema_says_and_holds_no_other_key,
    no_line_is_wider_than_the_screen,
    chinese_holds_no_english_sentence,
    colour_and_ascii_change_no_word,
    the_csv_is_a_table_whose_rows_are_of_one_length,
    the_html_is_one_whole_page_that_fetches_nothing,
    markdown_tables_hold_together,
    a_planning_page_is_one_screen_with_its_answer_first,
    python_answers_the_same,
    the_page_of_the_web_answers_the_same,
    an_agent_is_answered_the_same,
)


@pytest.mark.parametrize(
    "line",
    [
        "plan llama-3.1-8b --on h100",
        "explain llama-3.1-8b --on 4090",
        "plan resnet-50 --mode image --on 4090",
    ],
)
def test_why_shows_more_parts(room, line):
    with ExitStack() as stack:
        plain, why = (room.open(Question(f"{line}{more}"), stack) for more in ("", " --details --why"))
        assert len(why.page.parts) > len(plain.detailed.parts)


def test_each_door_answers_by_itself(room, monkeypatch):
    """Asked anew at every door, and by a program of its own: one answer."""
    room.sit(monkeypatch, None)
    line = "explain llama-3.1-8b --on 4090 --context 4096"
    verb, said = named(line)
    printed = typed([*shlex.split(line), "--json"]).out
    assert printed == typed([*shlex.split(line), "--json", "--lang", "en"]).out
    assert rigright(*shlex.split(line), "--json").out == printed
    assert reply(verb, said).text == printed
    assert getattr(rig, verb)(**said).to_dict() == json.loads(printed)
    agent = tools.call(verb, said | {"detail": "full"}, root=None).data
    assert agent == shortened(json.loads(printed), most=tools.DETAIL["full"])


@pytest.mark.parametrize("verb", ["plan", "compare", "simulate", "calibrate", "cost"])
def test_the_same_question_has_the_same_answer(room, monkeypatch, verb):
    """Asked anew with --details; a page that is kept and shown again is the same."""
    question = next(one for one in QUESTIONS if one.verb == verb)
    with ExitStack() as stack:
        asked = room.open(question, stack)
        before = steady(asked.text(width=100, detailed=True))
    room.sit(monkeypatch, None)
    more = ["--details"] if verb in DETAILED else []
    assert steady(typed([*asked.words, *more, "--width", "100"]).out) == before


def steady(said):
    """Without the seconds that it took."""
    return re.sub(r"\d+\.\d s\b", "", said)


def test_an_error_is_json_too(room, monkeypatch):
    room.sit(monkeypatch, None)
    for line in ("explain nothing-of-the-kind --on h100", "fit --on nothing", "look-up chops"):
        said = typed([*line.split(), "--json"])
        error = json.loads(said.out)
        assert said.code > 0
        assert not [*validator("error").iter_errors(error)]
        assert {*error["error"]} >= {"kind", "message", "exit_code"}
        assert error["error"]["exit_code"] == said.code


def test_the_front_page_is_as_its_schema_says():
    said = typed(["--json"])
    assert not [*validator("rigright").iter_errors(json.loads(said.out))]
