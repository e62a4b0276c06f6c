"""The page of `upgrade`: stages only where something is to be changed, and commands that run."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

import pytest

from desk import probed
from rigright.base.page import Line
from rigright.base.words import say
from rigright.doctor.binding.judgement import Judgement
from rigright.faces.cli.main import main, verb_parser
from rigright.report.formats.text import render
from rigright.report.pages.diagnose import shown_gain
from rigright.report.pages.upgrade import page
from rigright.report.screen import Screen
from rigright.verbs.probe import save
from rigright.verbs.upgrade import Upgraded
from spoken import values

NOTHING = Upgraded(
    machines=1,
    baseline=0,
    cause_rows=(("cores", say("CPU (all cores)"), 1.0),),
    diagnosed=None,
    judgement=Judgement(),
    changes=(),
    by_cause=(),
    refused=(),
    over_budget=0,
    waves=(),
)


@pytest.fixture
def asked(capsys, tmp_path, monkeypatch):
    """The page for a machine, once as a record and then as it is asked."""
    monkeypatch.setenv("RIGRIGHT_HOME", str(tmp_path / "home"))

    def ask(*words):
        file = tmp_path / "box.json"
        if not file.exists():
            save(probed("healthy_2x4090"), str(file))
        assert main(["upgrade", "--from", str(file), "--width", "80", *words]) == 0
        return capsys.readouterr().out

    return ask


def test_every_line_of_what_comes_next_is_one_that_the_program_takes(asked):
    lines = [line.strip() for line in asked("--bound", "disk=60%,compute=40%").splitlines()]
    typed = [shlex.split(line[2:]) for line in lines if line.startswith("$ rigright ")]
    assert {words[1] for words in typed} >= {"bench", "compare"}
    for _, verb, *words in typed:
        verb_parser(verb, "en").read(words)


def test_money_and_watts_are_told_no_finer_than_they_are_known(asked):
    text = asked("--bound", "disk=60%,compute=40%")
    assert ".00" not in text
    watts = [int(one.replace(",", "")) for one in re.findall(r"\b([\d,]{3,}) W\b", text)]
    assert watts
    assert all(one % 50 == 0 for one in watts)


def test_no_gain_is_told_finer_than_it_is_known_nor_drawn_beyond_itself(asked):
    """A part of $104 that makes the whole twice as fast would be "+961 %" for $1000, which nobody gets."""
    text = asked("--bound", "disk=60%,compute=40%")
    assert "for $1000" not in text
    dear = [row for row in text.splitlines() if re.search(r"x +\$", row)]
    assert len(dear) >= 4
    for row in dear:
        shown = re.search(r" (\d[\d.]*)x +\$([\d,]+) \(.*?\) +\$([\d.,]+) ", row).groups()
        gain, value, percent = (float(one.replace(",", "")) for one in shown)
        assert len(shown[0].replace(".", "")) == 2
        assert 1.0 < gain <= 1 / (1 - 0.6)
        least, most = (value / (100 * (gain + off - 1)) for off in (0.06, -0.06))
        assert least * 0.9 <= percent <= most * 1.1


@pytest.mark.parametrize(
    ("times", "told"), [(1.034, "1.03"), (1.34, "1.3"), (2.5, "2.5"), (64.7, "65"), (1.0999, "1.10")]
)
def test_gains_have_two_digits(times, told):
    assert shown_gain(times) == told


def test_without_a_change_there_are_no_stages_of_it(asked):
    """Roll-out of nothing and cost of nothing only hide that there is nothing to do."""
    stages = re.findall(r"^\d(?=\. )", asked("--bound", "disk=60%"), re.MULTILINE)
    assert stages == ["1", "2", "3", "4", "5"]
    nothing = page(NOTHING)
    assert nothing.tone == "warn"
    assert re.findall(r"^\d(?=\. )", render(nothing, Screen(width=80)), re.MULTILINE) == ["1", "2"]
    dear = page(replace(NOTHING, over_budget=3))
    assert {"count": "3"} in [values(part.text) for part in dear.parts if isinstance(part, Line)]
