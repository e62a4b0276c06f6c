"""The loop on a played machine: probe, save, examine elsewhere, plan, watch, diagnose, upgrade, export."""

from __future__ import annotations

import json
import re
import tarfile
import time
from pathlib import Path

import pytest

from desk import STARVED, Desk, fill, machine, probed, result, ticks
from rigright.base.units import GIB, MEGA
from rigright.machine.probe import probe as read_all
from rigright.verbs import probe as probing


@pytest.fixture
def desk(monkeypatch, capsys, tmp_path):
    return Desk(monkeypatch, capsys, tmp_path)


@pytest.fixture
def read_once(monkeypatch):
    """Whoever asks again is told of the machine as it was read the first time."""
    kept = {}

    def reading(world):
        place = (world.root, tuple(sorted(world.env.items())))
        if place not in kept:
            kept[place] = read_all(world)
        return kept[place]

    monkeypatch.setattr(probing, "read_all", reading)


def found(said):
    """What the doctor found: check, severity and what it is about."""
    return sorted({(one["check"], one["severity"], one["about"]) for one in said.data["findings"]}, key=str)


@pytest.mark.parametrize("name", ["row_remap_pending", "mig", "gb10"])
def test_a_machine_is_the_same_from_its_file_wherever_it_is_examined(desk, name):
    """Somebody saves the broken machine; somebody else, on a laptop without a card, sees what is wrong."""
    there = desk.sit(name).ask("doctor --json")
    assert desk.ask("probe --save {folder}/box.json").code == 0
    desk.leave()
    here = desk.ask("doctor --from {folder}/box.json --json")
    lasting = [one for one in found(there) if one[0] != "gpu_answers"]
    assert [one for one in found(here) if one[0] != "gpu_answers"] == lasting
    assert here.code == there.code
    assert here.data["origin"].endswith("box.json")


def test_a_bundle_tells_what_is_wrong_and_nothing_of_whose_it_is(desk):
    """Serials, addresses and names stay at home; the fault, the cards and the links do not."""
    desk.sit("row_remap_pending")
    assert desk.ask("probe --bundle {folder}/box.tar.gz").code == 0
    desk.leave()
    told = desk.ask("doctor --from {folder}/box.tar.gz --json")
    assert {about for check, _, about in found(told) if check == "rows_remapped"} == {"gpu 7"}
    with tarfile.open(desk.folder / "box.tar.gz") as archive:
        texts = [archive.extractfile(one).read() for one in archive if one.isfile()]
    whole = b"\n".join(texts)
    for secret in (b"1653023000", b"GPU-5a0c1e00-0000-4000-8000-000000000007"):
        assert secret not in whole
    assert b"H100" in whole


def test_what_a_machine_can_run_is_planned_from_its_file(desk):
    """--on FILE plans with the memory that is free there, not with what the cards have."""
    desk.saved("idle_4090"), desk.saved("healthy_2x4090")
    plan = desk.ask("plan llama-3.1-8b --on {folder}/idle_4090.json --json")
    assert plan.code == 0
    assert plan.data["plans"], "an idle 4090 holds an 8B model"
    assert plan.data["plans"][0]["chip"] == "rtx-4090"
    full = desk.ask("plan llama-3.1-8b --on {folder}/healthy_2x4090.json --json")
    assert full.data["plans"] == [] or full.data["plans"][0]["figures"] != plan.data["plans"][0]["figures"]
    explained = desk.ask("explain llama-3.1-8b --on {folder}/idle_4090.json --context 2048 --json")
    assert explained.code == 0


def test_a_plan_made_elsewhere_is_held_against_the_machine_that_was_bought(desk):
    """Planned: eight H100. Delivered: one of eight is missing, and the doctor says it vs plan."""
    plan = desk.ask("plan llama-3.1-70b --on '8x h100' --users 8 --json")
    (desk.folder / "plan.json").write_text(plan.out, encoding="utf-8")
    desk.saved("one_of_eight_missing"), desk.saved("healthy_8xh100")
    asked = "doctor --for '8x h100' --only accelerators --json --from {folder}/"
    right = desk.ask(asked + "healthy_8xh100.json")
    short = desk.ask(asked + "one_of_eight_missing.json")
    new = {one["check"] for one in short.data["findings"]} - {one["check"] for one in right.data["findings"]}
    assert new, "a card fewer than planned is a finding"
    held = desk.ask("doctor --from {folder}/healthy_8xh100.json --for {folder}/plan.json --json")
    assert held.data["wanted"]["engine"].startswith("vllm")


