"""The page of a fleet: worst first, folded, short for five hundred nodes, whole in JSON."""

from __future__ import annotations

import json

import pytest

import spoken
from rigright.base.page import Commands, Points, Table
from rigright.base.plain import dumps
from rigright.base.words import LANGUAGES, say
from rigright.doctor.examine import Examined, case_of
from rigright.doctor.record import Checked, Finding
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.device import Device
from rigright.machine.record import Machine
from rigright.machine.system import Software
from rigright.report.findings import rows_of, shared_findings
from rigright.report.formats import csv, html, markdown, text
from rigright.report.pages import fleet as pages
from rigright.report.screen import Screen
from rigright.verbs.fleet.nodes import Differs, Fleet, NodeReport, NodeSpread, OddNodes, Straggler
from spoken import values


def machine(driver="550.1"):
    devices = tuple(Device(index=index, vendor="nvidia", name="NVIDIA H100") for index in range(8))
    return Machine(devices=devices, software=Software(driver=driver))


def finding(title, severity="fault", about=None):
    nothing = say("{text}", text="because")
    return Finding(
        severity=severity, title=say("{text}", text=title), evidence=(), why=nothing, fix=(), about=about
    )


def node(name, *findings, **more):
    checked = tuple(Checked(check="c", title=say("{text}", text="c"), verdicts=(one,)) for one in findings)
    return NodeReport(
        node=name, machine=machine(**more), examined=Examined(case=case_of(machine()), checks=checked)
    )


def silent(name, why="host name does not resolve"):
    return NodeReport(node=name, trouble=say("{text}", text=why))


def doctor(*nodes, **more):
    return Fleet(what="doctor", over="ssh", nodes=nodes, seconds=1.5, **more)


def shown(result, width=100, language="en", **more):
    return text.render(
        pages.page(result, **more), Screen(width=width, colour=False, unicode=True, language=language)
    )


def test_the_worst_comes_first_and_like_nodes_share_a_row():
    hot, lost = finding("hot", "warning"), finding("lost", about="gpu 3")
    result = doctor(node("n1"), node("n2"), node("n3", hot), node("n4", lost), silent("n5"), node("n6", hot))
    rows = [(row.state, row.nodes) for row in rows_of(result)]
    assert rows == [
        ("silent", ("n5",)),
        ("fault", ("n4",)),
        ("warning", ("n3", "n6")),
        ("well", ("n1", "n2")),
    ]
    out = shown(result)
    assert out.index("n5") < out.index("n4") < out.index("n[3,6]") < out.index("n[1-2]")
    title = pages.page(result).title
    assert spoken.shown(title) == ["1", "n5", "1", "n4", "2", "2"]
    assert out.startswith("✗ 1 ")


@pytest.mark.parametrize(
    ("nodes", "code"),
    [
        ((node("n1"),), 0),
        ((node("n1", finding("x", "note")),), 0),
        ((node("n1"), node("n2", finding("x", "warning"))), 10),
        ((node("n1", finding("x", "warning")), node("n2", finding("y"))), 20),
        ((node("n1"), silent("n2")), 20),
    ],
)
def test_the_exit_code_is_that_of_the_worst_node(nodes, code):
    assert doctor(*nodes).exit_code == code
    assert doctor(*nodes, broken_off=True).exit_code == 130


def test_a_finding_on_many_nodes_is_told_once_with_all_of_them():
    cards = [finding("hot", "warning", about=f"gpu {index}") for index in range(8)]
    result = doctor(
        *(node(f"n{number:03}", *cards) for number in range(1, 101)), node("n101", finding("lost"))
    )
    first, second = shared_findings(result)
    assert (str(first.finding.title), first.nodes) == ("lost", ("n101",))
    assert (len(second.nodes), second.things) == (100, 800)
    assert shown(result).count("hot") == 2  # among the nodes, and among the findings
    assert "n[001-100]" in shown(result)


def test_five_hundred_nodes_that_all_differ_stay_short_and_all_shows_them():
    nodes = [node(f"n{number}", finding(f"fault {number}")) for number in range(500)]
    result = doctor(*nodes)
    assert len(shown(result).splitlines()) < 70
    (table, *_) = tables(result)
    assert values(table.rows[-1][0]) == {"count": "480"}
    whole = shown(result, everything=True)
    assert all(f"fault {number}" in whole for number in range(500))
    assert "--all" not in whole


def test_names_that_do_not_fold_are_cut_and_counted():
    result = doctor(*(node(f"host-{number}-of-rack-{number % 7}x") for number in range(60)))
    (table, *_) = tables(result)
    (row,) = table.rows
    assert values(row[0])["count"] == "60"
    assert len(str(row[0])) < 100


