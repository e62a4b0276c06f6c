"""The live view in a terminal that is played: keys, sizes, languages; the terminal as it was."""

from __future__ import annotations

import os
import re
import signal
import sys

import pytest

from fake_driver import Driver

if not sys.platform.startswith("linux"):
    pytest.skip("a terminal that is played needs Linux", allow_module_level=True)

from terminal import Terminal

FOOT = "q "  # the last line begins with the key that ends it
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


@pytest.fixture
def opened(tmp_path):
    """Opens `rigright watch` beside a played driver."""
    terminals = []

    def opening(line="", *, size=(100, 30), driver="healthy_8xh100", **more):
        played = Driver.play(driver, tmp_path).env if driver else {"LD_LIBRARY_PATH": str(tmp_path)}
        env = {**os.environ, "RIGRIGHT_HOME": str(tmp_path / "home"), "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        env = {name: value for name, value in env.items() if name not in {"COLUMNS", "NO_COLOR"}}
        terminal = Terminal(f"watch --every 300ms {line}", {**env, **played, **more}, size=size)
        terminals.append(terminal)
        return terminal

    yield opening
    for terminal in terminals:
        terminal.__exit__()


def is_ready(screen):
    return screen.lines()[-1].startswith(FOOT)


def test_keys_choose_sort_filter_look_back_and_end(opened):
    screen = opened()
    screen.shows("gpu7")
    assert screen.is_apart
    assert screen.is_hidden
    assert screen.lines()[0].strip(), "the answer comes first"
    screen.type("l")
    screen.until(lambda one: re.search(r"^gpu0 +\d+/18 ", "\n".join(one.lines()), re.MULTILINE))
    screen.type("l")
    screen.shows("PID")
    screen.type("?")
    screen.shows("? h ")  # the page of keys
    screen.type("xs")
    screen.until(lambda one: re.search(r"s \w+: SM ", one.lines()[-1]))
    screen.type("/nobody")
    screen.shows('"nobody"')
    assert any(line.startswith("GPU") and "PID" in line for line in screen.lines())
    screen.type("\x1b")
    screen.until(lambda one: "nobody" not in "\n".join(one.lines()))
    screen.type("\x1b[D")
    screen.shows("End: ")
    screen.type("\x1b[F")
    screen.until(lambda one: "End: " not in "\n".join(one.lines()))
    screen.type("q")
    assert screen.ended() == 0
    assert screen.is_as_before
    assert screen.process.heard().err == ""


def test_however_it_ends_the_terminal_is_as_it_was(opened):
    ends = {
        "ctrl-c": lambda screen: screen.type("\x03"),
        "term": lambda screen: screen.kill(signal.SIGTERM),
        "hup": lambda screen: screen.kill(signal.SIGHUP),
    }
    for how, screen in {how: opened("--no-history", driver=None) for how in ends}.items():
        screen.until(is_ready)
        ends[how](screen)
        assert screen.ended() == 0, how
        assert screen.is_as_before, how
        assert "Traceback" not in screen.process.heard().err, how


def test_stopped_and_woken_it_gives_the_terminal_back_and_takes_it_again(opened):
    screen = opened("--no-history", driver=None)
    screen.until(is_ready)
    screen.type("\x1a")
    screen.until(lambda one: one.sent.count(ENTER) == 2 and is_ready(one))
    assert screen.sent.index(LEAVE) < screen.sent.rindex(ENTER)
    screen.type("q")
    assert screen.ended() == 0
    assert screen.is_as_before


def test_other_sizes_are_followed_and_chinese_stands_in_its_columns(opened):
    screen = opened("--no-history --lang zh", size=(120, 30))
    screen.shows("退出")
    screen.resize(40, 12)
    screen.until(lambda one: one.lines()[-1].startswith("q 退出") and "gpu0" in "\n".join(one.lines()))
    screen.resize(200, 50)
    screen.until(lambda one: one.lines()[-1].startswith("q 退出"))
    screen.type("q")
    assert screen.ended() == 0


def test_plain_letters_and_no_colour_where_asked_for(opened):
    screen = opened("--no-history", NO_COLOR="1", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    screen.shows("gpu7")
    screen.until(is_ready)
    assert screen.sent.isascii()
    assert not re.search(r"\x1b\[[\d;]*m", screen.sent)
    screen.type("q")
    assert screen.ended() == 0
