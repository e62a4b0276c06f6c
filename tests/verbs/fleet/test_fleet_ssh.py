"""Over ssh: played nodes, then a real server on loopback with its own keys and port."""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest
from far_nodes import FarNodes, left_behind

import debian
from ports import free_port
from programs import Program, until
from rigright.base.errors import MissingError
from rigright.base.words import Sentence
from rigright.doctor.examine import EXIT_WARNING
from rigright.faces.cli.main import main
from rigright.machine.record import Machine
from rigright.machine.stored import plain
from rigright.machine.traits import TRAITS
from rigright.verbs.fleet.jobs import FleetWish
from rigright.verbs.fleet.runners import ssh
from rigright.verbs.fleet.troubles import _MEANINGS, BROKEN_OFF, LATE
from rigright.verbs.fleet.verb import bench_of, fleet

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the played ssh is a POSIX shell's")
MEANT = dict(_MEANINGS)  # what ssh complains of, in small letters -> what is said of it
KEYS = {one.name: one.key for one in TRAITS}


def over(hosts, what="doctor", **more):
    return fleet(what, wish=FleetWish(where=hosts, patience_s=50.0, **more))


def graver(*nodes):
    """Findings that are more than notes."""
    return [one for node in nodes for _, one in node.findings if one.severity != "note"]


class Examined:
    """What a fleet said that was asked once: a healthy node, a lost card, a name nobody knows."""

    def __init__(self, folder):
        self.far, self.saved = FarNodes(folder / "far"), folder / "answers"
        for node, scenario in {"n1": "healthy_8xh100", "n2": "lost_gpu"}.items():
            self.far.play(node, scenario)
        with (self.far.folder / "n1.sh").open("a", encoding="utf-8") as script:
            script.write(NOISE)
        temporary = folder / "temporary"
        temporary.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TMPDIR", str(temporary))
            patch.setenv("PATH", f"{self.far.bin}{os.pathsep}{os.environ['PATH']}")
            self.found = over("n[1-3]", save=str(self.saved))
        self.left = left_behind(temporary)
        self.by_node = {one.node: one for one in self.found.nodes}

    def repeat(self, far, node, said="n1"):
        """Let a node answer as this one did, without a program that runs there."""
        kept = json.loads((self.saved / f"{said}.json").read_text(encoding="utf-8"))
        kept.pop("node", None)
        kept["system"]["host"] = node
        far.answer(node, {"node": node, "machine": kept})


NOISE = "echo 'Welcome!'; echo 'rigright-told nonsense'; printf '\\377\\376\\n'; echo oops >&2\n"


@pytest.fixture(scope="module")
def examined(tmp_path_factory):
    return Examined(tmp_path_factory.mktemp("examined"))


def test_a_fleet_is_examined_without_anything_installed_on_it(examined):
    """One lost card, one name nobody knows: each is told, the rest is done."""
    found, by_node = examined.found, examined.by_node
    assert [one.node for one in found.silent] == ["n3"]
    assert found.silent[0].trouble == MEANT["could not resolve hostname"]
    assert found.exit_code == 20
    assert [one.machine.system.host for one in found.told] == [one.node for one in found.told]
    assert any(one.about == "gpu 3" and one.severity == "fault" for _, one in by_node["n2"].findings)
    assert not any((one.about or "").startswith("gpu") for one in graver(by_node["n1"]))
    odd = {KEYS[one.trait]: {node for _, nodes in one.others for node in nodes} for one in found.differs}
    assert odd["cards"] == {"n1", "n2"}, "of two neither is usual"
    assert sorted(examined.far.lines("asked")) == ["n1", "n2", "n3"]
    assert not examined.left


def test_noise_of_a_login_is_no_answer_and_no_trouble(examined):
    assert examined.by_node["n1"].trouble is None
    assert examined.by_node["n1"].machine.cpu.threads


def test_nothing_that_reading_needs_was_left_at_home(examined, tmp_path):
    """A table or module that is missing in the parcel would show as a part whose reading failed."""
    there = examined.by_node["n1"].machine
    env = examined.far.settings("twin", "healthy_8xh100")
    line = [sys.executable, "-m", "rigright", "probe", "--json"]
    here = subprocess.run(line, env=env, capture_output=True, timeout=60, check=True, cwd=tmp_path)
    assert {one.what for one in there.unseen} == {one["what"] for one in json.loads(here.stdout)["unseen"]}


