"""A real Slurm of two nodes on this host: own configuration, own ports, own munge; ended by process id."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import pytest
from far_nodes import FarNodes

import debian
from ports import free_ports

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge", "slurm-wlm-basic-plugins")
START_S = 40.0
CONF = """\
ClusterName=rigright
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=0
TaskProlog={folder}/prolog.sh
{health}
NodeName=n1 NodeAddr=127.0.0.1 NodeHostname={host} Port={ports[1]} CPUs=2{gpus}
NodeName=n2 NodeAddr=127.0.0.1 NodeHostname={host} Port={ports[2]} CPUs=2{gpus}
PartitionName=all Nodes=n1,n2 Default=YES State=UP
"""
# Nodes of a cloud are planned for though nobody ever starts them.
CLOUD = """\
GresTypes=gpu
SuspendTime=3600
SuspendProgram=/bin/true
ResumeProgram=/bin/true
NodeName=c[1-64] CPUs=256 RealMemory=512000 Gres=gpu:128 State=CLOUD
PartitionName=cloud Nodes=c[1-64] State=UP
"""
# A task sees the machine of its node: what a prolog prints becomes a variable of the task.
PROLOG = """\
#!/bin/sh
cat {folder}/far/"$SLURMD_NODENAME".env
"""
# The program that our own files name, once it is armed, on the machine of its node.
HEALTH = """\
#!/bin/sh
[ -e {folder}/armed ] || exit 0
echo >> {folder}/"$SLURMD_NODENAME".looks
. {folder}/far/"$SLURMD_NODENAME".sh
sh {folder}/health.sh >> {folder}/"$SLURMD_NODENAME".health 2>&1
echo "$?" >> {folder}/"$SLURMD_NODENAME".codes
"""


class Slurm:
    """The cluster while it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen] = []
        self.conf = folder / "slurm.conf"

    def run(self, *argv: str) -> str:
        """What a command of Slurm says."""
        env = {**os.environ, "SLURM_CONF": str(self.conf)}
        return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False).stdout

    def states(self) -> dict[str, str]:
        lines = self.run("sinfo", "-h", "-N", "-n", "n1,n2", "-o", "%N %T").splitlines()
        return dict(line.split() for line in lines)

    def waits_for(self, holds, limit_s: float = START_S) -> bool:
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            if holds():
                return True
            time.sleep(0.2)
        return bool(holds())

    def heal(self) -> None:
        """Both nodes take work again, and no health program drains them later."""
        (self.folder / "armed").unlink(missing_ok=True)
        assert self.waits_for(lambda: all(self.looks(node) == len(self.codes(node)) for node in ("n1", "n2")))
        for node in (node for node, state in self.states().items() if state.startswith("drain")):
            self.run("scontrol", "update", f"NodeName={node}", "State=RESUME")
        assert self.waits_for(lambda: set(self.states().values()) == {"idle"}), self.states()

    def looks(self, node: str) -> int:
        """How many health checks of a node began."""
        file = self.folder / f"{node}.looks"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def codes(self, node: str) -> list[str]:
        """How each health check of a node ended, until now."""
        file = self.folder / f"{node}.codes"
        return file.read_text().split() if file.exists() else []

    def start(self, *argv: str) -> None:
        env = {**os.environ, "SLURM_CONF": str(self.conf)}
        with (self.folder / f"{len(self.processes)}.out").open("wb") as out:
            self.processes.append(
                subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env)
            )

    def end(self) -> None:
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in reversed(self.processes):
            try:
                process.wait(timeout=1)  # a cluster of a temporary folder has nothing to save
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=10)


@contextlib.contextmanager
def two_nodes(machines: dict[str, str], *, gpus: int = 0):
    """The cluster, each node with the machine of a scenario; and so many GPUs, that are counted only."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("Slurm's daemons are started as root here")
    debian.needs(*PACKAGES)
    folder = Path(tempfile.mkdtemp(prefix="rr", dir="/tmp"))
    folder.chmod(0o755)
    slurm = Slurm(folder)
    try:
        prepare(slurm, machines, gpus=gpus)
        slurm.start("munged", "-F", "-f", *munge_places(folder))
        slurm.waits_for((folder / "munge.socket").exists, 10)
        slurm.start("slurmctld", "-D", "-f", str(slurm.conf), "-i", "-c")
        for node in machines:
            slurm.start("slurmd", "-D", "-f", str(slurm.conf), "-N", node)
        if not slurm.waits_for(lambda: set(slurm.states().values()) == {"idle"}):
            logs = "\n".join(path.read_text()[-300:] for path in folder.glob("*.log"))
            pytest.skip(f"Slurm does not come up here: {logs}")
        yield slurm
    finally:
        (folder / "armed").unlink(missing_ok=True)
        slurm.end()
        for pid in running(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        slurm.waits_for(lambda: not running(folder), 20)
        shutil.rmtree(folder, ignore_errors=True)


def running(folder: Path) -> list[int]:
    """What this cluster started and is still at work: its folder stands in the line or the variables."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            told = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            if f"{folder}/".encode() in told and int(process.name) != os.getpid():
                found.append(int(process.name))
    return found


def munge_places(folder: Path) -> list[str]:
    key = folder / "munge.key"
    key.write_bytes(os.urandom(64))
    key.chmod(0o600)
    named = {
        "socket": "munge.socket",
        "pid-file": "munge.pid",
        "log-file": "munge.log",
        "seed-file": "munge.seed",
    }
    return [f"--key-file={key}", *(f"--{name}={folder / file}" for name, file in named.items())]


def prepare(slurm: Slurm, machines: dict[str, str], *, gpus: int) -> None:
    from rigright.verbs.fleet.health import files

    folder = slurm.folder
    far = FarNodes(folder / "far")
    for node, scenario in machines.items():
        far.play(node, scenario)
        lines = (folder / "far" / f"{node}.sh").read_text().replace("'", "")
        (folder / "far" / f"{node}.env").write_text(lines)
    (folder / "state").mkdir()
    with mock.patch.dict(os.environ, {"SLURM_CONF": str(slurm.conf)}):
        ours = files("slurm")
    (folder / "health.sh").write_text(ours["rigright-health.sh"])
    lines = [line for line in ours["slurm.conf"].splitlines() if line and not line.startswith("#")]
    told = dict(line.split("=", 1) for line in lines)
    told |= {"HealthCheckProgram": f"{folder}/hc.sh", "HealthCheckInterval": "2"}
    health = "\n".join(f"{name}={value}" for name, value in told.items())
    for name, text in {"prolog.sh": PROLOG, "hc.sh": HEALTH}.items():
        (folder / name).write_text(text.format(folder=folder))
        (folder / name).chmod(0o755)
    counted = f" Gres=gpu:{gpus}" if gpus else ""
    places = {"folder": folder, "host": socket.gethostname(), "ports": free_ports(3)}
    conf = CONF.format(**places, health=health, gpus=counted)
    slurm.conf.write_text(conf + (CLOUD if gpus else ""))
    if gpus:
        (folder / "gres.conf").write_text(f"Name=gpu File={folder}/gpu[1-{gpus}]\n")
        for number in range(1, gpus + 1):
            (folder / f"gpu{number}").touch()
