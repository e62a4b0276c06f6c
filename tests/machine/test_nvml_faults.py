"""A driver that loses a device, hangs, dies or goes away: the session gets over it and hides nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fake_driver import Driver, driver_env
from rigright.base.patience import NAME
from rigright.machine.nvml import codes, full, process, session
from rigright.machine.nvml.process import MOST_STUCK, Asking, Gone, Hung, Process
from rigright.machine.nvml.session import HANDLE, Holds, Session


def opened(play, patience_s=1.6, **more):
    env = play.env if isinstance(play, Driver) else driver_env(play)
    return Session({**os.environ, **env, **more}, patience_s=patience_s)


def states(devices):
    return [one.state for one in devices]


def devices_of(play, **kwargs):
    with opened(play, **kwargs) as live:
        read = live.devices()
    return dict(read.fields).get("devices", ()), read


def is_alive(pid):
    """Whether a process still runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def soon(true):
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if true():
            return True
        time.sleep(0.02)
    return False


def test_a_lost_device_hides_no_other():
    devices, read = devices_of("lost_gpu")
    assert states(devices) == ["ok"] * 3 + ["lost"] + ["ok"] * 4
    assert devices[3].mem_total_bytes is None
    assert [one.what for one in read.unseen] == ["devices.3"]
    assert {(path.a, path.b) for path in dict(read.fields)["paths"]} == {
        (a, b) for a in range(8) for b in range(a + 1, 8) if 3 not in {a, b}
    }


def test_a_device_that_is_lost_while_we_look_is_known_by_its_name(tmp_path):
    play = Driver.play("healthy_8xh100", tmp_path)
    with opened(play) as live:
        before = live.tick()
        assert states(before) == ["ok"] * 8
        play.change(1, xid=79)
        told = live.tick()[1]
        play.change(1, all="!15")
        after = live.tick()
    assert (told.state, told.last_xid) == ("ok", 79)
    assert states(after) == ["ok", "lost"] + ["ok"] * 6
    assert (after[1].uuid, after[1].pci, after[1].power_w) == (before[1].uuid, "0000:3b:00.0", None)


def test_each_device_keeps_its_own_last_xid(tmp_path):
    play = Driver.play("healthy_2x4090", tmp_path)
    with opened(play) as live:
        assert [one.last_xid for one in live.tick()] == [None, None]
        play.change(1, xid=31)
        assert [one.last_xid for one in live.tick()] == [None, 31]
        play.change(1, xid=79)
        assert [one.last_xid for one in live.tick()] == [None, 79]
        os.kill(live.child, signal.SIGKILL)
        assert live.tick()[1].last_xid == 79


def test_a_hung_device_is_named_and_the_others_are_read(monkeypatch):
    monkeypatch.setattr(process, "HANDLE_S", 0.5)
    devices, read = devices_of("hung")
    assert states(devices) == ["ok"] * 6 + ["hung", "ok"]
    assert all(one.power.draw_w for one in devices if one.index != 6)
    (missed,) = read.unseen
    assert (missed.what, missed.why) == ("devices.6", codes.why(codes.HUNG))


def test_one_call_that_never_comes_back_costs_one_reading():
    devices, read = devices_of("hung_call")
    sick = devices[6]
    assert (sick.state, sick.power.draw_w) == ("hung", None)
    assert sick.thermal.gpu_c == 60
    assert len(sick.links) == 18
    assert [(one.what, one.see) for one in read.unseen] == [
        ("devices.6.power.draw_w", "nvidia-smi -q -d POWER")
    ]


def test_a_call_that_kills_whoever_asks_costs_one_reading():
    devices, read = devices_of("aborts")
    assert states(devices) == ["ok", "ok", "hung"] + ["ok"] * 5
    assert dict(devices[2].links[0].errors) == {"replay": 0, "recovery": 0, "crc_data": 0}
    assert dict(devices[3].links[0].errors) == dict.fromkeys(
        ("replay", "recovery", "crc_flit", "crc_data"), 0
    )
    (missed,) = read.unseen
    assert (missed.what, missed.why) == ("devices.2.links.crc_flit", codes.why(codes.DIED))


def test_where_every_device_hangs_it_ends():
    devices, read = devices_of("hung_devices", **{NAME: "0.3"})
    assert states(devices) == ["hung"] * 8
    assert dict(read.fields)["software"].driver == "580.95.05"
    assert [one.what for one in read.unseen] == ["devices"]