def test_the_same_checks_say_the_same_here_and_there(examined):
    """What `doctor` says of a node's saved answer is what the fleet said of it."""
    again = fleet("doctor", wish=FleetWish(over="folder", where=str(examined.saved)))
    first = examined.by_node["n2"]
    (saved,) = [one for one in again.told if one.node == "n2"]
    assert first.findings
    assert [(check, str(one.title), one.about) for check, one in saved.findings] == [
        (check, str(one.title), one.about) for check, one in first.findings
    ]


def test_ssh_asks_nobody_and_forwards_nothing(far):
    far.script("n1", "exit 7")
    over("n1", what="probe", options=("-p", "2222"))
    given = far.lines("options")
    assert {"BatchMode=yes", "ControlMaster=no", "ForwardAgent=no", "ClearAllForwardings=yes"} <= set(given)
    assert given[-2:] == ["-p", "2222"]


def test_why_nothing_came_says_what_to_do(far):
    """What ssh said, by the table of meanings; what nobody knows as it is; else the exit code."""
    refused = "ssh: connect to host n1 port 22: Connection refused"
    meant = {
        "root@n1: Permission denied (publickey).": "permission denied",
        "Host key verification failed.": "host key verification failed",
        refused: "connection refused",
        "ssh: connect to host n1 port 22: No route to host": "no route to host",
        "Connection closed by 10.0.0.1 port 22": "connection closed",
    }
    wanted = {f"echo '{line}' >&2; exit 255": MEANT[meaning] for line, meaning in meant.items()}
    wanted |= {
        "echo 'bash: quota exceeded, $9 \x1b[31mred' >&2; exit 1": "quota exceeded",
        "exit 7": "7",
        "echo 'rigright-no-python Python 3.9.2'; exit 3": "3.9.2",
        "echo 'rigright-no-python sh: python3: not found'; exit 3": "--python",
        "echo rigright-late; exit 1": LATE,
        "kill -9 $$": "-9",
    }
    for number, script in enumerate(wanted, 1):
        far.script(f"n{number}", script)
    found = {one.node: one.trouble for one in over(f"n[1-{len(wanted)}]", what="probe").nodes}
    for number, (script, want) in enumerate(wanted.items(), 1):
        why = found[f"n{number}"]
        assert why == want if isinstance(want, Sentence) else want in str(why), script
    assert len(set(map(str, found.values()))) == len(wanted), "each says something of its own"


def test_a_node_that_hangs_costs_its_own_time_only(far, monkeypatch):
    monkeypatch.setenv("RIGRIGHT_PATIENCE", "0.05")
    far.script("slow", "exec sleep 600")
    far.answer("n1", {"node": "n1", "machine": plain(Machine())})
    found = fleet("probe", wish=FleetWish(where="slow,n1", patience_s=2.0))
    assert [one.node for one in found.told] == ["n1"]
    assert found.silent[0].trouble == LATE


def test_a_shell_that_hangs_where_there_is_no_python_is_late(far, monkeypatch):
    monkeypatch.setenv("RIGRIGHT_PATIENCE", "0.002")
    far.script("old", 'case "$2" in *no-python*) echo rigright-no-python; exit 3;; esac; exec sleep 600')
    (node,) = fleet("probe", wish=FleetWish(where="old", patience_s=0.5)).nodes
    assert node.trouble == LATE


@pytest.mark.live
def test_a_node_that_hangs_and_hears_no_signal_is_left_in_the_real_time(far):
    far.script("slow", "trap '' TERM; while :; do sleep 600; done")
    (one,) = fleet("probe", wish=FleetWish(where="slow", patience_s=1.0)).nodes
    assert one.trouble == LATE


def test_a_node_that_talks_without_end_is_not_kept(far, monkeypatch):
    monkeypatch.setenv("RIGRIGHT_PATIENCE", "0.1")
    far.script("loud", "while :; do echo rigright-told 0123456789abcdef 1 2 00000000 AAAA; done")
    (one,) = fleet("probe", wish=FleetWish(where="loud", patience_s=0.3)).nodes
    assert one.trouble == LATE


def test_answers_of_a_hostile_node_stay_its_own(far, tmp_path, examined):
    """An envelope that is no machine is told of that node; the others are done."""
    examined.repeat(far, "n1")
    for node, told in {
        "n2": {"node": "n1", "machine": {"devices": "all of them"}},
        "n3": {"node": "n1", "problem": {"say": "{node.__class__}", "values": {}}},
        "n4": {"node": "../../etc/x", "machine": None},
    }.items():
        far.answer(node, told)
    found = over("n[1-4]", what="probe", save=str(tmp_path / "saved"))
    assert [one.node for one in found.told] == ["n1"]
    troubles = {one.node: str(one.trouble) for one in found.silent}
    assert set(troubles) == {"n2", "n3", "n4"}
    assert troubles["n3"] == "{node.__class__}"
    assert not (tmp_path / "etc").exists()
    assert {path.suffix for path in (tmp_path / "saved").iterdir()} == {".json"}


