"""A command beside a played driver: whose memory it was, what was drawn, what went wrong in the midst."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time

import pytest

from fake_driver import Driver
from rigright.base.units import GIB
from rigright.faces.cli.main import main

pytestmark = [
    pytest.mark.live,  # a real command, real seconds and shares of them
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the played driver needs Linux"),
]
WAIT_S = 30
WAITS = "import os, sys; print(os.getpid(), flush=True); sys.stdin.readline(); {then}"


class Run:
    """A command under measure that waits until it is told to go on."""

    def __init__(self, driver, folder, options="", then="pass"):
        self.driver, self.folder = driver, folder
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "rigright", "measure", "--every", "50ms", "--json"),
                *shlex.split(options), "--", sys.executable, "-c", WAITS.format(then=then),
            ],
            env={**os.environ, **driver.env, "LC_ALL": "C.UTF-8"}, cwd=folder,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.pid = int(self.process.stderr.readline())

    def holds(self, index, size, pid=None):
        """From now on the driver says that the command holds memory of a device."""
        told = self.driver.table["each"].get("memory")  # a driver that tells memory tells that some was taken
        used = {} if told is None else {"memory__used": told["used"] + int(size)}
        self.driver.change(index, programs=[{"pid": pid or self.pid, "mem": int(size)}], **used)

    def rest(self, seconds=0.5):
        time.sleep(seconds)
        return self

    def done(self):
        """Go on, and hear what it took."""
        out, err = self.process.communicate("\n", timeout=WAIT_S)
        return json.loads(out), err, self.process.returncode  # the answer alone is on stdout


@pytest.fixture
def run(tmp_path):
    """run("healthy_2x4090", "--steps 4"): started, and ended whatever happens."""
    runs = []

    def running(scenario, options="", then="pass"):
        runs.append(Run(Driver.play(scenario, tmp_path), tmp_path, options, then=then))
        return runs[-1]

    yield running
    for one in runs:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


def course(told, name):
    return next(one for one in told["courses"] if one["name"] == name)


def test_memory_is_of_the_commands_own_program_and_not_of_others_on_the_card(run):
    """Somebody else's 18 GiB were there before and stay out of it."""
    going = run("healthy_2x4090")
    going.holds(1, 5 * GIB)
    told, _, code = going.rest().done()
    assert code == 0
    assert told["gpu_peak_bytes"] == {"1": 5 * GIB}
    assert told["chips"] == ["NVIDIA GeForce RTX 4090"]
    assert any("busy before" in note for note in told["notes"])


def test_energy_is_what_the_counter_says(run):
    """The played counter grows by 331 W; what was drawn before the start is not the command's."""
    going = run("healthy_2x4090")
    going.holds(0, GIB)
    told, _, _ = going.rest(1.0).done()
    watts = told["energy_j"]["0"] / told["lasted_s"]
    assert watts == pytest.approx(331, rel=0.35)
    assert told["energy_j"]["0"] < 331 * (told["lasted_s"] + 4)


def test_what_held_a_card_back_is_told_in_seconds(run):
    going = run("throttled")
    going.rest()
    told, _, _ = going.done()
    slowed = set(told["slowed_s"])
    assert slowed
    assert all(key.startswith("gpu ") and not key.endswith("idle") for key in slowed)
    assert all(0 < seconds <= told["lasted_s"] + 4 for seconds in told["slowed_s"].values())


def test_a_card_lost_in_the_midst_costs_its_readings_and_not_the_command(run):
    going = run("healthy_8xh100")
    going.holds(1, 40 * GIB)
    going.rest()
    going.driver.change(1, all="!15")
    going.rest()
    told, out, code = going.done()
    assert (code, out) == (0, "")
    assert told["gpu_peak_bytes"]["1"] == 40 * GIB
    busy = course(told, "gpu 1 busy")["values"]
    assert busy[0] is not None
    assert busy[-1] is None, "after its loss nothing is known of it, and that is no zero"


def test_a_driver_that_hangs_in_the_midst_does_not_hold_the_command_up(run):
    going = run("healthy_2x4090", then="print('end', flush=True)")
    going.holds(0, GIB)
    going.rest()
    going.driver.change(0, all="!hang")
    told, out, code = going.rest().done()
    assert (code, out) == (0, "end\n")
    assert told["gpu_peak_bytes"]["0"] == GIB
    assert told["lasted_s"] < 10


@pytest.mark.parametrize("scenario", ["hung_driver", "not_loaded", "mismatch"])
def test_a_driver_that_never_worked_is_no_hindrance(run, scenario):
    told, out, code = run(scenario, then="print('end', flush=True); sys.exit(3)").done()
    assert (code, out) == (3, "end\n")
    assert told["exit_code"] == 3
    assert told["gpu_peak_bytes"] == {}
    assert told["energy_j"] == {}


def test_a_slice_and_shared_memory_are_told_as_far_as_they_are_seen(run):
    """A GB10's driver does not tell its memory; that of the program it does."""
    going = run("gb10")
    going.holds(0, 20 * GIB)
    told, _, _ = going.rest().done()
    assert told["gpu_peak_bytes"] == {"0": 20 * GIB}
    assert [one["name"] for one in told["courses"] if one["name"] == "gpu 0 memory"] == []


