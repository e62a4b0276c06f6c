"""A real Ray cluster of two nodes on loopback, for tests; they end when their foreground processes do."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from ports import free_port

START_S = 120


@contextmanager
def two_nodes(settings: dict[str, str] | None = None):
    """Two nodes of one core each; `settings` are variables of the second one."""
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    if sys.platform != "linux":
        pytest.skip("the two nodes share this host, which Ray does on Linux")
    folder = tempfile.mkdtemp(prefix="rr", dir="/tmp")  # sockets in it need a short path
    address = f"127.0.0.1:{free_port()}"
    shared = ("--num-cpus=1", "--disable-usage-stats", "--object-store-memory=100000000", "--block")
    head = ("--head", "--node-ip-address=127.0.0.1", f"--port={address.rpartition(':')[2]}")
    lines = (
        [*head, "--include-dashboard=false", f"--temp-dir={folder}", *shared],
        [f"--address={address}", *shared],
    )
    nodes = []
    try:
        for line, more in zip(lines, ({}, settings or {}), strict=True):
            nodes.append(start(line, more))
            assert reached(address, time.monotonic() + START_S), "the head did not come up"
        wait_for_nodes(address, count=2)
        yield address
    finally:
        for node in reversed(nodes):
            node.terminate()
        for node in nodes:
            node.wait(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)


def reached(address, until):
    host, _, port = address.rpartition(":")
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex((host, int(port))) == 0:
                return True
        time.sleep(0.2)
    return False


def start(arguments, settings):
    ray = shutil.which("ray", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert ray, "ray is installed without its command"
    quiet = subprocess.DEVNULL
    env = {**os.environ, **settings}
    return subprocess.Popen([ray, "start", *arguments], stdout=quiet, stderr=quiet, stdin=quiet, env=env)


def wait_for_nodes(address, count):
    """Another process looks, so that this one stays free to join."""
    look = (
        "import ray, sys, time\n"
        f"ray.init(address={address!r}, log_to_driver=False, logging_level='ERROR')\n"
        f"until = time.monotonic() + {START_S}\n"
        f"while sum(n['Alive'] for n in ray.nodes()) < {count}:\n"
        "    time.sleep(0.2) if time.monotonic() < until else sys.exit('too few nodes')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", look], capture_output=True, text=True, timeout=2 * START_S, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
