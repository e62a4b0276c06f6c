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
from pathlib import Path

import pytest
from far_nodes import left_behind

import debian
from ports import free_port
from rigright.base.errors import MissingError
from rigright.doctor.examine import EXIT_WARNING
from rigright.faces.cli.main import main
from rigright.machine.far.envelope import lines
from rigright.machine.record import Machine
from rigright.machine.stored import plain
from rigright.report.pages.fleet import page
from rigright.verbs.fleet.frame import FleetWish, bench_of, fleet
from rigright.verbs.fleet.runners import ssh

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the played ssh is a POSIX shell's")


def over(hosts, what="doctor", **more):
    return fleet(what, wish=FleetWish(where=hosts, patience_s=50.0, **more))


def graver(*nodes):
    """Findings that are more than notes."""
    return [one for node in nodes for _, one in node.findings if one.severity != "note"]


def test_a_fleet_is_examined_without_anything_installed_on_it(far):
    """One lost card, one link of half the lanes, one name nobody knows: each is told, the rest is done."""
    before = left_behind()
    for node, scenario in {"n1": "healthy_8xh100", "n2": "lost_gpu", "n3": "x8_link"}.items():
        far.play(node, scenario)
    found = over("n[1-4]")
    assert [one.node for one in found.silent] == ["n4"]
    assert "does not resolve" in str(found.silent[0].trouble)
    assert found.exit_code == 20
    by_node = {one.node: one for one in found.nodes}
    assert [one.machine.system.host for one in found.told] == [one.node for one in found.told]
    assert any(one.about == "gpu 3" and one.severity == "fault" for _, one in by_node["n2"].findings)
    assert any("x8 instead of x16" in str(one.title) for _, one in by_node["n3"].findings)
    assert not any((one.about or "").startswith("gpu") for one in graver(by_node["n1"]))
    odd = {str(one.trait): {node for _, nodes in one.others for node in nodes} for one in found.differs}
    assert odd["cards"] == {"n2"}
    assert sorted(far.lines("asked")) == ["n1", "n2", "n3", "n4"]
    assert left_behind() == before


def test_nothing_that_reading_needs_was_left_at_home(far, tmp_path):
    """A table or module that is missing in the parcel would show as a part whose reading failed."""
    far.play("n1", "healthy_8xh100")
    there = over("n1", what="probe").told[0].machine
    env = far.settings("twin", "healthy_8xh100")
    line = [sys.executable, "-m", "rigright", "probe", "--json"]
    here = subprocess.run(line, env=env, capture_output=True, timeout=60, check=True, cwd=tmp_path)
    assert [str(one.why) for one in there.unseen if "failed" in str(one.why)] == []
    assert {one.what for one in there.unseen} == {one["what"] for one in json.loads(here.stdout)["unseen"]}


def test_the_same_checks_say_the_same_here_and_there(far, tmp_path):
    """What `doctor` says of a node's saved answer is what the fleet said of it."""
    far.play("n1", "row_remap_pending")
    found = over("n1", save=str(tmp_path / "answers"))
    again = fleet("doctor", wish=FleetWish(over="folder", where=str(tmp_path / "answers")))
    assert found.told[0].findings
    assert [(check, str(one.title), one.about) for check, one in again.told[0].findings] == [
        (check, str(one.title), one.about) for check, one in found.told[0].findings
    ]


def test_ssh_asks_nobody_and_forwards_nothing(far):
    far.play("n1", "healthy_2x4090")
    over("n1", what="probe", options=("-p", "2222"))
    given = far.lines("options")
    assert {"BatchMode=yes", "ControlMaster=no", "ForwardAgent=no", "ClearAllForwardings=yes"} <= set(given)
    assert given[-2:] == ["-p", "2222"]


def test_noise_of_a_login_is_no_answer_and_no_trouble(far):
    far.script("n1", "echo 'Welcome!'; echo 'rigright-told nonsense'; printf '\\377\\376\\n'; echo oops >&2")
    (one,) = over("n1", what="probe").nodes
    assert one.trouble is None
    assert one.machine.cpu.threads


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'root@n1: Permission denied (publickey).' >&2; exit 255", "none of your SSH keys"),
        ("echo 'Host key verification failed.' >&2; exit 255", "log in once by hand"),
        ("echo 'ssh: connect to host n1 port 22: Connection refused' >&2; exit 255", "no SSH server"),
        ("echo 'ssh: connect to host n1 port 22: No route to host' >&2; exit 255", "no route"),
        ("echo 'Connection closed by 10.0.0.1 port 22' >&2; exit 255", "connection closed by the node"),
        ("echo 'bash: quota exceeded, $9 \x1b[31mred' >&2; exit 1", "quota exceeded"),
        ("exit 7", "exit code 7"),
        ("echo 'rigright-no-python Python 3.9.2'; exit 3", "Python 3.9.2 on the node, 3.10 or newer needed"),
        ("echo 'rigright-no-python sh: python3: not found'; exit 3", "no Python 3.10"),
        ("echo rigright-late; exit 1", "--timeout"),
        ("kill -9 $$", "without an answer"),
    ],
)
def test_why_nothing_came_says_what_to_do(far, script, said):
    far.script("n1", script)
    (one,) = over("n1", what="probe").nodes
    assert said in str(one.trouble)


