"""Commands of an answer begin with what started the program: what is printed can be pasted."""

import pytest

from rigright.faces.cli.main import main
from rigright.faces.cli.terminal import started_as


@pytest.fixture
def launched(monkeypatch):
    def by(name):
        monkeypatch.setenv("RIG_STARTED_AS", name)
        started_as.cache_clear()

    yield by
    monkeypatch.delenv("RIG_STARTED_AS", raising=False)
    started_as.cache_clear()


def shown(capfd, *words):
    main(list(words))
    printed = capfd.readouterr()
    return printed.out + printed.err


@pytest.mark.parametrize(
    ("words", "follows"),
    [
        (("explain", "qwen3-8b", "--on", "4090"), "explain "),
        (("cost",), 'cost "2x rtx 4090"'),
        (("fit", "4090", "--limit", "1"), "fit "),
        ((), "doctor"),
    ],
)
def test_a_command_begins_with_what_was_typed(launched, capfd, words, follows):
    for name, typed in (("./rig", "./rig"), ("/my disk/rig", "'/my disk/rig'")):
        launched(name)
        printed = shown(capfd, *words)
        assert f"{typed} {follows}" in printed
        assert f"rigright {follows}" not in printed
    launched("")
    assert f"rigright {follows}" in shown(capfd, *words)


def test_programs_hold_one_name(launched, capfd):
    launched("./rig")
    printed = shown(capfd, "explain", "qwen3-8b", "--on", "4090", "--json")
    assert "./rig" not in printed


def test_what_is_started_does_not_see_it(launched, capfd):
    launched("./rig")
    main(["measure", "--", "env"])
    assert "RIG_STARTED_AS" not in capfd.readouterr().out
