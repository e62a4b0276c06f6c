"""The frame of the command line, tried with verbs made for the test."""

from __future__ import annotations

import io
import itertools
import json
import sys

import pytest

from rigright import __version__
from rigright.faces.cli import front, main

COUNT = itertools.count()
GREET = '''
"""Greets."""
from rigright.base.words import say, tell
from rigright.faces.cli.answer import Answer
from rigright.base.page import Line, Page

STAGE = "plan"
SUMMARY = say("no such file: {file}", file="greeting")

def add(parser):
    parser.add_argument("name", help=str(say("show this help")))
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--pair", nargs=2)
    parser.add_argument("--fast", action="store_true")

def answer(options):
    page = Page(title="Hello " + options.name, parts=(Line(said=SUMMARY, tone="good"),))
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

def add(parser):
    parser.add_argument("how")

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
    for name in ("LC_ALL", "LC_MESSAGES", "LANG", "COLUMNS", "NO_COLOR", "RIGRIGHT_DEBUG"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments):
        code = main.main(arguments)
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_a_verb_is_asked_and_its_page_shown(run):
    assert run("greet-all", "Ada") == (0, "Hello Ada\n\n✓ no such file: greeting\n", "")


def test_the_exit_code_is_the_answers(run):
    assert run("greet-all", "Ada", "--times", "3")[0] == 2


@pytest.mark.parametrize(
    "line", ["--json greet-all Ada --why", "greet-all --why Ada --json", "greet-all Ada --json --why"]
)
def test_what_every_verb_knows_may_stand_before_or_after_it(run, line):
    code, out, _ = run(*line.split())
    assert code == 0
    assert json.loads(out) == {"schema_version": 1, "language": "en", "why": True, "times": 1}


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
    assert "cannot be combined" in err


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",), ("help",)])
def test_alone_it_shows_its_verbs(run, arguments):
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert "greet-all" in out
    assert "no such file: greeting" in out


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
    assert out.startswith("usage: rigright greet-all NAME [options]\n")
    assert "--times" in out


def test_help_is_told_in_chinese(run):
    out = run("greet-all", "--help", "--lang", "zh")[1]
    assert out.startswith("用法：rigright greet-all NAME [选项]\n")
    assert "显示本帮助" in out
    assert "options" not in out


REFUSED = [
    ("gret-all", "hint: did you mean greet-all?", "提示：是否想写 greet-all"),
    ("zzzzzz", "hint: commands: fail, greet-all", "可用命令：fail, greet-all"),
    ("greet-all", "error: missing: name", "缺少：name"),
    ("greet-all A --tims 3", "hint: did you mean --times?", "是否想写 --times"),
    ("greet-all A --xyzzy", "hint: see --help for all options", "提示：--help 列出"),
    ("greet-all A B", 'error: unexpected argument "B"', "错误：多余的参数“B”"),
    ("greet-all A --times", "error: --times has no value", "--times 没有值"),
    ("greet-all A --times x", "--times cannot be 'x'", "--times 不能是 'x'"),
    ("greet-all A --pair x", "--pair takes 2 values", "--pair 后面要写 2 个值"),
    ("greet-all A --fast=1", "--fast takes no value, got '1'", "不带值，却写了 '1'"),
    ("greet-all A --json --html", "cannot be combined", "同时使用"),
    ("greet-all A --color pink", 'unknown color "pink"', "未知的color：“pink”"),
    ("greet-all A --width 3", "use a whole number from 20", "请写 20 到 10000"),
    ("greet-all A --width ²", "use a whole number from 20", "请写 20 到 10000"),
    ("--width", "--width has no value", "--width 没有值"),
    ("--nonsense", 'unknown option "--nonsense"', "未知选项“--nonsense”"),
]


@pytest.mark.parametrize(("line", "english", "chinese"), REFUSED)
def test_a_wrong_line_is_refused_in_one_sentence_in_either_language(run, line, english, chinese):
    for language, words in (("en", english), ("zh", chinese)):
        code, out, err = run("--lang", language, *line.split())
        assert (code, out if "--json" not in line else "") == (2, "")
        error, hint = ("error: ", "hint: ") if language == "en" else ("错误：", "提示：")
        first, *rest = err.splitlines()
        assert first.startswith(error)
        assert len(rest) <= 1
        assert all(line.startswith(hint) for line in rest)
        assert words in err


def test_an_unknown_language_is_refused(run):
    code, _, err = run("greet-all", "A", "--lang", "fr")
    assert code == 2
    assert '"fr"' in err


def test_options_are_never_guessed_from_their_beginning(run):
    assert run("greet-all", "A", "--tim", "3")[0] == 2


TROUBLE = [
    ("ask", 2, "no such file"),
    ("data", 3, "no such file: d"),
    ("missing", 4, "no such file: m"),
    ("disk", 5, "out.csv: No space left on device"),
    ("system", 5, "the system refused: odd"),
    ("memory", 5, "not enough free memory"),
    ("compiled", 5, "delete __pycache__ in "),
    ("bug", 70, "bug in rigright"),
    ("deep", 70, "bug in rigright"),
]


@pytest.mark.parametrize(("how", "code", "words"), TROUBLE)
def test_whatever_goes_wrong_is_one_sentence_and_a_code(run, how, code, words):
    done, out, err = run("fail", how)
    assert (done, out, err.count("\n")) == (code, "", 1)
    assert words in err
    assert "Traceback" not in err
    assert "\x1b" not in err


@pytest.mark.parametrize(("how", "code", "words"), TROUBLE)
def test_a_script_is_told_too(run, how, code, words):
    done, out, err = run("--json", "fail", how)
    kind = {"disk": "system", "memory": "system", "compiled": "system", "deep": "bug"}.get(how, how)
    error = json.loads(out)["error"]
    assert (done, error["exit_code"], error["kind"]) == (code, code, kind)
    assert words in error["message"]
    assert err == f"error: {error['message']}\n"


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
    assert shown.decode(encoding).splitlines()[-1] == f"{mark} no such file: greeting"


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