def test_a_driver_that_only_is_slow_is_not_called_hung(monkeypatch):
    """Without persistence each device must wake first; what there was no time for is told as that."""
    monkeypatch.setattr(full, "WHOLE_S", 1.2)
    devices, read = devices_of({"like": "healthy_8xh100", "each": {"handle": "@0.35 1"}})
    assert states(devices)[:1] == ["ok"]
    assert set(states(devices)[-3:]) == {"slow"}
    assert set(states(devices)) == {"ok", "slow"}
    assert {str(one.why) for one in read.unseen} == {str(codes.why(codes.SLOW))}


@pytest.mark.parametrize(
    ("play", "code"),
    [
        ("hung_driver", codes.HUNG),
        ("mismatch", codes.MISMATCH),
        ("not_loaded", codes.NOT_LOADED),
        ("denied", codes.NO_PERMISSION),
        ({"like": "healthy_2x4090", "init": "!abort"}, codes.DIED),
    ],
)
def test_a_driver_that_does_not_start_says_why(play, code, monkeypatch):
    monkeypatch.setattr(process, "START_S", 1.0)
    with opened(play) as live:
        read = live.devices()
        assert live.hangs is (code == codes.HUNG)
        assert live.tick() == ()
        told = str(live.error)
    assert "devices" not in dict(read.fields)
    software = dict(read.fields)["software"]
    assert software.driver_error == told
    assert [(one.what, str(one.why)) for one in read.unseen] == [("devices", software.driver_error)]
    if code not in {codes.HUNG, codes.DIED}:
        assert software.driver_error == str(codes.why(code))


def test_a_machine_without_the_library(tmp_path):
    with Session({**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}) as live:
        read = live.devices()
        assert live.tick() == ()
    if "devices" in dict(read.fields):
        pytest.skip("this machine has a driver of its own")
    assert dict(read.fields)["software"].driver_error == str(codes.why(codes.NO_LIBRARY))


def test_ticks_get_over_a_call_that_begins_to_hang(tmp_path):
    play = Driver.play("healthy_8xh100", tmp_path)
    with opened(play) as live:
        assert states(live.tick()) == states(live.tick()) == ["ok"] * 8
        first = live.child
        play.change(4, power__draw="!hang")
        during = live.tick()
        assert states(during) == ["ok"] * 4 + ["hung"] + ["stale"] * 3
        after = live.tick()
        assert states(after) == ["ok"] * 4 + ["hung"] + ["ok"] * 3
        assert (after[4].power_w, after[4].gpu_c) == (None, 53)  # all but the call that hangs
        assert live.child != first
        assert not is_alive(first)


def test_what_hung_is_tried_again_and_welcome_back(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "HANDLE_S", 0.5)
    play = Driver.play("healthy_2x4090", tmp_path)
    with opened(play) as live:
        live.tick()
        play.change(1, all="!hang")
        assert live.tick()[1].state == "hung"
        live._held._holds[1] = session.Hold(state="hung", readings=frozenset({HANDLE}), until_s=0.0)
        play.table["later"] = []
        play.write()
        live.tick()  # a new child's first
        live.tick()  # tries it, after the others
        assert states(live.tick()) == ["ok", "ok"]


def test_a_lost_device_comes_back_after_a_reset(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "LOST_S", 0.0)
    play = Driver.play("healthy_2x4090", tmp_path)
    with opened(play) as live:
        live.tick()
        play.change(0, all="!15")
        assert states(live.tick()) == ["lost", "ok"]
        play.table["later"] = []
        play.write()
        live.tick()
        live.tick()
        assert states(live.tick()) == ["ok", "ok"]


def test_the_driver_is_unloaded_and_loaded_again(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "_REST_S", 0.05)
    play = Driver.play("healthy_2x4090", tmp_path)
    with opened(play) as live:
        live._rest_s = 0.05
        assert states(live.tick()) == states(live.tick()) == ["ok", "ok"]
        play.change(all="!999")
        play.change(-1, init="!9")
        gone = live.tick()
        assert states(gone) == ["lost", "lost"]
        assert gone[0].name == "NVIDIA GeForce RTX 4090"
        time.sleep(0.1)
        assert states(live.tick()) == ["lost", "lost"]
        assert str(live.error) == str(codes.why(codes.NOT_LOADED))
        play.table["later"] = []
        play.write()
        assert soon(lambda: states(live.tick()) == ["ok", "ok"])
        assert live.error is None


