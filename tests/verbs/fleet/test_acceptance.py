"""Acceptance over a played fleet: bad nodes are named and no others, and a kill costs nothing."""

from __future__ import annotations

import json
import random
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from played_fleet import Played, with_

from rigright.base.errors import AskError
from rigright.machine.bench.table import NO_TORCH
from rigright.report.pages.accept import page
from rigright.verbs.fleet.accept.accept import AcceptWish, accepted
from rigright.verbs.fleet.accept.accepted import Met, pairings, rounds, slow_between, split, wanted
from rigright.verbs.fleet.accept.folder import Folder
from spoken import pairs, pairs_whole

BAD = {"count": 24, "gpu": {("n07", "gpu 3"): 0.8}, "link": {"n13": 0.5}, "disk": {"n21": 0.4}}


def taken(fleet, folder, **wishes):
    wish = AcceptWish(folder=str(folder), **wishes)
    return accepted(fleet.asking, fleet.known, wish=wish)


def reasons(found):
    return {one.node: [(why.source, why.about) for why in one.reasons] for one in found.named("fail")}


@pytest.fixture(scope="module")
def three_bad(tmp_path_factory):
    return taken(Played(**BAD), tmp_path_factory.mktemp("three"))


def test_a_bad_card_a_bad_link_and_a_bad_disk_are_named_and_no_other_node(three_bad):
    assert reasons(three_bad) == {
        "n07": [("peers", "gpu 3"), ("peers", "gpu 3")],
        "n13": [("network", None)],
        "n21": [("peers", "/")],
    }
    assert len(three_bad.named("pass")) == 21
    assert (three_bad.between, three_bad.everywhere, three_bad.exit_code) == ((), (), 20)


def test_who_answers_first_and_who_answers_unasked_is_no_matter(three_bad, tmp_path):
    fleet = Played(**BAD)

    def asking(jobs):
        reports = [*fleet.asking(jobs)][::-1]
        strangers = [(job, replace(one, node="x1")) for job, one in reports if job.request.meeting]
        return iter(reports + strangers)

    found = accepted(asking, fleet.known, wish=AcceptWish(folder=str(tmp_path)))
    assert reasons(found) == reasons(three_bad)
    assert sorted(found.meetings, key=str) == sorted(three_bad.meetings, key=str)


def test_line_one_names_them_and_the_command_drains_them_in_slurms_own_words(three_bad):
    shown = page(replace(three_bad, over="Slurm", asked="rigright fleet bench --slurm --accept x"))
    assert {("fail", 3), ("count", 24), ("names", "n[07,13,21]"), ("good", 21)} <= set(pairs(shown.title))
    (line, *_) = shown.parts[-1].items
    *words, reason = shlex.split(line)
    assert reason.startswith("Reason=rigright: ")
    assert words == [*("scontrol", "update", "NodeName=n[07,13,21]", "State=DRAIN")]


def test_a_healthy_fleet_passes_whole(tmp_path):
    for seed in range(3):
        found = taken(Played(seed=seed, count=10), tmp_path / str(seed))
        assert (len(found.named("pass")), found.exit_code) == (10, 0), seed


def test_wrong_values_lost_cards_dead_links_and_odd_products_fail(tmp_path):
    fleet = Played(
        count=10, wrong={("n03", "gpu 1")}, odd={("n04", "gpu 2")}, missing={"n05"}, link={"n06": 0}
    )
    assert reasons(taken(fleet, tmp_path)) == {
        "n03": [("values", "gpu 1")],
        "n04": [("values", "gpu 2")],
        "n05": [("traits", None)],
        "n06": [("network", None)],
    }


def test_what_is_slow_once_is_measured_again_before_it_fails(tmp_path):
    fleet = Played(count=10, cards=2, once={("n08", "disk"): 0.5})
    found = taken(fleet, tmp_path)
    assert (found.exit_code, found.named("fail")) == (0, ())
    assert (("disk",), ("n08",)) in fleet.asked


def test_who_does_not_answer_or_has_no_pytorch_stays_open(tmp_path):
    found = taken(Played(count=8, cards=2, silent={"n02"}, no_torch={"n05"}), tmp_path)
    assert [one.node for one in found.named("open")] == ["n02", "n05"]
    assert (found.named("fail"), found.exit_code) == ((), 10)
    assert NO_TORCH in dict(pairs_whole(found.named("open")[1].not_judged[0])).values()


def test_what_most_nodes_miss_is_no_nodes_own_fault(tmp_path):
    slow = {(f"n{n:02}", f"gpu {card}"): 0.7 for n in range(1, 9) for card in range(2)}
    fleet = Played(count=8, cards=2, gpu=slow)
    found = taken(fleet, tmp_path)
    assert found.named("fail") == ()
    assert {one.result.part for one in found.everywhere} == {"gemm"}


def test_a_slow_way_between_two_racks_is_no_nodes_fault(tmp_path):
    found = taken(Played(count=16, cards=2, racks={("n01", "n09"): 0.4}), tmp_path)
    assert found.named("fail") == ()
    (way,) = found.between
    assert split(way.nodes) == (
        tuple(f"n{n:02}" for n in range(1, 9)), tuple(f"n{n:02}" for n in range(9, 17))
    )  # fmt: skip


class Killed(BaseException):
    """As the process ends with kill -9: nothing of ours is asked to tidy up."""


