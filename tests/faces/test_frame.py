"""The frame of the command line, tried with verbs made for the test."""

from __future__ import annotations

import io
import itertools
import json
import re
import sys

import pytest

from rigright import __version__
from rigright.base.units import parse_count
from rigright.base.words import LANGUAGES, say, tell
from rigright.faces.cli import front, main
from rigright.options import rows as plan_rows
from rigright.options.row import row

COUNT = itertools.count()
TOLD = tell(say("no such file: {file}", file="greeting"), "en")  # the one sentence of the made verb
GREET = '''
"""Greets."""
from rigright.base.words import LANGUAGES, say, tell
from rigright.faces.cli.answer import Answer
from rigright.base.page import Line, Page

STAGE = "plan"
SUMMARY = say("no such file: {file}", file="greeting")

def answer(options):
    page = Page(title="Hello " + options.name, parts=(Line(text=SUMMARY, tone="good"),))
    return Answer(
        page=lambda: page,
        plain=lambda language: {"language": language, "why": options.why, "times": options.times},
        exit_code=options.times - 1,
    )
'''
FAIL = '''
"""Fails as told."""
from rigright.base.words import say
from rigright.base.errors import AskError, DataError, MissingError

STAGE = "plan"
SUMMARY = say("usage: ")

def answer(options):
    raise {
        "ask": AskError(say("no such file: {file}", file="\\x1b[2J")),
        "data": DataError(say("no such file: {file}", file="d")),
        "missing": MissingError(say("no such file: {file}", file="m")),
        "disk": OSError(28, "No space left on device", "out.csv"),
        "system": OSError("odd"),
        "memory": MemoryError(),
        "compiled": EOFError("marshal data too short"),
        "bug": ZeroDivisionError("division by zero"),
        "deep": RecursionError("maximum recursion depth exceeded"),
        "stop": KeyboardInterrupt(),
    }[options.how]
'''