def test_ctrl_c_keeps_what_came(far, examined):
    examined.repeat(far, "n1")
    far.script("n2", "exec sleep 600")

    def interrupt(told, _silent, count):
        if told == 1 and count == 2:
            raise KeyboardInterrupt

    found = fleet("probe", wish=FleetWish(where="n[1-2]", patience_s=500.0), progress=interrupt)
    assert found.broken_off
    assert found.exit_code == 130
    assert {one.node: one.trouble for one in found.nodes} == {"n1": None, "n2": BROKEN_OFF}


def test_a_real_ctrl_c_shows_what_came_and_leaves_no_ssh_running(far, tmp_path, examined):
    examined.repeat(far, "n1")
    far.script("n2", f"echo $$ > {tmp_path}/pid; exec sleep 600")
    words = ("fleet", "probe", "--hosts", "n[1-2]", "--save", str(tmp_path / "kept"), "--json")
    awaited = (tmp_path / "kept/n1.json", tmp_path / "pid")
    with Program(*words) as process:
        until(lambda: all(one.exists() for one in awaited), what="an answer")
        process.send_signal(signal.SIGINT)
        done = process.heard()
    assert (done.code, done.err) == (130, "")
    told = done.data
    assert told["broken_off"]
    assert {one["node"]: one["trouble"] is None for one in told["nodes"]} == {"n1": True, "n2": False}
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_many_nodes_are_asked_a_few_at_a_time(far, capsys):
    """Most are down; the page stays short, and no more of them than asked for are on their way at once."""
    far.program(
        "ssh",
        f"#!/bin/sh\necho + >> {far.folder}/running\nsleep 0.05\n"
        "echo 'ssh: connect to host x port 22: Connection timed out' >&2\n"
        f"echo - >> {far.folder}/running\nexit 255\n",
    )
    assert main(["fleet", "probe", "--hosts", "n[01-40]", "--parallel", "4"]) == 20
    page = capsys.readouterr().out
    assert "n[01-40]" in page
    assert len(page.splitlines()) < 20
    steps = [1 if line == "+" else -1 for line in far.lines("running")]
    assert (steps.count(1), sum(steps)) == (40, 0)
    assert max(accumulate(steps)) <= 4


@pytest.mark.parametrize(("way", "program"), [("ssh", "ssh"), ("slurm", "srun"), ("kubernetes", "kubectl")])
def test_without_the_program_of_a_way_it_says_so(far, monkeypatch, way, program):
    monkeypatch.setenv("PATH", str(far.folder))
    with pytest.raises(MissingError, match=program):
        fleet("probe", wish=FleetWish(over=way, where="n1" if way == "ssh" else ""))


@pytest.fixture(scope="module")
def server():
    """A real sshd on its own port, with its own keys, as nobody's service."""
    debian.needs("openssh-server", "openssh-client")
    folder = Path(tempfile.mkdtemp(prefix="rr", dir="/tmp"))
    for key in ("host", "user", "stranger"):
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
        subprocess.run(make, check=True, stdin=subprocess.DEVNULL)
    shutil.copy(folder / "user.pub", folder / "allowed")
    port = free_port()
    (folder / "sshd.conf").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/allowed\n"
        f"PidFile {folder}/pid\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n"
        f"KbdInteractiveAuthentication no\nUseDNS no\nSetEnv TMPDIR={folder}\n",
        encoding="utf-8",
    )
    (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}", encoding="utf-8")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    program = shutil.which("sshd", path="/usr/sbin:/usr/bin")
    log = (folder / "log").open("wb")
    process = subprocess.Popen([program, "-D", "-e", "-f", str(folder / "sshd.conf")], stderr=log)
    try:
        if not listens(port):
            pytest.skip(f"sshd does not start here: {(folder / 'log').read_text()[-200:]}")
        yield Server(folder, port)
    finally:
        process.terminate()
        process.wait(timeout=10)
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


class Server:
    """Where it listens, and options of ssh to reach it."""

    def __init__(self, folder, port):
        self.folder, self.port = folder, port
        self.host = f"{getpass.getuser()}@127.0.0.1"

    def options(self, key="user", known="known"):
        told = {
            "UserKnownHostsFile": self.folder / known,
            "StrictHostKeyChecking": "yes",
            "IdentitiesOnly": "yes",
        }
        return (
            *("-F", "none", "-p", str(self.port), "-i", str(self.folder / key)),
            *(word for name, value in told.items() for word in ("-o", f"{name}={value}")),
        )


