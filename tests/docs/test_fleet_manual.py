"""The manuals of `fleet` name every option and exit code, and none that is not there."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from rigright.base.words import say
from rigright.doctor.examine import Examined, case_of
from rigright.doctor.record import Checked, Finding
from rigright.faces.cli import schemas
from rigright.faces.cli.main import verb_parser
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.record import Machine
from rigright.machine.remote.parcel import program
from rigright.report.pages import fleet
from rigright.verbs.fleet.nodes import Differs, Fleet, NodeHealth, NodeReport, NodeSpread, OddNodes, Straggler

DOCS = Path(__file__).parent.parent.parent / "docs"
WORD = say("{text}", text="x")
FIGURE = Result(part="a", what="b", on="c", value=1.0, unit="s", low=1.0, high=1.0, repeats=3)
SPREAD = NodeSpread(part="a", what="b", kind="", unit="s", median=1.0, low=1.0, high=1.0, n_nodes=2)
EXAMINED = Examined(
    case=case_of(Machine()),
    checks=(
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
        NodeReport(
            node="n",
            examined=EXAMINED,
            results=(FIGURE,),
            skipped=(Skipped(part="p", why=WORD),),
            trouble=WORD,
        ),
    ),
    differs=(Differs(trait=WORD, kind="", usual="x", n_usual=2, others=(OddNodes("y", ("n",)),)),),
    spreads=(SPREAD,),
    stragglers=(Straggler(node="n", on="c", spread=SPREAD, value=1.0, behind_share=0.1),),
)


@pytest.mark.parametrize(
    ("which", "told"),
    [
        (0, fleet.plain(FLEET, "en")),
        (2, fleet.health_plain(NodeHealth(node="n", examined=EXAMINED, done="nothing", reason=None), "zh")),
    ],
)
def test_a_fleet_with_all_that_may_be_is_as_its_schema_says(which, told):
    schema = schemas.schema("fleet")
    top = schema["anyOf"][which] | {"$defs": schema["$defs"], "additionalProperties": False}
    jsonschema.validate(told | {"schema_version": 2}, top)


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