HELPED = say("show this help")
TYPED = {
    "greet-all": (
        row("name", "", placed=True, text=HELPED),
        row("times", "N", read=parse_count, default="1", text=HELPED),
        row("fast", "", text=HELPED),
    ),
    "fail": (row("how", "", placed=True, text=HELPED),),
}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command line; (exit code, stdout, stderr) come back."""
    package = f"asks_{next(COUNT)}"
    (tmp_path / package).mkdir()
    for name, text in {"__init__": "", "greet_all": GREET, "fail": FAIL}.items():
        (tmp_path / package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    for module in (front, main):
        monkeypatch.setattr(module, "ASKS", package)
    for verb, rows in TYPED.items():
        monkeypatch.setitem(plan_rows.ROWS, verb, lambda rows=rows: rows)
    for name in ("LC_ALL", "LC_MESSAGES", "LANG", "COLUMNS", "NO_COLOR", "RIGRIGHT_DEBUG"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments):
        code = main.main(arguments)
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_a_verb_is_asked_and_its_page_shown(run):
    assert run("greet-all", "Ada") == (0, f"Hello Ada\n\n✓ {TOLD}\n", "")


def test_the_exit_code_is_the_answers(run):
    assert run("greet-all", "Ada", "--times", "3")[0] == 2


@pytest.mark.parametrize(
    "line", ["--json greet-all Ada --why", "greet-all --why Ada --json", "greet-all Ada --json --why"]
)
def test_what_every_verb_knows_may_stand_before_or_after_it(run, line):
    code, out, _ = run(*line.split())
    assert code == 0
    assert json.loads(out) == {"schema_version": 2, "language": "en", "why": True, "times": 1}


@pytest.mark.parametrize("line", ["--lang zh greet-all A", "greet-all A --lang zh", "greet-all --lang=zh A"])
def test_the_language_may_be_asked_for_anywhere(run, line):
    assert "没有文件" in run(*line.split())[1]


def test_the_locale_chooses_the_language(run, monkeypatch):
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert "没有文件" in run("greet-all", "A")[1]
    assert "没有文件" not in run("greet-all", "A", "--lang", "en")[1]


@pytest.mark.parametrize(("form", "start"), [("--markdown", "# Hello"), ("--html", "<!doctype html>")])
def test_other_forms(run, form, start):
    assert run("greet-all", "A", form)[1].startswith(start)


def test_only_one_form_at_once(run):
    code, _, err = run("greet-all", "A", "--html", "--markdown")
    assert code == 2
    assert "--html" in err
    assert "--markdown" in err


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",), ("help",)])
def test_alone_it_shows_its_verbs(run, arguments):
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert "greet-all" in out
    assert TOLD in out


def test_alone_for_scripts(run):
    out = json.loads(run("--json")[1])
    assert out["version"] == __version__
    assert list(out["commands"]) == ["fail", "greet-all"]


def test_the_version(run):
    assert run("--version") == (0, f"rigright {__version__}\n", "")


@pytest.mark.parametrize("line", ["greet-all --help", "help greet-all", "--lang en greet-all -h"])
def test_help_on_a_verb(run, line):
    code, out, _ = run(*line.split())
    assert code == 0
    assert re.match(r"\w+: rigright greet-all NAME \[\w+\]\n", out)
    assert "--times" in out


def test_help_is_told_in_chinese(run):
    out = run("greet-all", "--help", "--lang", "zh")[1]
    assert re.match(r"[\u4e00-\u9fff]+：rigright greet-all NAME \[[\u4e00-\u9fff]+\]\n", out)
    assert tell(say("no such file: {file}", file="greeting"), "zh") in out
    assert "options" not in out


REFUSED = [  # and what its sentence and its hint name; how they read is in golden/rigright.*.txt
    ("gret-all", "gret-all", "greet-all"),
    ("zzzzzz", "zzzzzz", "fail, greet-all"),
    ("greet-all", "name", "--help"),
    ("greet-all A --tims 3", "--tims", "--times"),
    ("greet-all A --xyzzy", "--xyzzy", "--help"),
    ("greet-all A --fast B", "B", ""),
    ("greet-all A --times", "--times", ""),
    ("greet-all A --times odd9", "odd9", "32k"),
    ("greet-all A --fast=1", "--fast", ""),
    ("greet-all A --json --html", "--html", ""),
    ("greet-all A --color pink", "pink", "auto"),
    ("greet-all A --width 3", "3", "20"),
    ("greet-all A --width ²", "²", "20"),
    ("--width", "--width", ""),
    ("--nonsense", "--nonsense", ""),
]


def test_a_wrong_line_is_refused_in_one_sentence_in_either_language(run):
    for line, names, hint in REFUSED:
        for language in LANGUAGES:
            code, out, err = run("--lang", language, *line.split())
            assert (code, out if "--json" not in line else "") == (2, ""), line
            first, *rest = err.splitlines()
            assert len(rest) <= 1, line
            assert all(re.match(r"\w+(: |：)\S", one) for one in (first, *rest)), line
            assert (re.search(r"[\u4e00-\u9fff]", first) is not None) == (language == "zh"), line
            assert names in first, line
            assert hint in first + "".join(rest), line


def test_an_unknown_language_is_refused(run):
    code, _, err = run("greet-all", "A", "--lang", "fr")
    assert code == 2
    assert '"fr"' in err


def test_options_are_never_guessed_from_their_beginning(run):
    assert run("greet-all", "A", "--tim", "3")[0] == 2


TROUBLE = [  # how it fails, exit code, kind, and what the sentence names
    ("ask", 2, "ask", "[2J"),
    ("data", 3, "data", ": d"),
    ("missing", 4, "missing", ": m"),
    ("disk", 5, "system", "out.csv: No space left on device"),
    ("system", 5, "system", ": odd"),
    ("memory", 5, "system", ""),
    ("compiled", 5, "system", "__pycache__"),
    ("bug", 70, "bug", "ZeroDivisionError: division by zero"),
    ("deep", 70, "bug", "RecursionError"),
]


def test_whatever_goes_wrong_is_one_sentence_and_a_code(run):
    for how, code, _, names in TROUBLE:
        done, out, err = run("fail", how)
        assert (done, out, err.count("\n")) == (code, "", 1), how
        assert names in err, how
        assert "Traceback" not in err
        assert "\x1b" not in err


def test_a_script_is_told_too(run):
    for how, code, kind, names in TROUBLE:
        done, out, err = run("--json", "fail", how)
        error = json.loads(out)["error"]
        assert (done, error["exit_code"], error["kind"]) == (code, code, kind), how
        assert names in error["message"], how
        assert err.partition(": ")[2] == f"{error['message']}\n", how


def test_a_bug_says_how_to_report_it(run):
    err = run("fail", "bug")[2]
    assert __version__ in err
    assert "ZeroDivisionError: division by zero" in err
    assert "`rigright fail bug`" in err
    assert "RIGRIGHT_DEBUG=1" in err


def test_a_traceback_is_there_for_who_asks(run, monkeypatch):
    monkeypatch.setenv("RIGRIGHT_DEBUG", "1")
    assert "Traceback" in run("fail", "bug")[2]


def test_an_interrupt_is_quiet(run):
    assert run("fail", "stop") == (130, "", "")


class Terminal(io.TextIOWrapper):
    """A terminal of some encoding."""

    def isatty(self):
        return True

    def shown(self):
        self.flush()
        return self.buffer.getvalue()


def on_terminal(monkeypatch, encoding, *arguments):
    terminal = Terminal(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main.main(arguments) == 0
    return terminal.shown()


@pytest.mark.parametrize(
    ("environment", "arguments", "coloured"),
    [
        ({"TERM": "xterm"}, [], True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, [], False),
        ({"TERM": "xterm", "NO_COLOR": ""}, [], True),
        ({"TERM": "dumb"}, [], False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, ["--color", "always"], True),
        ({"TERM": "xterm"}, ["--color", "never"], False),
    ],
)
@pytest.mark.usefixtures("run")
def test_colour_is_for_terminals_that_want_it(monkeypatch, environment, arguments, coloured):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (b"\x1b[" in on_terminal(monkeypatch, "utf-8", "greet-all", "A", *arguments)) == coloured


def test_no_colour_in_a_pipe(run):
    assert "\x1b" not in run("greet-all", "A")[1]


@pytest.mark.parametrize(
    ("encoding", "mark"), [("utf-8", "✓"), ("ascii", "[ok]"), ("cp1252", "[ok]"), ("gbk", "[ok]")]
)
@pytest.mark.usefixtures("run")
def test_a_terminal_is_sent_what_it_can_show(monkeypatch, encoding, mark):
    shown = on_terminal(monkeypatch, encoding, "greet-all", "A", "--color", "never")
    assert shown.decode(encoding).splitlines()[-1] == f"{mark} {TOLD}"


@pytest.mark.usefixtures("run")
def test_letters_a_terminal_lacks_become_their_look_alikes(monkeypatch):
    shown = on_terminal(monkeypatch, "ascii", "greet-all", "10–20 × é", "--color", "never")
    assert shown.splitlines()[0] == b"Hello 10-20 x ?"


@pytest.mark.usefixtures("run")
def test_chinese_comes_as_utf8_where_the_encoding_has_none(monkeypatch):
    assert "没有文件".encode() in on_terminal(monkeypatch, "ascii", "greet-all", "A", "--lang", "zh")
    assert "没有文件".encode("gbk") in on_terminal(monkeypatch, "gbk", "greet-all", "A", "--lang", "zh")


@pytest.mark.usefixtures("run")
def test_documents_are_utf8_everywhere(monkeypatch):
    for form in ("--html", "--markdown"):
        assert "é".encode() in on_terminal(monkeypatch, "ascii", "greet-all", "é", form)


def test_the_width_is_the_users_then_the_environments(run, monkeypatch):
    long = "word " * 60
    assert max(map(len, run("greet-all", long)[1].splitlines())) <= 100
    monkeypatch.setenv("COLUMNS", "40")
    assert max(map(len, run("greet-all", long)[1].splitlines())) <= 40
    assert max(map(len, run("greet-all", long, "--width", "60")[1].splitlines())) > 40
