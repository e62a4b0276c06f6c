"""What the verbs make of a command line: options that say nothing are refused, and the exit code answers."""

from __future__ import annotations

import json

import pytest

from rigright.faces.cli.main import main
from rigright.report.screen import width

ASK = ("explain", "llama-3.1-8b", "--on", "4090")


@pytest.fixture
def run(capsys, monkeypatch):
    for name in ("LC_ALL", "LC_MESSAGES", "LANG", "COLUMNS", "NO_COLOR", "RIGRIGHT_DEBUG"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments):
        code = main(arguments)
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.mark.parametrize(
    ("arguments", "fits"),
    [
        (ASK, True),
        (("explain", "llama-3.1-70b", "--on", "4090"), False),
        ((*ASK, "--train", "qlora", "--seq", "512"), True),
        ((*ASK, "--train", "full"), False),
    ],
)
def test_what_does_not_fit_is_an_answer_too(run, arguments, fits):
    code, out, _ = run(*arguments, "--json")
    assert code == 0
    assert json.loads(out)["fits"] is fits


REFUSED = (  # and what the error and its hint name
    (("--seq", "5"), ("--seq", "--train")),
    (("--chunked-loss",), ("--chunked-loss",)),
    (("--rank", "8"), ("--rank",)),
    (("--train", "--context", "32k"), ("--context",)),
    (("--train", "--rank", "8"), ("--rank", "--train lora | --train qlora")),
    (("--train", "--serve"), ("--train", "--serve")),
    (("--tp", "2", "--tp", "4"), ("--tp",)),
    (("--kv", ""), ("--kv",)),
    (("--engine=",), ("--engine",)),
)


def test_an_option_that_would_change_nothing_is_refused(run):
    for arguments, names in REFUSED:
        code, out, err = run(*ASK, *arguments)
        assert (code, out) == (2, ""), arguments
        assert all(name in err for name in names), err


@pytest.mark.parametrize("cells", [40, 60, 100])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_help_keeps_to_the_width_asked_for(run, cells, language):
    out = run("fit", "--help", "--width", str(cells), "--lang", language)[1]
    usage, *lines = out.splitlines()
    assert "fit" in usage
    assert max(map(width, lines)) <= cells


def test_help_tells_serving_from_training(run):
    out = run("explain", "--help")[1]
    blocks = [block for block in out.split("\n\n") if block.startswith(f"{block.split(':')[0]}:\n  --")]
    (serving,), (training,) = (
        [block for block in blocks if f"\n  {name} " in block or f":\n  {name} " in block]
        for name in ("--engine", "--recompute")
    )
    assert serving != training


def test_words_may_stand_behind_options(run):
    before = json.loads(run("look-up", "chips", "4090", "--sort", "bandwidth", "--json")[1])
    behind = json.loads(run("look-up", "--sort", "bandwidth", "--json", "chips", "4090")[1])
    assert before == behind
    assert len(before) > 1


@pytest.mark.parametrize(("limit", "shown"), [("2", 2), ("0", 222), ("1k", 222)])
def test_a_limit_of_nothing_shows_all(run, limit, shown):
    found = json.loads(run("look-up", "chips", "--limit", limit, "--json")[1])
    assert len(found) == shown or (shown > 2 and len(found) > 200)


def test_a_limit_is_no_negative(run):
    assert run("look-up", "chips", "--limit", "-1")[0] == 2