CAUSES = {
    "disk": (STARVED, {"disk_busy_share": 0.99, "io_pressure": 0.4}),
    "cores": (STARVED, {"cpu_share": 0.98, "busiest_core_share": 1.0}),
    "one_thread": (STARVED, {"cpu_share": 0.1, "busiest_core_share": 1.0}),
    "main_memory": (STARVED, {"swap_bytes_per_s": 80.0 * MEGA, "disk_busy_share": 1.0}),
    "power": ({"slowed_by": ("sw_power_cap",)}, {}),
    "cooling": ({"slowed_by": ("sw_thermal",), "gpu_c": 88.0}, {}),
    "gpu_memory": ({"mem_busy_share": 0.92}, {}),
    "small_kernels": ({"power_w": 160.0, "mem_busy_share": 0.1}, {}),
    "compute": ({}, {}),
}


@pytest.mark.usefixtures("read_once")
def test_what_bound_the_machine_last_night_is_read_from_its_history(desk):
    desk.sit("healthy_8xh100")
    for cause, (card, host) in CAUSES.items():
        file = desk.folder / f"{cause}.db"
        fill(file, ticks(card, host, until_s=time.time() - 60), on=probed("healthy_8xh100"))
        told = desk.ask(f"diagnose --since 1h --history {file} --json").data
        assert told["bounds"][0]["cause"] == cause
        assert sum(one["share"] for one in told["bounds"]) == pytest.approx(1.0, abs=0.04), cause
        assert told["bounds"][0]["remedies"], cause
        assert told["moments"] == 30, cause
    page = desk.ask(f"diagnose --since 1h --history {file}")
    assert told["verdict"] in page.flat


def test_an_evening_of_two_phases_is_told_as_two(desk):
    """Half the time it loaded from disk, half the time it computed: neither hides the other."""
    now_s = time.time()
    loading = ticks(STARVED | {"busy_share": 0.0}, {"disk_busy_share": 1.0}, until_s=now_s - 90, count=20)
    working = ticks({}, {}, until_s=now_s - 10, count=20)
    file = fill(desk.folder / "two.db", [*loading, *working], on=probed("healthy_8xh100"))
    told = desk.sit("healthy_8xh100").ask(f"diagnose --since 1h --history {file} --json").data
    shares = {one["cause"]: one["share"] for one in told["bounds"]}
    assert shares["disk"] == pytest.approx(0.5, abs=0.1)
    assert shares["compute"] == pytest.approx(0.5, abs=0.1)


def test_a_benchmark_that_fell_is_told_with_what_it_was(desk):
    now_s = time.time()
    old = [result(7e14, at_s=now_s - 9e5), result(7.1e14, at_s=now_s - 8e5), result(4e14, at_s=now_s - 100)]
    file = fill(
        desk.folder / "home" / "history.db",
        ticks(until_s=now_s - 10),
        results=old,
        on=probed("healthy_8xh100"),
    )
    told = desk.sit("healthy_8xh100").ask(f"diagnose --since 1h --history {file} --json").data
    (drift,) = told["drifts"]
    assert (drift["first"], drift["now"]) == (7e14, 4e14)
    listed = desk.ask("history --since all --of bench --json").data["results"]
    assert [one["value"] for one in listed] == [7e14, 7.1e14, 4e14]