def test_a_driver_that_takes_long_to_start_is_waited_for_each_time():
    """Without persistence it wakes every device first: that is no hang, and no reason to rest."""
    play = {"like": "healthy_2x4090", "init": "@0.9 ok"}
    devices, read = devices_of(play, patience_s=0.4)
    assert states(devices) == ["ok"] * 2
    assert dict(read.fields)["software"].driver_error is None
    with opened(play, patience_s=0.4) as live:
        assert states(live.tick()) == ["ok"] * 2
        os.kill(live.child, signal.SIGKILL)
        assert soon(lambda: states(live.tick()) == ["ok"] * 2)


def test_a_child_that_is_killed_is_replaced():
    with opened("healthy_2x4090") as live:
        live.tick()
        first = live.child
        os.kill(first, signal.SIGKILL)
        assert states(live.tick()) == ["ok", "ok"]
        assert live.child != first
        assert not Path(f"/proc/{first}").exists()  # reaped: no zombie stays


def test_closing_leaves_nothing_behind():
    with opened("healthy_2x4090") as live:
        live.tick()
        pid = live.child
    assert not Path(f"/proc/{pid}").exists()
    assert live.child is None


@pytest.mark.parametrize("play", ["healthy_2x4090", "hung_driver"])
def test_the_child_goes_when_its_parent_is_killed(play):
    code = (
        "import os, sys, time; from rigright.machine.nvml.process import Process;"
        "from rigright.machine.nvml.readings import plans;"
        "one = Process(dict(os.environ)); one.say(plans()); one.hear(5);"
        "print(one.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, **driver_env(play)}, stdout=subprocess.PIPE
    )
    with parent:
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.kill()
    assert soon(lambda: not is_alive(child))


class Unkillable(Process):
    """A child in a call that even SIGKILL does not end."""

    def end(self, *, kindly=False):
        super().end(kindly=kindly)
        return False

    def ended(self):
        return False


def test_children_that_cannot_be_ended_do_not_pile_up(monkeypatch):
    started = []

    def start(env):
        started.append(Unkillable(env))
        return started[-1]

    monkeypatch.setattr("rigright.machine.nvml.process.Process", start)
    monkeypatch.setattr("rigright.machine.nvml.process.START_S", 0.05)
    lines = Asking({**os.environ, **driver_env("hung_driver")})
    for _ in range(3 * MOST_STUCK):
        assert not lines.ready(time.monotonic() + 1)
    assert lines.trouble.code == codes.HUNG
    assert len(started) == MOST_STUCK
    for one in started:
        Process.end(one)


@pytest.mark.parametrize("said", [b"rubbish\n", b"[1, 2]\n", b"\xff\xfe\n", b"\n", b'{"end": \n', b""])
def test_a_child_that_talks_rubbish_is_a_child_that_is_gone(said, monkeypatch, tmp_path):
    (tmp_path / "said").write_bytes(said)
    monkeypatch.setattr("rigright.machine.nvml.process.arguments", lambda: ["cat", str(tmp_path / "said")])
    process = Process(dict(os.environ))
    with pytest.raises(Gone):
        process.hear(10)
    process.end()


def test_a_silent_child_is_a_hung_child(monkeypatch):
    monkeypatch.setattr("rigright.machine.nvml.process.arguments", lambda: ["sleep", "60"])
    process = Process(dict(os.environ))
    with pytest.raises(Hung):
        process.hear(0.05)
    assert process.end()


def test_what_hangs_is_held_ever_longer_and_at_the_second_call_wholly():
    holds = Holds()
    holds.hang(3, "power.draw_w", now_s=0)
    assert (holds.whole(3), holds.skip(), holds.due(29), holds.due(30)) == (
        False,
        [(3, "power.draw_w")],
        None,
        3,
    )
    holds.hang(3, "power.draw_w", now_s=30)
    assert (holds.due(89), holds.due(90)) == (None, 3)
    for _ in range(20):
        holds.hang(3, "power.draw_w", now_s=100)
    assert (holds.due(699), holds.due(700)) == (None, 3)
    holds.hang(3, "mem", now_s=700)
    assert holds.whole(3)
    assert holds.state(3) == "hung"
    holds.free(3)
    assert (holds.state(3), holds.skip(), holds.due(1e9)) == (None, [], None)
