"""A test that restates files runs when they change, and is left to `make test-live` where it never passed."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]
TEST = """
from pathlib import Path
import pytest

@pytest.mark.restates("*.txt")
def test_one():
    assert "wrong" not in Path("one.txt").read_text()

@pytest.mark.restates("*.txt")
def test_all():
    pass
"""


@pytest.fixture
def ran(pytester, monkeypatch):
    """What comes of a run with the file like this."""
    monkeypatch.delenv("RIGRIGHT_LIVE", raising=False)
    pytester.makeini("[pytest]\ntestpaths = .")
    test = pytester.makepyfile(TEST)

    def run(text, *words, live=False):
        (pytester.path / "one.txt").write_text(text)
        with monkeypatch.context() as patch:
            if live:
                patch.setenv("RIGRIGHT_LIVE", "1")
            done = pytester.runpytest_inprocess("-p", "restated", "-p", "no:randomly", *words)
        counts = done.parseoutcomes()
        summary = [line for line in done.outlines if line.startswith("tests that restate files: ")]
        return {name: counts.get(name, 0) for name in ("passed", "failed", "deselected")}, summary

    run.test = test
    return run


def of(passed=0, failed=0, deselected=0):
    return {"passed": passed, "failed": failed, "deselected": deselected}


def test_it_is_left_where_it_never_passed_and_as_long_as_nothing_changes(ran):
    counts, summary = ran("a")
    assert (counts, len(summary)) == (of(deselected=2), 1)
    assert ": 2 left to " in summary[0]
    assert ran("a", live=True) == (of(passed=2), [])
    counts, summary = ran("a")
    assert (counts, len(summary)) == (of(deselected=2), 1)
    assert " left to " not in summary[0]
    assert ran("b") == (of(passed=2), [])
    assert ran("b")[0] == of(deselected=2)


def test_one_that_failed_runs_until_it_passes(ran):
    assert ran("wrong", live=True)[0] == of(passed=1, failed=1)
    assert ran("wrong")[0] == of(failed=1, deselected=1)
    assert ran("right")[0] == of(passed=2)
    assert ran("wrong")[0] == of(passed=1, failed=1)


def test_one_that_is_asked_for_by_its_file_or_name_runs(ran):
    assert ran("a", ran.test)[0] == of(passed=2)
    assert ran("a", ran.test)[0] == of(passed=2)
    assert ran("a", f"{ran.test}::test_all")[0] == of(passed=1)


def test_a_change_of_the_test_itself_counts(ran):
    assert ran("a", live=True)[0] == of(passed=2)
    ran.test.write_text(TEST + "\n# other\n")
    assert ran("a")[0] == of(passed=2)


def test_files_that_are_not_there_are_an_error(pytester):
    pytester.makepyfile("import pytest\n@pytest.mark.restates('nothing.txt')\ndef test_x(): pass\n")
    assert pytester.runpytest_inprocess("-p", "restated").ret == pytest.ExitCode.INTERNAL_ERROR