GEMM = Result(
    part="gemm", what="bf16", on="gpu 0", value=7e14, unit="flops_per_s", low=1.0, high=2.0, repeats=3
)
LEFT_OUT = (Skipped(part="disk", why=say("{text}", text="no folder")),)
SPREAD = NodeSpread(
    part="gemm",
    what="bf16",
    kind="NVIDIA H100",
    unit="flops_per_s",
    median=7e14,
    low=3e14,
    high=7e14,
    n_nodes=9,
)
OTHER_DRIVERS = Differs(
    trait=say("driver"),
    kind="NVIDIA H100",
    usual=None,
    n_usual=0,
    others=(OddNodes("535.9", ("n2",)), OddNodes("550.1", ("n1",))),
)
BENCHED = Fleet(
    what="bench",
    over="Slurm",
    nodes=(
        NodeReport(node="n1", machine=machine(), results=(GEMM,), skipped=LEFT_OUT),
        NodeReport(node="n2", machine=machine(driver="535.9"), skipped=LEFT_OUT),
    ),
    differs=(OTHER_DRIVERS,),
    spreads=(SPREAD,),
    stragglers=(Straggler(node="n7", on="gpu 3", value=3e14, behind_share=0.571, spread=SPREAD),),
    seconds=61.0,
)


def test_the_slow_node_is_named_with_its_card_and_how_far_behind():
    out = shown(BENCHED)
    (line,) = [line for line in out.splitlines() if line.startswith("n7")]
    assert all(word in line for word in ("gpu 3", "gemm: bf16", "300 TFLOP/s", "700 TFLOP/s", "57%"))
    (left_out,) = [part for part in pages.page(BENCHED).parts if isinstance(part, Points)]
    assert values(*left_out.items) == {"part": "disk", "text": "no folder", "nodes": "n[1-2]"}
    (differing,) = [table.rows for table in tables(BENCHED) if table.rows[0][0] == OTHER_DRIVERS.trait]
    assert [row[2:] for row in differing] == [("535.9", "n2"), ("550.1", "n1")]
    assert BENCHED.exit_code == 10


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("width", [40, 60, 100, 160])
def test_it_fits_any_screen(width, language):
    from rigright.report.screen import width as cells

    nodes = [node(f"n{number}", finding("the card is lost " * 4, about="gpu 3")) for number in range(3)]
    for result in (doctor(*nodes, silent("n9"), node("n8")), BENCHED):
        for line in shown(result, width=width, language=language).splitlines():
            assert cells(line) <= width or line.startswith("  $ ")  # a command is never broken


@pytest.mark.parametrize("render", [markdown.render, html.render, csv.render])
def test_it_takes_every_form(render):
    nowhere = Screen(width=100, colour=False, unicode=True, language="en")
    for result in (doctor(node("n1"), silent("n2")), BENCHED):
        assert "n1" in render(pages.page(result), nowhere)


def test_json_holds_everything_in_both_languages():
    for result in (doctor(node("n1", finding("lost", about="gpu 3")), silent("n2")), BENCHED):
        english, chinese = (json.loads(dumps(pages.plain(result, code), code)) for code in LANGUAGES)
        assert english.keys() == chinese.keys()
        assert [one["node"] for one in english["nodes"]] == [one.node for one in result.nodes]
        assert english["exit_code"] == result.exit_code
    (first, second) = json.loads(dumps(pages.plain(BENCHED, "en"), "en"))["nodes"]
    assert first["results"][0]["value"] == 7e14
    assert second["skipped"][0]["why"] == "no folder"


def tables(result):
    return [part for part in pages.page(result).parts if isinstance(part, Table)]


def test_a_column_that_says_nothing_is_left_out():
    hot = finding("hot", "warning")
    apart = doctor(node("n1"), node("n2", hot))
    assert [len(table.columns) for table in tables(apart)] == [4, 4]
    many = doctor(node("n1"), node("n2"), node("n3", hot, finding("hot", "warning", about="gpu 1")))
    assert [len(table.columns) for table in tables(many)] == [5, 5]
    assert [row[1] for row in tables(many)[0].rows] == ["1", "2"], "of the nodes"
    assert [row[-2:] for row in tables(many)[1].rows] == [("1", "2")], "of nodes, and of cards on them"


def test_the_driver_is_told_where_nothing_worse_is():
    nodes = node("n1"), node("n2", driver="535.1")
    assert not {"535.1", "550.1"} & {cell for row in tables(doctor(*nodes))[0].rows for cell in row}
    assert "n[1-2]" in shown(doctor(*nodes)), "nodes that look alike share a row"
    probed = Fleet(what="probe", over="ssh", nodes=nodes, seconds=1.0)
    assert "535.1" in shown(probed)


def test_answers_that_are_files_already_are_not_to_be_saved_again():
    kept = Fleet(what="probe", over="files", nodes=(node("n1"),), seconds=1.0, asked="rigright fleet probe")
    assert not [part for part in pages.page(kept).parts if isinstance(part, Commands)]
    asked = Fleet(what="probe", over="ssh", nodes=(node("n1"),), seconds=1.0, asked="rigright fleet probe")
    assert "rigright fleet probe --save answers" in shown(asked)
