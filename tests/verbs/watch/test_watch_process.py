"""`rigright watch` as a process on a played driver: it sees, keeps, serves, and ends cleanly."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import sys
import time
import urllib.request
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path

import pytest

from fake_driver import Driver
from programs import PATIENCE_S, Program, until
from rigright.machine.history.store import open_history

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the played driver needs Linux")


@pytest.fixture
def start(tmp_path):
    """Starts `rigright watch` beside a played driver; ends whatever is left."""

    def starting(line, driver=None, **more):
        env = {**os.environ, "RIGRIGHT_HOME": str(tmp_path / "home"), "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
        env |= driver.env if driver is not None else {"LD_LIBRARY_PATH": str(tmp_path)}
        return running.enter_context(Program("watch", *line.split(), env=env | more))

    with ExitStack() as running:
        yield starting


@pytest.fixture
def play(tmp_path):
    return lambda name: Driver.play(name, tmp_path)


def ticks(process, want, least=1):
    """Moments as --json tells them, until one is as wanted."""
    end_s = time.monotonic() + PATIENCE_S
    for n, line in enumerate(process.stdout):
        told = json.loads(line)
        if n + 1 >= least and want(told):
            return told
        assert time.monotonic() < end_s, f"never so: {line[:2000]}"
    raise AssertionError(process.heard().err)


def states(told):
    return [one["state"] for one in told["devices"]]


def ended(process, by=signal.SIGTERM):
    process.send_signal(by)
    return process.heard().code


def test_eight_cards_are_seen_kept_and_ended(start, play, tmp_path):
    process = start("--json --every 200ms", play("healthy_8xh100"))
    told = ticks(process, lambda one: states(one) == ["ok"] * 8, least=4)
    first = told["devices"][0]
    assert first["name"] == "NVIDIA H100 80GB HBM3"
    assert first["power_w"] > 100
    assert 0 <= told["host"]["cpu_share"] <= 1
    assert ended(process) == 0
    with open_history(tmp_path / "home" / "history.db", writes=False) as history:
        kept = list(history.ticks())
    assert len(kept) >= 4
    assert [one.uuid for one in kept[-1].devices] == [one["uuid"] for one in told["devices"]]


def test_a_card_that_is_lost_in_the_midst_is_told_of_and_the_rest_go_on(start, play):
    driver = play("healthy_8xh100")
    process = start("--json --every 200ms --no-history", driver)
    ticks(process, lambda one: states(one) == ["ok"] * 8)
    driver.change(3, all="!15")
    told = ticks(process, lambda one: states(one)[3] == "lost")
    assert states(told) == ["ok"] * 3 + ["lost"] + ["ok"] * 4
    assert told["devices"][3]["power_w"] is None
    assert ended(process) == 0


def test_a_driver_that_hangs_in_the_midst_is_told_of_in_time(start, play):
    driver = play("healthy_2x4090")
    process = start("--json --every 200ms --no-history", driver, RIGRIGHT_PATIENCE="0.3")
    ticks(process, lambda one: states(one) == ["ok"] * 2)
    driver.change(all="!hang")
    seen_s = []
    told = ticks(
        process,
        lambda one: (
            seen_s.append(one["at_s"]) or set(states(one)) <= {"hung", "stale"} or "hung" in states(one)
        ),
    )
    assert "ok" not in states(told)
    seen_s += [json.loads(process.stdout.readline())["at_s"] for _ in range(5)]
    assert all(after > before for before, after in pairwise(seen_s)), "the host was read all the time"
    assert ended(process) == 0


def test_without_a_driver_the_host_is_watched(start):
    process = start("--json --every 200ms --no-history")
    assert ticks(process, lambda one: one["host"]["mem_used_bytes"] > 0)["devices"] == []
    assert ended(process, signal.SIGINT) == 0


def test_killed_in_the_midst_the_history_stays_whole(start, play, tmp_path):
    process = start("--json --every 100ms", play("healthy_2x4090"))
    last = ticks(process, lambda one: states(one) == ["ok"] * 2, least=6)
    process.close()
    file = tmp_path / "home" / "history.db"
    with open_history(file, writes=False) as history:
        assert any(abs(tick.at_s - last["at_s"]) < 0.002 for tick in history.ticks())
    with sqlite3.connect(file) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_the_child_that_talks_to_the_driver_ends_with_the_watch(start, play):
    process = start("--json --every 200ms --no-history", play("healthy_2x4090"))
    ticks(process, lambda one: states(one) == ["ok"] * 2)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        pytest.skip("this kernel does not list children")
    found: list[int] = []
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has ended since
            found += map(int, (task / "children").read_text().split())
    assert found
    process.close()
    until(lambda: not any(alive(pid) for pid in found), what="their end")


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_history_that_cannot_be_is_told_of_and_the_watch_goes_on(start, tmp_path):
    (tmp_path / "home").write_text("a file, not a folder")
    process = start("--json --every 200ms")
    told = ticks(process, lambda one: one["notes"], least=2)
    assert any(str(tmp_path / "home") in note for note in told["notes"])
    assert ended(process) == 0


def test_metrics_are_served_and_the_readings_are_the_drivers(start, play):
    process = start("--serve 0 --every 200ms --no-history --dcgm-names", play("healthy_8xh100"))
    address = re.search(r"http://\S+", process.stderr.readline().decode())[0]
    page = scraped(address, 'rigright_gpu_up{gpu="7"')
    assert page.count("\nrigright_gpu_busy_ratio{") == 8
    assert "DCGM_FI_DEV_GPU_TEMP{" in page
    assert "\nrigright_collector_up 1.0\n" in page
    assert "\nrigright_history_up 0.0\n" in page
    process.send_signal(signal.SIGTERM)
    assert process.heard()[:2] == (0, "")


def scraped(address, want):
    end_s = time.monotonic() + PATIENCE_S
    while True:
        with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:  # noqa: S310 - loopback
            page = answer.read().decode()
        if want in page:
            return page
        assert time.monotonic() < end_s
        time.sleep(0.1)


def test_a_wrong_wish_is_told_of(start):
    for line, code, told in (
        ("--every 1ms", 2, "--every"),
        ("--serve nowhere", 2, "--serve"),
        ("--serve 0.0.0.0:0", 2, "--token"),
        ("--token x", 2, "--serve"),
        ("--serve 0 --token /no/such/file", 4, "/no/such/file"),
        ("--csv", 2, "--once"),
    ):
        done = start(line).heard()
        assert (done.code, done.out) == (code, ""), line
        assert told in done.err, line
        assert "Traceback" not in done.err


def test_once_in_every_form(start, play):
    driver = play("healthy_2x4090")
    forms = ("", "--json", "--csv", "--markdown", "--html")
    for form, process in [(form, start(f"--once {form}", driver)) for form in forms]:
        code, out, said = process.heard()
        assert code == 0, (form, said)
        assert out.count("GeForce RTX 4090") >= 2, (form, out)


def test_lines_for_a_log(start, play):
    process = start("--for 700ms --every 300ms --no-history", play("healthy_2x4090"))
    code, out, said = process.heard()
    assert code == 0, said
    lines = out.splitlines()
    assert len(lines) in {3, 6, 9}, out  # a look that comes late takes the place of those after it
    assert re.match(r"\d\d:\d\d:\d\d  host +cpu +[\d-]", lines[0])
    assert lines[1].split()[1:4] == ["gpu0", lines[1].split()[2], "%"]
