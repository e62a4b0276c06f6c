"""The machine's verbs as programs: broken off, on full disks, into pipes that close, as nobody."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
from contextlib import ExitStack

import pytest

from desk import kept, machine
from programs import PATIENCE_S, Bell, Program
from rigright.faces.cli.asks import bench, diagnose

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the played driver needs Linux")
LITTLE = 4096  # bytes that a file may have on a disk that is full
ENDED = {130, -signal.SIGINT}


@pytest.fixture
def start(tmp_path):
    """start("watch --json", scene="healthy_2x4090"): a program on a played machine; always ended."""

    def starting(line, scene="healthy_2x4090", *, env=(), **more):
        played = {**os.environ, **machine(scene).env, "RIGRIGHT_HOME": str(tmp_path / "home"), "LC_ALL": "C"}
        played["PATH"] += os.pathsep + os.environ["PATH"]
        words = shlex.split(line.format(folder=tmp_path))
        return running.enter_context(Program(*words, env={**played, **dict(env)}, cwd=tmp_path, **more))

    with ExitStack() as running:
        yield starting


@pytest.fixture
def bell():
    with Bell() as made:
        yield made


def heard(process):
    code, out, err = process.heard()
    assert "Traceback" not in out + err
    assert "bug in rigright" not in err
    return code, out, err


def pressed(process):
    process.send_signal(signal.SIGINT)
    return heard(process)


def test_ctrl_c_ends_a_watch_quietly(start):
    process = start("watch --json --every 100ms --no-history")
    assert process.stdout.readline().startswith(b"{")
    code, out, err = pressed(process)
    assert code in {0, *ENDED}
    assert err.count("\n") <= 1, "that a log cannot be read"
    assert all(json.loads(line) for line in out.splitlines())


@pytest.mark.parametrize("line", ["watch --serve 127.0.0.1:0 --every 100ms --no-history", "bench --listen"])
def test_ctrl_c_ends_what_listens(start, line):
    process = start(line)
    assert b"127.0.0.1:" in process.stderr.readline()
    code, _, err = pressed(process)
    assert code in {0, *ENDED}
    assert err == ""


def test_ctrl_c_ends_a_diagnosis_quietly(start, bell):
    process = start("diagnose --for 10min", first=lambda: bell.at(diagnose, "show_progress"))
    bell.wait()
    code, _, err = pressed(process)
    assert (code in {0, *ENDED}, err) == (True, "")


def test_ctrl_c_is_for_the_measured_command(start):
    process = start("measure -- sh -c 'echo begun; exec sleep 600'")
    assert process.stdout.readline() == b"begun\n"
    assert pressed(process)[0] in {128 + signal.SIGINT, -signal.SIGINT}


def test_what_was_measured_until_ctrl_c_is_kept(start, bell, tmp_path):
    """Pressed in the second part."""
    line = "bench memmap network --quick --time 60s --save {folder}/b.json --json"
    process = start(line, first=lambda: bell.at(bench, "_progress"))
    bell.wait(2)
    code, out, err = pressed(process)
    told = json.loads(out)
    assert (code, told["stopped"], err) == (130, True, "")
    assert told["skipped"]
    assert told["results"]
    saved = json.loads((tmp_path / "b.json").read_text())
    assert [one["value"] for one in saved["results"]] == pytest.approx(
        [one["value"] for one in told["results"]], rel=1e-11
    )


def test_a_watch_that_is_killed_leaves_a_history_that_opens(start, tmp_path):
    process = start("watch --json --every 100ms")
    for _ in range(5):
        assert process.stdout.readline().startswith(b"{")
    process.kill()
    heard(process)
    with sqlite3.connect(tmp_path / "home" / "history.db") as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    file.close()
    code, out, _ = heard(start("history --since 1h --json"))
    assert code == 0
    assert json.loads(out)["span"]["n_moments"] >= 4


@pytest.mark.parametrize("line", ["probe", "doctor --all", "watch --json --every 200ms", "look-up checks"])
def test_a_reader_that_leaves_early_is_no_error(start, line):
    process = start(line)
    process.stdout.read(10)
    process.stdout.close()
    code, _, err = heard(process)
    assert code in {0, 10, 20, 141}
    assert "Exception ignored" not in err


def little_disk():
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LITTLE, LITTLE))


@pytest.mark.parametrize(
    "line",
    [
        "probe --from {folder}/box.json --save {folder}/out/x.json",
        "doctor --from {folder}/box.json --fix-script {folder}/out/x.sh",
        "setup --on '8x h100' --os 'ubuntu 24.04' --script {folder}/out/x.sh",
        "export alerts --out {folder}/out",
        "export grafana --out {folder}/out",
    ],
)
def test_a_full_disk_is_one_sentence_and_no_half_file(start, tmp_path, line):
    (tmp_path / "box.json").write_text(kept("healthy_2x4090"))
    (tmp_path / "out").mkdir()
    code, _, err = heard(start(line, first=little_disk))
    left = [path for path in (tmp_path / "out").iterdir() if path.stat().st_size >= LITTLE]
    if code in {0, 10, 20}:
        assert [path.stat().st_size < LITTLE for path in (tmp_path / "out").iterdir()] == [True]
        return
    assert code in {3, 5}
    assert err.count("\n") == 1
    assert left == []


def test_a_history_that_cannot_be_written_does_not_end_the_watch(start, tmp_path):
    """The folder of the history is a file: the watch goes on and says once that it keeps nothing."""
    (tmp_path / "home").write_text("x")
    process = start("watch --json --every 100ms")
    first, _ = (json.loads(process.stdout.readline()) for _ in range(2))
    code, _, err = pressed(process)
    assert code in {0, *ENDED}
    assert any(first["notes"]) or err
    code, out, _ = heard(start("bench memmap --quick --time 60s --json"))
    assert code == 0
    assert any("history" in note for note in json.loads(out)["notes"])


def test_a_history_on_a_full_disk_does_not_end_the_watch(start):
    process = start("watch --json --every 100ms", first=little_disk)
    assert all(json.loads(process.stdout.readline())["devices"] for _ in range(3))
    assert pressed(process)[0] in {0, *ENDED}


def test_as_nobody_it_says_what_root_would_see(start):
    """Who is root becomes another user, where this Python may be run by others."""
    if os.geteuid() == 0:
        try:
            subprocess.run([sys.executable, "-c", "import rigright"], user=65534, group=65534, check=True)
        except (PermissionError, subprocess.CalledProcessError):
            pytest.skip("this Python may not be run by others")
    code, out, _ = heard(start("doctor --json", scene="half_denied", first=nobody))
    told = json.loads(out)
    assert code in {0, 10}
    assert any(one["see"] and "sudo" in one["see"] for one in told["not_observed"])


def nobody():
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


@pytest.mark.parametrize("scene", ["hung_driver", "hung", "aborts"])
def test_a_bad_driver_costs_its_patience_and_not_the_answer(start, scene):
    code, out, err = heard(start("probe --json", scene=scene, env={"RIGRIGHT_PATIENCE": "0.5"}))
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["cpu"]["threads"]
    assert told["unseen"] or any(one["state"] != "ok" for one in told["devices"])


def test_a_locale_that_is_not_there_does(tmp_path):
    """As a program of its own, whose streams are as this locale says."""
    (tmp_path / "box.json").write_text(kept("healthy_2x4090"))
    env = {**os.environ, "LC_ALL": "en_US.ISO-8859-1", "RIGRIGHT_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "rigright", "doctor", "--from", "box.json", "--lang", "zh"],
        env=env, cwd=tmp_path, capture_output=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode in {0, 10, 20}
    assert (done.stderr, bool(done.stdout.strip())) == (b"", True)


OF_THE_MACHINE = (
    "probe", "doctor", "setup.verb", "measure.verb", "bench.verb", "watch.verb", "history",
    "diagnose", "fleet.verb", "export",
)  # fmt: skip


def test_verbs_of_the_machine_start_without_the_planners_arrays():
    """numpy costs as much as all else of a start; who only looks at a machine needs none of it."""
    names = ", ".join(f"rigright.verbs.{name}" for name in OF_THE_MACHINE)
    heavy = "{'numpy', 'psutil', 'torch'}"
    code = f"import sys, rigright.faces.cli.main, {names}; print(*{heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == ""


def left_over(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout


def test_upgrade_ranks_its_changes_without_the_planners_arrays():
    code = (
        "import sys, rigright.verbs.upgrade as verb, rigright.report.pages.upgrade\n"
        "from rigright.base import shelf\n"
        "assert shelf.load(verb.CHANGES, 'propose')\n"
        "print('numpy' in sys.modules)"
    )
    assert left_over(code) == "False\n"


def test_a_measured_command_waits_for_nothing_that_only_its_page_needs():
    needless = "{'rigright.base.page', 'rigright.report.pages.measure', 'rigright.machine.host', 'numpy'}"
    code = (
        "import sys, rigright.faces.cli.main, rigright.faces.cli.asks.measure, rigright.verbs.measure.verb\n"
        f"print(*{needless} & set(sys.modules))"
    )
    assert left_over(code) == "\n"


def test_the_page_of_a_measurement_is_loaded_while_the_command_runs():
    """Played by a measurement that ends when the page and its renderer are there, and not before."""
    code = (
        "import sys, time\n"
        "from rigright.faces.cli.main import main\n"
        "from rigright.verbs.measure import verb\n"
        "wanted = {'rigright.report.pages.measure', 'rigright.report.formats.text'}\n"
        "def measure(*_, **__):\n"
        "    until_s = time.monotonic() + 30\n"
        "    while not wanted <= set(sys.modules) and time.monotonic() < until_s:\n"
        "        time.sleep(0.01)\n"
        "    print(wanted <= set(sys.modules))\n"
        "    raise SystemExit\n"
        "verb.measure = measure\n"
        "main(['measure', '--', 'true'])"
    )
    assert left_over(code) == "True\n"