def test_a_kill_at_any_moment_costs_only_what_was_not_yet_answered(tmp_path):
    """Answers come from the seed and the node, so the verdict after kills must be that of a whole run."""
    fleet = Played(count=9, cards=2, gpu={("n07", "gpu 1"): 0.8}, link={"n03": 0.5}, disk={"n05": 0.4})
    whole = taken(fleet, tmp_path / "whole")
    count = len(fleet.asked)
    broken, chance, kills, asked = with_(fleet), random.Random(7), 0, []  # noqa: S311
    wish = AcceptWish(folder=str(tmp_path / "cut"))
    while kills < 20:
        broken.asked.clear()
        after = chance.randrange(1, max(2, count // 4))

        def asking(jobs, after=after):
            for number, answer in enumerate(broken.asking(jobs)):
                if len(broken.asked) > after:
                    raise Killed(number)
                yield answer

        try:
            found = accepted(asking, broken.known, wish=wish)
            break
        except Killed:
            kills += 1
            asked += broken.asked
            torn = tmp_path / "cut" / "meetings.jsonl"
            if torn.exists():
                with torn.open("a", encoding="utf-8") as file:
                    file.write('{"stage": "pairs", "nodes": ["n01", "n')  # what a kill leaves of a line
    assert kills > 3
    assert [(one.node, one.state) for one in found.nodes] == [(one.node, one.state) for one in whole.nodes]
    alone = [nodes for parts, nodes in (*asked, *broken.asked) if "gemm" in parts and len(parts) > 3]
    assert len(alone) <= 9 + kills, "a node that has answered is not asked again"


def test_a_line_that_a_kill_cut_off_costs_no_other(tmp_path):
    folder = Folder(str(tmp_path), settings={})
    before, after = (Met(stage="pairs", nodes=nodes, value=1.0) for nodes in (("n1", "n2"), ("n3", "n4")))
    folder.keep_met(before)
    with (tmp_path / "meetings.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"stage": "pairs", "nodes": ["n')
    folder.keep_met(after)
    assert folder.met() == [before, after]


def test_breaking_off_judges_what_came_and_says_how_to_go_on(tmp_path):
    fleet = Played(count=8, cards=2, wrong={("n02", "gpu 0")})

    def asking(jobs):
        for answer in fleet.asking(jobs):
            if len(fleet.asked) > 12:  # in the second stage
                raise KeyboardInterrupt
            yield answer

    found = accepted(asking, fleet.known, wish=AcceptWish(folder=str(tmp_path)))
    assert (found.broken_off, found.exit_code, found.named("pass")) == (True, 130, ())


def test_other_settings_in_the_same_folder_are_refused(tmp_path):
    taken(Played(count=2, cards=1), tmp_path)
    with pytest.raises(AskError) as refused:
        taken(Played(count=2, cards=1), tmp_path, burn_s=60.0)
    said = {"folder": str(tmp_path), "name": "burn_s", "before": "600.0", "now": "60.0"}
    assert dict(refused.value.sentence.values) == said


def test_an_answer_that_was_damaged_on_disk_is_asked_again(tmp_path):
    fleet = Played(count=3, cards=1)
    taken(fleet, tmp_path)
    (tmp_path / "answers" / "n02.json").write_text("{", encoding="utf-8")
    again = with_(fleet)
    taken(again, tmp_path)
    assert {nodes for parts, nodes in again.asked if "gemm" in parts} == {("n02",)}


@given(st.integers(2, 70), st.integers(1, 5))
def test_nobody_meets_the_same_twice_and_nobody_is_twice_in_a_round(count, turns):
    names = [f"n{number}" for number in range(count)]
    met = [frozenset(pair) for turn in rounds(names, turns) for pair in turn]
    assert len(met) == len(set(met))
    for turn in rounds(names, turns):
        inside = [node for pair in turn for node in pair]
        assert len(inside) == len(set(inside)) == count - count % 2


@given(st.integers(0, 10**6), st.integers(6, 40), st.data())
def test_slow_links_are_found_whoever_meets_whom(seed, count, data):
    """As long as good nodes are in the majority, exactly the bad ones fail."""
    names = [f"n{number:02}" for number in range(count)]
    bad = set(data.draw(st.lists(st.sampled_from(names), unique=True, max_size=count // 4)))
    chance = random.Random(seed)  # noqa: S311
    met = []
    while ahead := wanted(names, met, fit=frozenset(names)):
        for one in ahead:
            share = 0.5 if bad & set(one.nodes) else 1.0
            met.append(Met(stage=one.stage, nodes=one.nodes, value=3e11 * share * chance.gauss(1.0, 0.015)))
    table = pairings(met)
    tried = {one.nodes[0]: one for one in met if one.stage == "trial"}
    assert set(table.suspects) == bad
    assert {node for node in table.suspects if node in tried} == bad
    assert slow_between(met, table, failed=frozenset(bad)) == ()


def test_where_no_two_nodes_met_no_network_was_judged(tmp_path):
    found = taken(Played(count=6, cards=1, link={f"n{n:02}": 0 for n in range(1, 7)}), tmp_path)
    assert len(found.named("open")) == 6
    assert {one.why for one in found.meetings} <= {one.not_judged[0].values[0][1] for one in found.nodes}


def test_the_folder_is_read_by_the_other_verbs(tmp_path):
    from rigright.verbs.fleet.jobs import FleetWish
    from rigright.verbs.fleet.verb import fleet

    taken(Played(count=3, cards=1), tmp_path)
    found = fleet("bench", wish=FleetWish(over="folder", where=str(tmp_path / "answers")))
    assert [one.node for one in found.nodes] == ["n01", "n02", "n03"]
    assert all(one.results for one in found.nodes)
    told = json.loads(Path(tmp_path / "accept.json").read_text(encoding="utf-8"))
    assert told["rigright_accept"] == 1