def test_a_node_that_hangs_costs_its_own_time_only(far, tmp_path, monkeypatch):
    monkeypatch.setattr(ssh, "REACH_S", 0.5)
    far.script("slow", "exec sleep 60")
    (tmp_path / "told").write_text(
        "".join(lines({"node": "n1", "machine": plain(Machine())})), encoding="utf-8"
    )
    far.script("n1", f"cat {tmp_path / 'told'}; exit 0")
    began = time.monotonic()
    found = fleet("probe", wish=FleetWish(where="slow,n1", patience_s=1.5))
    assert time.monotonic() - began < 40
    assert [one.node for one in found.told] == ["n1"]
    assert "--timeout" in str(found.silent[0].trouble)


def test_a_node_that_talks_without_end_is_not_kept(far, monkeypatch):
    monkeypatch.setattr(ssh, "REACH_S", 0.5)
    far.script("loud", "while :; do echo rigright-told 0123456789abcdef 1 2 00000000 AAAA; done")
    (one,) = fleet("probe", wish=FleetWish(where="loud", patience_s=1.0)).nodes
    assert "--timeout" in str(one.trouble)


def test_answers_of_a_hostile_node_stay_its_own(far, tmp_path):
    """An envelope that is no machine is told of that node; the others are done."""
    far.play("n1", "healthy_2x4090")
    for node, told in {
        "n2": {"node": "n1", "machine": {"devices": "all of them"}},
        "n3": {"node": "n1", "problem": {"say": "{node.__class__}", "values": {}}},
        "n4": {"node": "../../etc/x", "machine": None},
    }.items():
        (tmp_path / node).write_text("".join(lines(told)), encoding="utf-8")
        far.script(node, f"cat {tmp_path / node}; exit 0")
    found = over("n[1-4]", what="probe", save=str(tmp_path / "saved"))
    assert [one.node for one in found.told] == ["n1"]
    troubles = {one.node: str(one.trouble) for one in found.silent}
    assert set(troubles) == {"n2", "n3", "n4"}
    assert troubles["n3"] == "{node.__class__}"
    assert not (tmp_path / "etc").exists()
    assert {path.suffix for path in (tmp_path / "saved").iterdir()} == {".json"}


def test_ctrl_c_keeps_what_came(far):
    far.play("n1", "healthy_2x4090")
    far.script("n2", "exec sleep 60")

    def interrupt(told, _silent, count):
        if told == 1 and count == 2:
            raise KeyboardInterrupt

    began = time.monotonic()
    found = fleet("probe", wish=FleetWish(where="n[1-2]", patience_s=50.0), progress=interrupt)
    assert time.monotonic() - began < 30
    assert found.broken_off
    assert found.exit_code == 130
    assert {one.node: one.trouble is None for one in found.nodes} == {"n1": True, "n2": False}
    assert "interrupted" in str(found.silent[0].trouble)


def test_a_real_ctrl_c_shows_what_came_and_leaves_no_ssh_running(far, tmp_path):
    far.play("n1", "healthy_2x4090")
    far.script("n2", f"echo $$ > {tmp_path}/pid; exec sleep 60")
    line = [
        sys.executable,
        "-m",
        "rigright",
        "fleet",
        "probe",
        "--hosts",
        "n[1-2]",
        "--save",
        str(tmp_path / "kept"),
    ]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 30
    while time.monotonic() < until and not (
        (tmp_path / "kept/n1.json").exists() and (tmp_path / "pid").exists()
    ):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "1 of 2 answered" in out
    assert "interrupted" in out
    assert err == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_five_hundred_nodes_are_asked_a_few_at_a_time(far, capsys):
    """Most are down; the page stays short and the JSON holds them all."""
    (far.bin / "ssh").write_text(
        f"#!/bin/sh\necho x >> {far.folder}/running\n"
        "echo 'ssh: connect to host x port 22: Connection timed out' >&2\nexit 255\n",
        encoding="utf-8",
    )
    assert main(["fleet", "probe", "--hosts", "n[001-500]", "--parallel", "16"]) == 20
    page = capsys.readouterr().out
    assert "n[001-500]" in page
    assert len(page.splitlines()) < 20
    assert len(far.lines("running")) == 500


def test_without_ssh_it_says_so(far, monkeypatch):
    monkeypatch.setenv("PATH", str(far.folder))
    with pytest.raises(MissingError, match="OpenSSH"):
        over("n1")


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
        "KbdInteractiveAuthentication no\nUseDNS no\n",
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
    before = left_behind()
    found = over(server.host, what="probe", options=server.options(), python=sys.executable)
    (one,) = found.told
    assert one.machine.cpu.threads == os.cpu_count()
    assert left_behind() == before


