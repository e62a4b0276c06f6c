"""The machine's verbs as whole processes: broken off, on full disks, into pipes that close, as nobody."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from desk import kept, machine

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the played driver needs Linux")
WAIT_S = 60
LITTLE = 4096  # bytes that a file may have on a disk that is full


@pytest.fixture
def start(tmp_path):
    """start("watch --json", scene="healthy_2x4090"): a process on a played machine; always ended."""
    running = []

    def starting(line, scene="healthy_2x4090", **more):
        env = {**os.environ, **machine(scene).env, "RIGRIGHT_HOME": str(tmp_path / "home"), "LC_ALL": "C"}
        env["PYTHONDONTWRITEBYTECODE"] = "1"  # Python would keep half a file
        env["PATH"] += os.pathsep + os.environ["PATH"]
        process = subprocess.Popen(
            [sys.executable, "-m", "rigright", *shlex.split(line.format(folder=tmp_path))],
            env={**env, **more.pop("env", {})}, cwd=tmp_path, stdin=subprocess.DEVNULL,
            stdout=more.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE, **more,
        )  # fmt: skip
        running.append(process)
        return process

    yield starting
    for one in running:
        if one.poll() is None:
            one.kill()
        one.communicate()


def heard(process):
    out, err = process.communicate(timeout=WAIT_S)
    assert b"Traceback" not in (out or b"") + err
    assert b"bug in rigright" not in err
    return process.returncode, (out or b"").decode(), err.decode()


def after(seconds):
    time.sleep(seconds)


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("watch --json --every 100ms", {0}),
        ("watch --serve 127.0.0.1:0 --every 100ms", {0, 2}),
        ("diagnose --for 30s", {130, 0}),
        ("bench ram memmap --time 60s --no-history", {130}),
        ("bench --listen", {130, 0}),
        ("measure -- sleep 30", {128 + signal.SIGINT}),
    ],
)
def test_ctrl_c_ends_it_at_once_and_quietly(start, line, codes):
    process = start(line)
    after(2.5)
    process.send_signal(signal.SIGINT)
    began_s = time.monotonic()
    code, _, err = heard(process)
    assert code in codes | {-signal.SIGINT}
    assert time.monotonic() - began_s < WAIT_S / 2
    assert err.count("\n") <= 2 or line.startswith("measure"), "only `measure` has something to tell"


def test_what_was_measured_until_ctrl_c_is_kept(start, tmp_path):
    process = start("bench ram memmap preprocess --time 60s --save {folder}/b.json --json")
    after(6)
    process.send_signal(signal.SIGINT)
    code, out, _ = heard(process)
    told = json.loads(out)
    assert (code, told["stopped"]) == (130, True)
    assert told["skipped"]
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
    process = start(line, env={"PYTHONUNBUFFERED": "1"})
    process.stdout.read(10)
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(WAIT_S) in {0, 10, 20, 141}
    assert b"Traceback" not in err
    assert b"Exception ignored" not in err


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
    (tmp_path / "box.json").write_text(kept("healthy_8xh100"))
    (tmp_path / "out").mkdir()
    code, _, err = heard(start(line, preexec_fn=little_disk))
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
    code, out, err = heard(start("watch --json --every 100ms --for 1s"))
    assert code == 0
    told = [json.loads(line) for line in out.splitlines()]
    assert len(told) >= 3
    assert any(told[0]["notes"]) or err
    bench = heard(start("bench ram --quick --time 60s --json"))
    assert bench[0] == 0
    assert any("history" in note for note in json.loads(bench[1])["notes"])


def test_a_history_on_a_full_disk_does_not_end_the_watch(start):
    code, out, _ = heard(start("watch --json --every 100ms --for 1s", preexec_fn=little_disk))
    assert code == 0
    assert len(out.splitlines()) >= 3


def test_as_nobody_it_says_what_root_would_see(start, tmp_path):
    tmp_path.chmod(0o755)
    nobody = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
    try:
        process = start("doctor --json", scene="half_denied", **nobody)
    except PermissionError:
        pytest.skip("this Python may not be run by others")
    code, out, _ = heard(process)
    told = json.loads(out)
    assert code in {0, 10}
    assert any(one["see"] and "sudo" in one["see"] for one in told["not_observed"])


@pytest.mark.parametrize("scene", ["hung_driver", "hung", "aborts"])
def test_a_bad_driver_costs_its_patience_and_not_the_answer(start, scene):
    code, out, err = heard(start("probe --json", scene=scene))
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["cpu"]["threads"]
    assert told["unseen"] or any(one["state"] != "ok" for one in told["devices"])


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1"])
def test_any_locale_does(start, tmp_path, locale):
    (tmp_path / "box.json").write_text(kept("mig"))
    line = "doctor --from {folder}/box.json"
    for language in ("en", "zh"):
        code, out, err = heard(start(f"{line} --lang {language}", env={"LC_ALL": locale, "LANG": locale}))
        assert code in {0, 10, 20}
        assert (err, bool(out.strip())) == ("", True)


OF_THE_MACHINE = (
    "probe", "doctor.frame", "setup.frame", "measure.frame", "bench.frame", "watch.frame", "history.frame",
    "diagnose", "fleet.frame", "export",
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
        "import sys, rigright.verbs.upgrade.frame as frame, rigright.report.pages.upgrade\n"
        "from rigright.base import shelf\n"
        "assert shelf.load(frame.CHANGES, 'propose')\n"
        "print('numpy' in sys.modules)"
    )
    assert left_over(code) == "False\n"


def test_a_measured_command_waits_for_nothing_that_only_its_page_needs():
    needless = "{'rigright.base.page', 'rigright.report.pages.measure', 'rigright.machine.host', 'numpy'}"
    code = (
        "import sys, rigright.faces.cli.main, rigright.faces.cli.asks.measure, rigright.verbs.measure.frame\n"
        f"print(*{needless} & set(sys.modules))"
    )
    assert left_over(code) == "\n"


def test_the_page_of_a_measurement_is_loaded_while_the_command_runs():
    """Played by a measurement that ends when the page and its renderer are there, and not before."""
    code = (
        "import sys, time\n"
        "from rigright.faces.cli.main import main\n"
        "from rigright.verbs.measure import frame\n"
        "wanted = {'rigright.report.pages.measure', 'rigright.report.formats.text'}\n"
        "def measure(*_, **__):\n"
        "    until_s = time.monotonic() + 30\n"
        "    while not wanted <= set(sys.modules) and time.monotonic() < until_s:\n"
        "        time.sleep(0.01)\n"
        "    print(wanted <= set(sys.modules))\n"
        "    raise SystemExit\n"
        "frame.measure = measure\n"
        "main(['measure', '--', 'true'])"
    )
    assert left_over(code) == "True\n"
