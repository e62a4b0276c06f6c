"""The manuals of `fleet` name every key, option and exit code, and none that is not there."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from rigright.base.words import say
from rigright.doctor.examine import Examined, case_of
from rigright.doctor.record import Checked, Finding
from rigright.faces.cli.main import verb_parser
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.far.parcel import program
from rigright.machine.record import Machine
from rigright.report.nodes import Differs, Fleet, NodeTold, Spread, Straggler
from rigright.report.pages import fleet, health

DOCS = Path(__file__).parent.parent.parent / "docs"
WORD = say("{text}", text="x")
FIGURE = Result(part="a", what="b", on="c", value=1.0, unit="s", low=1.0, high=1.0, repeats=3)
SPREAD = Spread(part="a", what="b", kind="", unit="s", median=1.0, low=1.0, high=1.0, n_nodes=2)
EXAMINED = Examined(
    case=case_of(Machine()),
    checked=(
        Checked(
            check="c",
            title=WORD,
            verdicts=(Finding(severity="fault", title=WORD, evidence=(), why=WORD, fix=()),),
        ),
    ),
)
FLEET = Fleet(
    what="bench",
    over="ssh",
    nodes=(
        NodeTold(
            node="n",
            examined=EXAMINED,
            results=(FIGURE,),
            skipped=(Skipped(part="p", why=WORD),),
            trouble=WORD,
        ),
    ),
    differs=(Differs(trait=WORD, kind="", usual="x", n_usual=2, others=(("y", ("n",)),)),),
    spreads=(SPREAD,),
    stragglers=(Straggler(node="n", on="c", spread=SPREAD, value=1.0, behind_share=0.1),),
)


def keys(thing):
    if isinstance(thing, dict):
        yield from thing
        for inner in thing.values():
            yield from keys(inner)
    elif isinstance(thing, list | tuple):
        for inner in thing:
            yield from keys(inner)


def named(file, section=""):
    """Every word of a manual that is set as code, or of one section of it."""
    text = (DOCS / file).read_text(encoding="utf-8")
    if section:
        (text,) = re.findall(rf"## `rigright fleet {section} .*?(?=\n## |\Z)", text, flags=re.DOTALL)
    return {word for code in re.findall(r"`([^`]+)`", text) for word in re.findall(r"[A-Za-z_0-9]+", code)}


def heads(section):
    text = (DOCS / "fleet-json.md").read_text(encoding="utf-8")
    (part,) = re.findall(rf"## `rigright fleet {section} .*?(?=\n## |\Z)", text, flags=re.DOTALL)
    cells = re.findall(r"^\| (`[^|]+) \|", part, flags=re.MULTILINE)
    return {
        word for cell in cells for code in re.findall(r"`([^`]+)`", cell) for word in re.findall(r"\w+", code)
    }


def test_every_key_of_a_fleet_is_in_the_manual_and_no_other():
    there = set(keys(fleet.plain(FLEET, "en")))
    assert there - named("fleet-json.md", re.escape("probe|doctor|bench")) == set()
    assert heads(re.escape("probe|doctor|bench")) - there == set()


def test_every_key_of_health_is_in_the_manual_and_no_other():
    there = set(keys(health.plain("n", EXAMINED, done="nothing", reason=None)))
    assert there - named("fleet-json.md", "health") == set()
    assert heads("health") - there == set()


def test_the_manual_names_only_options_that_exist():
    text = (DOCS / "fleet.md").read_text(encoding="utf-8")
    known = set(verb_parser("fleet", "en")._option_string_actions)
    ours = {
        option
        for line in re.findall(
            r"rigright fleet [^\n|`]*", re.sub(r"='[^'\n]*'|\"[^\"]*\"", "", text)
        )  # srun's, ssh's
        for option in re.findall(r"(?<!\S)--[a-z-]+", line)
    }
    assert len(ours) > 8
    assert ours <= known, ours - known


def test_exit_codes_and_sizes_are_as_the_manual_says():
    text = (DOCS / "fleet.md").read_text(encoding="utf-8")
    assert replace(FLEET, what="bench").exit_code == 20
    assert "| 20 | a fault, or a node that did not answer |" in text
    assert 200_000 < len(program()) < 400_000, "the manual says about 300 kB"