@pytest.mark.live
@pytest.mark.parametrize(
    ("options", "said"),
    [({"key": "stranger"}, "none of your SSH keys"), ({"known": "nobody"}, "log in once by hand")],
)
def test_a_real_server_that_refuses(server, options, said):
    (one,) = over(server.host, what="probe", options=server.options(**options)).nodes
    assert said in str(one.trouble)


@pytest.mark.live
def test_a_real_port_where_nobody_listens(server):
    options = ("-F", "none", "-p", str(free_port()))
    (one,) = over(server.host, what="probe", options=options).nodes
    assert "no SSH server" in str(one.trouble)


@pytest.mark.live
def test_breaking_off_over_a_real_server_ends_the_work_there(server):
    """The node is told by nothing but the end of its standard input."""
    from rigright.machine.bench.session import BenchWish
    from rigright.machine.far.parcel import Bench, RemoteRequest, parcel, start_line
    from rigright.machine.far.talk import talk

    before = left_behind()
    stop, unpacked = threading.Event(), []

    def look():
        until = time.monotonic() + 15
        while time.monotonic() < until and not left_behind() - before:
            time.sleep(0.05)
        unpacked.extend(left_behind() - before)
        time.sleep(0.5)
        stop.set()

    threading.Thread(target=look).start()
    bench = Bench(wish=BenchWish(budget_s=60.0), parts=("ram",))
    argv = ("ssh", *ssh.MANNER, *server.options(), "--", server.host, start_line(python=sys.executable))
    said = parcel(RemoteRequest(patience_s=90, bench=bench))
    talked = talk(argv, said=said, heard=lambda _: None, patience_s=90, stop=stop)
    assert talked.ended == "broken off"
    assert unpacked, "it never began"
    until = time.monotonic() + 10
    while time.monotonic() < until and left_behind() - before:
        time.sleep(0.1)
    assert left_behind() == before


def test_the_command_line_as_people_type_it(far, capsys):
    far.play("n1", "healthy_8xh100")
    far.play("n2", "one_of_eight_missing")
    assert (
        main(["fleet", "doctor", "--hosts", "n[1-2]", "--json", "--only", "gpu_count", "--timeout", "50s"])
        == 10
    )
    data = json.loads(capsys.readouterr().out)
    assert [one["state"] for one in data["nodes"]] in (["well", "warning"], ["warning", "well"])
    assert data["differs"][0]["trait"] == "cards"


def pythonless(far, name, told, *, without=()):
    """A node with a handful of tools, and no Python at all."""
    bare = far.folder / f"{name}-bare"
    bare.mkdir()
    words = "sh head ls env grep sed awk od uname date id printf timeout sleep"
    for tool in set(words.split()) - set(without):
        where = shutil.which(tool)
        if where is not None:
            (bare / tool).symlink_to(where)
    played = told["PATH"].partition(":")[0]
    far.script(name, f"export PATH={played}:{bare} RIGRIGHT_ROOT={told['RIGRIGHT_ROOT']}")


def test_a_node_without_python_is_read_by_its_shell(far):
    pythonless(far, "old", far.settings("old", "healthy_8xh100"))
    (one,) = over("old", "bench", bench=bench_of(("ram",))).nodes
    assert one.trouble is None
    assert len(one.machine.pci) > 8
    assert [(skip.part, "no Python 3.10" in str(skip.why)) for skip in one.skipped] == [("ram", True)]


def test_an_answer_that_was_cut_off_is_not_called_ok(far):
    """What came before is read; that the rest is missing is no good news."""
    pythonless(far, "n1", far.settings("n1", "healthy_2x4090"))
    file = far.folder / "n1.sh"
    file.write_text(f'{file.read_text()}\n"sh" -c "$2" | head -c 60000\nexit\n')
    found = over("n1", "doctor")
    assert found.nodes[0].machine.cut == ("n1",)
    assert (str(page(found).title), found.exit_code) == (
        "no faults on 1 node: 1 incomplete (n1)",
        EXIT_WARNING,
    )


def test_a_fleet_of_all_kinds_is_judged_node_by_node(far):
    """One with Python, one without whose driver is gone, one without `timeout`, one that nobody can reach."""
    far.play("n1", "healthy_2x4090")
    pythonless(far, "n2", far.settings("n2", "no_library"))
    pythonless(far, "n3", far.settings("n3", "xids"), without=("timeout",))
    found = over("n1,n2,n3,n4", "doctor")
    titles = {one.node: [str(say.title) for _, say in one.findings] for one in found.told}
    assert set(titles) == {"n1", "n2", "n3"}
    assert "NVIDIA driver is not working" in titles["n2"]
    assert "NVIDIA driver is not working" not in titles["n1"]
    assert [one.node for one in found.silent] == ["n4"]
    assert found.exit_code == 20
