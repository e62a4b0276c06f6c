"""What diagnose answers: bounds that share the time, remedies, drifts, and honest silence."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desk import AROUND, STARVED, fill, ticks
from examples import few
from rigright.base.errors import RigError
from rigright.base.plain import dumps
from rigright.base.words import CHINESE, sentences
from rigright.doctor.binding.judge import causes, judge
from rigright.doctor.examine import case_of
from rigright.machine.device import Clocks, Device
from rigright.machine.host import NodePower
from rigright.machine.record import Machine
from rigright.report.formats import html, markdown, text
from rigright.report.pages import diagnose as pages
from rigright.report.pages import upgrade as upgrade_pages
from rigright.report.screen import Screen
from rigright.verbs.diagnose import diagnose, in_file
from rigright.verbs.upgrade import upgraded

SHARES = st.none() | st.floats(0, 1)
CARDS = st.fixed_dictionaries(
    {},
    optional={
        "busy_share": SHARES,
        "mem_busy_share": SHARES,
        "power_w": st.none() | st.floats(0, 1500),
        "gpu_c": st.none() | st.floats(-20, 150),
        "pcie_rx_bytes_per_s": st.none() | st.floats(0, 1e12),
        "slowed_by": st.none()
        | st.lists(
            st.sampled_from(["idle", "sw_power_cap", "hw_thermal", "sw_thermal", "hw_slowdown", "odd"]),
            max_size=3,
        ).map(tuple),
        "programs": st.none() | st.just(()),
        "state": st.sampled_from(["ok", "lost", "hung", "stale"]),
    },
)
HOSTS = st.fixed_dictionaries(
    {},
    optional={
        name: (SHARES if value <= 1 else st.none() | st.floats(0, 1e12)) for name, value in AROUND.items()
    },
)


def moments(told, *, step_s=2.0):
    """A moment for each card and host told, one behind another."""
    for n, (card, host) in enumerate(told):
        (one,) = ticks(card, host, cards=2, count=1, until_s=1e9 + n * step_s)
        yield one


@given(st.lists(st.tuples(CARDS, HOSTS), max_size=6))
def test_time_is_shared_out_whole_whatever_was_seen(told):
    """No share below nothing or above all, the largest first; and each is told in both languages."""
    judged = judge(tuple(moments(told)), case_of(Machine()))
    shares = [one.share for one in judged.bounds]
    assert all(0 < share <= 1 + 1e-9 for share in shares)
    assert sum(shares) <= 1 + 1e-6
    assert shares == sorted(shares, reverse=True)
    assert judged.moments + judged.idle <= len(told)
    for one in judged.bounds:
        assert one.cause.title.chinese or one.cause.title.text in sentences(CHINESE)


@few
@given(st.lists(st.tuples(CARDS, HOSTS), min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_moments_does_not_matter(told, random):
    shuffled = list(told)
    random.shuffle(shuffled)
    first, second = (judge(tuple(moments(one)), case_of(Machine())) for one in (told, shuffled))
    names = [
        {one.cause.name: pytest.approx(one.share) for one in judged.bounds} for judged in (first, second)
    ]
    assert names[0] == names[1]


@pytest.mark.parametrize("cause", [one.name for one in causes()])
def test_every_cause_says_what_helps_and_what_the_doctor_looks_at(cause):
    (one,) = (found for found in causes() if found.name == cause)
    assert one.title
    assert one.side in {"working", "waiting"}


@pytest.fixture(autouse=True)
def another_machine(monkeypatch):
    """Histories here are of machines that were made up: the one below is not asked."""
    monkeypatch.setattr("rigright.verbs.diagnose.probe", lambda _: Machine())


def history(folder, *moments_told, results=(), on=None):
    return str(fill(folder / "h.db", moments_told, results=results, on=on))


def shown(result_told):
    """All of the page, in every form and both languages, without an error."""
    page = pages.page(result_told)
    for language in ("en", CHINESE):
        for form in (text, markdown, html):
            assert form.render(page, Screen(language=language, width=60))
        json.loads(dumps(pages.plain(result_told, language), language))
    return text.render(page, Screen(width=100))


def test_an_answer_names_cause_evidence_and_the_command_that_shows_it(tmp_path):
    told = ticks(STARVED, {"disk_busy_share": 0.99, "io_pressure": 0.5}, until_s=time.time() - 5)
    found = diagnose(since_s=3600, history=history(tmp_path, *told))
    first = found.diagnosis.bounds[0]
    assert first.cause.name == "disk"
    assert first.seen
    assert first.evidence.command
    assert first.evidence.command in shown(found)


def test_a_machine_at_rest_has_nothing_that_binds(tmp_path):
    resting = ticks({"busy_share": 0.0, "programs": (), "power_w": 60.0}, until_s=time.time() - 5)
    found = diagnose(since_s=3600, history=history(tmp_path, *resting))
    assert found.diagnosis.bounds == ()
    assert found.diagnosis.idle == 30
    assert shown(found)


def test_what_the_history_does_not_hold_is_said_and_not_guessed(tmp_path):
    old = ticks(until_s=time.time() - 7200)
    with pytest.raises(RigError, match=r" 0 .*`rigright watch`"):
        diagnose(since_s=600, history=history(tmp_path, *old))


def test_the_last_hour_is_not_the_hour_before(tmp_path):
    now_s = time.time()
    before = ticks(STARVED, {"disk_busy_share": 1.0}, until_s=now_s - 5000)
    since = ticks({"mem_busy_share": 0.95}, until_s=now_s - 20)
    found = diagnose(since_s=3600, history=history(tmp_path, *before, *since))
    assert [one.cause.name for one in found.diagnosis.bounds] == ["gpu_memory"]
    both = diagnose(since_s=9000, history=history(tmp_path))
    assert {one.cause.name for one in both.diagnosis.bounds} >= {"gpu_memory", "disk"}


def test_a_lost_card_is_not_taken_for_one_that_waits(tmp_path):
    """Its fellow works on; what is not seen of the lost one blames nobody."""
    now_s = time.time()
    told = [
        replace(
            one,
            devices=(one.devices[0], replace(one.devices[1], state="lost", busy_share=None, programs=None)),
        )
        for one in ticks({}, until_s=now_s - 5)
    ]
    found = diagnose(since_s=3600, history=history(tmp_path, *told))
    assert found.diagnosis.devices == (0,)
    assert [one.cause.name for one in found.diagnosis.bounds] == ["compute"]


def test_more_of_the_same_time_changes_nothing(tmp_path):
    now_s = time.time()
    few, many = (
        diagnose(
            since_s=3600,
            history=str(
                fill(
                    tmp_path / f"{count}.db",
                    ticks(STARVED, {"cpu_share": 0.97}, until_s=now_s - 5, count=count),
                )
            ),
        )
        for count in (20, 120)
    )
    first, second = ([(b.cause.name, round(b.share, 6)) for b in one.diagnosis.bounds] for one in (few, many))
    assert first == second


def test_a_card_held_by_its_power_brake_is_the_answer_whatever_share_it_has(tmp_path, monkeypatch):
    """870 MHz beside 1,980: seven cards compute, and the one that is braked is what to mend."""
    cards = [
        Device(index=n, vendor="nvidia", name="NVIDIA H100 80GB HBM3", clocks=Clocks(sm_max_hz=1980e6))
        for n in range(8)
    ]
    on = Machine(devices=tuple(cards))
    monkeypatch.setattr("rigright.verbs.diagnose.probe", lambda _: on)
    told = [
        replace(
            one,
            devices=tuple(
                replace(card, sm_hz=870e6, slowed_by=("hw_slowdown", "hw_power_brake"))
                if card.index == 1
                else replace(card, sm_hz=1980e6)
                for card in one.devices
            ),
        )
        for one in ticks({"busy_share": 1.0}, cards=8, until_s=time.time() - 5)
    ]
    found = diagnose(since_s=3600, history=history(tmp_path, *told))
    assert found.judgement.lead.check == "gpu_throttled"
    assert "gpu 1" in str(pages.verdict(found))
    assert "870 of 1,980 MHz" in shown(found)
    # and upgrade begins with the same
    result = upgraded(case_of(on), diagnosed=found)
    assert "gpu 1" in str(upgrade_pages.page(result).title)
    assert "bf16" not in str(pages.verdict(found))


def test_full_cores_are_not_told_to_take_more_processes(tmp_path):
    """All cores at 100 % while the disk is busy too: more workers are no help, and nobody says so."""
    full = {"cpu_share": 0.99, "busiest_core_share": 1.0, "disk_busy_share": 1.0, "io_pressure": 0.5}
    found = diagnose(since_s=3600, history=history(tmp_path, *ticks(STARVED, full, until_s=time.time() - 5)))
    assert "cores" in found.diagnosis.full
    assert "num_workers" not in shown(found)
    advised = [str(one.change.title) for one in upgraded(case_of(Machine()), diagnosed=found).changes]
    assert not [one for one in advised if "DataLoader" in one]
    free = full | {"cpu_share": 0.2}
    (tmp_path / "b").mkdir()
    other = history(tmp_path / "b", *ticks(STARVED, free, until_s=time.time() - 5))
    again = diagnose(since_s=3600, history=other)
    assert "cores" not in again.diagnosis.full
    bound = again.diagnosis.bounds[0]
    more = [step for step in bound.cause.remedies if "cores" in step.takes]
    assert more, "more workers"
    assert set(more) <= set(again.judgement.steps(bound))
    assert not set(more) & set(found.judgement.steps(found.diagnosis.bounds[0]))


def test_one_moment_of_a_file_is_never_a_share_of_the_time():
    """A snapshot shows how busy a card was: for how long, and what it would gain, nobody knows."""
    card = Device(index=0, vendor="nvidia", name="NVIDIA H100 80GB HBM3", state="ok", busy_share=0.99)
    found = in_file(case_of(Machine(devices=(card,), origin="smi.txt", read_as=("nvidia-smi",))))
    shown = text.render(pages.page(found), Screen())
    assert "99%" in str(pages.verdict(found))
    assert "smi.txt" in shown
    assert set(re.findall(r"\d+ ?%", shown)) == {"99%"}, "no share of a time"


def test_the_nodes_watts_stand_beside_those_of_its_cards(tmp_path):
    told = ticks(STARVED, until_s=time.time() - 5)
    found = diagnose(since_s=3600, history=history(tmp_path, *told))
    assert "3.2 kW" not in text.render(pages.page(found), Screen())
    power = NodePower(watts=3184.0, source="dcmi")
    shown = text.render(pages.page(replace(found, node_power=power)), Screen())
    assert "3.2 kW" in shown
    plain = pages.plain(replace(found, node_power=power), "en")
    assert json.loads(dumps(plain, "en"))["node_power"]["watts"] == 3184