def listens(port, limit_s=10.0):
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.connect(("127.0.0.1", port))
            return True
        time.sleep(0.05)
    return False


@pytest.mark.live
def test_a_real_server_answers(server):
    found = over(server.host, what="probe", options=server.options(), python=sys.executable)
    (one,) = found.told
    assert one.machine.cpu.threads == os.cpu_count()
    assert not left_behind(server.folder)


@pytest.mark.live
@pytest.mark.parametrize(
    ("options", "meaning"),
    [({"key": "stranger"}, "permission denied"), ({"known": "nobody"}, "host key verification failed")],
)
def test_a_real_server_that_refuses(server, options, meaning):
    (one,) = over(server.host, what="probe", options=server.options(**options)).nodes
    assert one.trouble == MEANT[meaning]


@pytest.mark.live
def test_a_real_port_where_nobody_listens(server):
    options = ("-F", "none", "-p", str(free_port()))
    (one,) = over(server.host, what="probe", options=options).nodes
    assert one.trouble == MEANT["connection refused"]


@pytest.mark.live
def test_breaking_off_over_a_real_server_ends_the_work_there(server):
    """The node is told by nothing but the end of its standard input."""
    from rigright.machine.bench.record import BenchWish
    from rigright.machine.remote.parcel import Bench, RemoteRequest, parcel, start_line
    from rigright.machine.remote.talk import talk

    stop, unpacked = threading.Event(), []

    def look():
        until(lambda: left_behind(server.folder), what="what it unpacks")
        unpacked.extend(left_behind(server.folder))
        time.sleep(0.5)
        stop.set()

    threading.Thread(target=look).start()
    bench = Bench(wish=BenchWish(budget_s=60.0), parts=("ram",))
    argv = ("ssh", *ssh.OPTIONS, *server.options(), "--", server.host, start_line(python=sys.executable))
    said = parcel(RemoteRequest(patience_s=90, bench=bench))
    talked = talk(argv, data=said, patience_s=90, stop=stop)
    assert talked.ended == "broken off"
    assert unpacked, "it never began"
    until(lambda: not left_behind(server.folder), what="the end of what it unpacked")


def test_the_command_line_as_people_type_it(far, capsys, examined):
    for node, said in (("n1", "n1"), ("n2", "n2")):
        examined.repeat(far, node, said)
    words = ["fleet", "doctor", "--hosts", "n[1-2]", "--json", "--only", "gpu_answers", "--timeout", "50s"]
    assert main(words) == 20
    data = json.loads(capsys.readouterr().out)
    assert {one["node"]: one["state"] for one in data["nodes"]} == {"n1": "well", "n2": "fault"}
    assert {one["check"] for node in data["nodes"] for one in node["findings"]} == {"gpu_answers"}
    assert {str(one.name): one.key for one in TRAITS}[data["differs"][0]["trait"]] == "cards"


def test_a_fleet_of_all_kinds_is_judged_node_by_node(far, examined):
    """With Python; without, its driver gone; without `timeout`; cut off in the middle; out of reach."""
    examined.repeat(far, "n1")
    far.without_python("n2", "no_library")
    far.without_python("n3", "xids", less="timeout")
    far.without_python("n4", "healthy_2x4090")
    file = far.folder / "n4.sh"
    file.write_text(f'{file.read_text()}\n"sh" -c "$2" | head -c 60000\nexit\n')
    found = over("n[1-5]", "doctor")
    by_node = {one.node: one for one in found.told}
    assert set(by_node) == {"n1", "n2", "n3", "n4"}
    checks = {node: {check for check, _ in one.findings} for node, one in by_node.items()}
    assert "gpu_driver" in checks["n2"] - checks["n1"]
    assert [one.node for one in found.silent] == ["n5"]
    assert found.exit_code == 20
    # what came before is read; that the rest is missing is no good news
    assert by_node["n4"].machine.cut == ("n4",)
    assert replace(found, nodes=(by_node["n4"],)).exit_code == EXIT_WARNING


def test_a_node_without_python_is_read_by_its_shell(far):
    far.without_python("old", "healthy_8xh100")
    (one,) = over("old", "bench", bench=bench_of(("ram",))).nodes
    assert one.trouble is None
    assert len(one.machine.pci) > 8
    assert [(skip.part, "--python" in str(skip.why)) for skip in one.skipped] == [("ram", True)]