def test_a_user_who_may_not_see_programs_gets_what_the_card_gained(run):
    going = run("half_denied")
    going.rest(0.2)
    going.driver.change(1, memory={"total": 25757220864, "used": 24327352832, "reserved": 462422016})
    told, _, _ = going.rest().done()
    assert told["gpu_peak_bytes"]["1"] == pytest.approx(5_000_000_000, rel=0.01)
    assert course(told, "gpu 1 memory")["before"] == pytest.approx(19327352832, rel=0.03)


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """What `plan --json` prints for a model on these cards."""
    file = tmp_path_factory.mktemp("plan") / "plan.json"
    ask = "plan llama-3.1-8b --on '2x 4090' --users 4 --json"
    done = subprocess.run(
        [sys.executable, "-m", "rigright", *shlex.split(ask)],
        check=True, capture_output=True,
    )  # fmt: skip
    file.write_bytes(done.stdout)
    return file


@pytest.mark.parametrize(("share", "inside"), [(1.0, True), (0.5, False)])
def test_a_plan_is_held_against_what_was_measured(run, plan, share, inside):
    """The plan's engine fills its share of the card at once: that is what the driver will show."""
    best = json.loads(plan.read_text())["plans"][0]
    filled = best["rank_bytes"]["value"] + best["memory"][0]["unused"]
    going = run("healthy_2x4090", f"--plan {plan} --tokens 1000")
    going.holds(0, filled * share)
    told, _, _ = going.rest().done()
    memory, speed = told["held"]
    assert (memory["name"], memory["inside"]) == ("memory", inside)
    assert memory["measured"] == pytest.approx(filled * share, rel=1e-6)
    assert memory["planned"] == pytest.approx(filled)
    assert memory["low"] <= filled <= memory["high"] < 1.3 * filled
    assert speed["measured"] == pytest.approx(1000 / told["lasted_s"])


def test_a_run_saved_as_a_table_is_what_validate_reads_and_its_prediction_is_the_plans(
    run, plan, tmp_path, capsys
):
    """The same engine, version, card and lengths: else a run would be held against another question."""
    best = json.loads(plan.read_text())["plans"][0]
    filled = best["rank_bytes"]["value"] + best["memory"][0]["unused"]
    for n in range(2):
        going = run("healthy_2x4090", f"--plan {plan} --save runs.csv")
        going.holds(0, filled * (1 - n / 10))
        told, _, code = going.rest().done()
        assert code == 0
        assert not any("not saved" in note for note in told["notes"]), told["notes"]
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 3, "one head, and a line for each run"
    assert main(["validate", str(tmp_path / "runs.csv"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    first, second = (row["predictions"][0] for row in rows)
    assert [one["measured"] for one in (first, second)] == [
        pytest.approx(filled * share / GIB, rel=1e-3) for share in (1.0, 0.9)
    ]
    assert first["predicted"] == second["predicted"] == pytest.approx(filled / GIB, rel=0.02)
    assert first["why"] in {None, ""}


def test_a_table_of_something_else_is_left_as_it_is(run, plan, tmp_path):
    (tmp_path / "runs.csv").write_text("a,b\n1,2\n")
    going = run("healthy_2x4090", f"--plan {plan} --save runs.csv")
    going.holds(0, GIB)
    told, _, code = going.rest().done()
    assert code == 0, "the command's own end stays its own"
    assert any("not saved" in note for note in told["notes"])
    assert (tmp_path / "runs.csv").read_text() == "a,b\n1,2\n"


def test_a_command_that_used_no_card_makes_no_run_of_a_table(run, plan, tmp_path):
    told, _, code = run("idle_4090", f"--plan {plan} --save runs.csv").done()
    assert code == 0
    assert any("not saved" in note for note in told["notes"])
    assert not (tmp_path / "runs.csv").exists()


def test_programs_that_the_command_starts_count_too(run):
    """A launcher's workers hold the memory; their parent holds none."""
    worker = "import os; print(os.getpid(), flush=True); input()"
    then = f"import subprocess; subprocess.run([sys.executable, '-c', {worker!r}])"
    going = run("healthy_2x4090", then=then)
    going.process.stdin.write("\n")
    going.process.stdin.flush()
    worker = int(going.process.stderr.readline())
    going.holds(0, 3 * GIB, pid=worker)
    told, _, _ = going.rest().done()
    assert told["gpu_peak_bytes"] == {"0": 3 * GIB}


def test_a_driver_that_wakes_slowly_does_not_keep_the_command_waiting(run):
    """The command runs, and what its programs hold is told whole; that the look came late is said."""
    going = run({"like": "healthy_2x4090", "init": "@1.5 ok"})
    going.holds(0, 5 * GIB)
    told, _, _ = going.rest(4).done()
    assert 0.5 < told["first_look_s"] < told["lasted_s"]
    assert told["gpu_peak_bytes"]["0"] == 5 * GIB
    assert any("first seen" in note for note in told["notes"])