def test_an_upgrade_helps_what_binds_and_fits_the_budget(desk):
    """What helps disks is offered where disks bind, and not elsewhere; a budget leaves dear ones out."""
    desk.saved("healthy_2x4090")
    line = "upgrade --from {folder}/healthy_2x4090.json --json --bound"
    disks = desk.ask(f"{line} disk=90%").data
    assert all("disk" in one["helps"] for one in disks["changes"])
    compute = desk.ask(f"{line} compute=100%").data
    assert not any("disk" in one["helps"] and len(one["helps"]) == 1 for one in compute["changes"])
    poor = desk.ask(f"{line} disk=90% --budget $50").data
    dear = [one for one in disks["changes"] if one["usd"] and one["usd"]["value"] > 50]
    assert poor["over_budget"] >= len(dear) > 0
    assert all(not one["usd"] or one["usd"]["value"] <= 50 for one in poor["changes"])
    many = desk.ask(f"{line} disk=90% --machines 200").data
    assert many["waves"][0]["first"] == 1
    assert many["waves"][-1]["last"] == 200
    for one in disks["changes"]:
        assert 1.0 < one["gain"] <= 1 / (1 - 0.9) + 1e-9, "Amdahl's law is a bound"


def test_watched_kept_and_exported(desk):
    """A watch of some seconds fills the history; what exports name is what the watch serves."""
    desk.sit("throttled")
    watched = desk.ask("watch --every 200ms --for 1s --json")
    assert watched.code == 0
    told = desk.ask("history --since 1h --json").data
    assert told["span"]["n_moments"] == len(watched.out.splitlines()) > 0
    assert {one["card"] for one in told["span"]["cards"]} >= {"gpu0", "gpu1"}
    assert desk.ask("export prometheus --out {folder}/mon").code == 0
    assert desk.ask("export alerts --out {folder}/mon").code == 2, "what lies there is not written over"
    names = set(re.findall(r"rigright_\w+", (desk.folder / "mon" / "rigright-alerts.yml").read_text()))
    assert names
    manual = (Path(__file__).parent.parent.parent / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert {name for name in names if name not in manual} == set()


def test_fixes_are_a_script_in_which_nothing_runs(desk):
    desk.saved("mismatch")
    said = desk.ask("doctor --from {folder}/mismatch.json --fix-script {folder}/fix.sh")
    assert said.code == 20
    lines = (desk.folder / "fix.sh").read_text(encoding="utf-8").splitlines()
    acting = [line for line in lines if line.strip() and not line.startswith("#")]
    assert acting == ["set -euo pipefail"]
    assert any("reboot" in line for line in lines)


def test_odd_machines_are_shown_set_up_and_upgraded(desk):
    """No driver, slices, one memory for all, a card that is gone: each verb says something of each."""
    for name in ("mismatch", "mig", "gb10", "lost_gpu", "not_loaded"):
        desk.saved(name)
        for line, codes in {
            "probe --from {folder}/%s.json": {0},
            "setup --from {folder}/%s.json": {0, 2},
            "upgrade --from {folder}/%s.json --bound compute": {0, 10, 20},
        }.items():
            said = desk.ask(line % name)
            assert said.code in codes, (line, name, said.err)
            assert (said.out or said.err).strip(), (line, name)


@pytest.mark.usefixtures("read_once")
def test_a_machine_without_a_card_is_no_error(desk):
    """A laptop: what cannot be is not missed, what needs a card says so."""
    desk.leave()
    probe = desk.ask("probe --json")
    assert probe.code == 0
    assert probe.data["devices"] == []
    assert desk.ask("doctor --json").code in {0, 10, 20}
    assert desk.ask("watch --once").code == 0
    assert desk.ask("setup").code in {0, 2}
    for line in ("fit", "plan llama-3.1-8b"):
        said = desk.ask(line)
        assert said.code in {0, 2}
        assert "Traceback" not in said.err


def test_a_user_who_may_not_look_is_told_what_root_would_see(desk):
    """Unknown is said as unknown, with the command that would show it; it is no zero and no alarm."""
    said = desk.sit("half_denied").ask("probe --json").data
    assert all(one["power"]["energy_j"] is None for one in said["devices"])
    unseen = {one["what"]: one["see"] for one in said["unseen"]}
    assert any("programs" in what for what in unseen)
    examined = desk.ask("doctor --json").data
    assert examined["not_observed"]
    assert not any(one["severity"] == "fault" for one in examined["findings"])


@pytest.mark.usefixtures("read_once")
@pytest.mark.parametrize(("name", "state"), [("lost_gpu", "lost"), ("hung", "hung")])
def test_one_bad_card_takes_no_other_card_with_it(desk, name, state):
    told = desk.sit(name).ask("probe --json").data
    states = [one["state"] for one in told["devices"]]
    assert states.count(state) == 1
    assert states.count("ok") == len(states) - 1
    bad = next(one for one in told["devices"] if one["state"] == state)
    assert bad["power"]["draw_w"] is None, "nothing is invented for it"
    assert desk.ask("doctor --json").code == 20


def test_slices_of_a_card_are_planned_as_slices_not_as_the_card(desk):
    told = desk.sit("mig").ask("probe --json").data
    assert [one["profile"] for one in told["devices"][0]["slices"]] == ["3g.40gb", "2g.20gb", "1g.10gb"]
    assert told["devices"][0]["slices"][0]["mem_total_bytes"] < 0.6 * told["devices"][0]["mem_total_bytes"]


def test_memory_that_is_shared_is_neither_zero_nor_missing(desk):
    """A GB10's driver tells no memory; the machine has one memory for both, and plans know it."""
    desk.saved("gb10")
    told = desk.ask("probe --from {folder}/gb10.json --json").data["devices"][0]
    assert told["mem_total_bytes"] is None or told["mem_total_bytes"] > 64 * GIB
    assert told["unified_memory"] is True
    fits = desk.ask("plan llama-3.1-8b --on {folder}/gb10.json --json")
    assert fits.code == 0
    assert fits.data["plans"][0]["chip"].endswith("gb10")
    alarms = desk.ask("doctor --from {folder}/gb10.json --only links,bus --json").data
    assert [one for one in alarms["findings"] if one["severity"] != "note"] == []


def test_a_fleet_of_files_finds_the_node_that_differs(desk):
    """Three nodes alike and one with a card missing: it is named, the worst first."""
    nodes = desk.folder / "nodes"
    nodes.mkdir()
    for n in range(4):
        told = json.loads(desk.saved("one_of_eight_missing" if n == 2 else "healthy_8xh100").read_text())
        told["system"]["host"] = f"n{n}"
        (nodes / f"n{n}.json").write_text(json.dumps(told), encoding="utf-8")
    said = desk.ask("fleet doctor --from {folder}/nodes --json")
    assert said.code == 20
    worst = [one["node"] for one in said.data["nodes"] if one["state"] == "fault"]
    assert worst == ["n2"]
    page = desk.ask("fleet doctor --from {folder}/nodes").out
    assert page.index("n2") < page.index("n[0-1,3]"), "what differs stands first"
    assert any(one["others"][0]["nodes"] == ["n2"] for one in said.data["differs"])


def test_a_bench_without_torch_measures_what_needs_none_and_says_what_it_left(desk):
    desk.sit("idle_4090")
    said = desk.ask("bench memmap gemm --quick --time 3s --save {folder}/b.json --json")
    assert said.code == 0
    assert {one["part"] for one in said.data["results"]} == {"memmap"}
    assert {one["part"] for one in said.data["skipped"]} == {"gemm"}
    again = desk.ask("bench --from {folder}/b.json --json").data
    assert [one["value"] for one in again["results"]] == [one["value"] for one in said.data["results"]]
    kept = desk.ask("history --since 1h --of bench --json").data["results"]
    assert len(kept) == len(said.data["results"])


@pytest.mark.usefixtures("read_once")
def test_the_machine_is_not_touched_by_looking_at_it(desk):
    """probe, doctor, setup and look-ups write nothing into the machine they read."""
    root = machine("healthy_2x4090").root
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}
    desk.sit("healthy_2x4090")
    for line in ("probe", "doctor", "setup", "watch --once", "fleet health"):
        desk.ask(line)
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()} == before
    assert not (desk.folder / "home").exists(), "and keep no history nobody asked for"
