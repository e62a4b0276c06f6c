"""A bare Python, with nothing of ours, reads its machine and leaves nothing behind."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from programs import until
from rigright.machine.record import Machine
from rigright.machine.remote import envelope
from rigright.machine.remote.envelope import heard
from rigright.machine.remote.landing import LATE
from rigright.machine.remote.parcel import NO_PYTHON, RemoteRequest, parcel, program, start_line
from rigright.machine.remote.talk import talk
from rigright.machine.stored import restored

pytestmark = pytest.mark.skipif(os.name == "nt", reason="nodes of a fleet are asked by a POSIX shell")
MARK = envelope.MARK.encode()
BARE = "/usr/bin/python3"


def answer(said, *, line=None, env=None, patience_s=60):
    """How a login shell that is given the line and the parcel ends, its answers, and what else it says."""
    argv = shlex.split(line or start_line(python=sys.executable))
    talked = talk(argv, data=said, patience_s=patience_s, env=env)
    noise = [text for text in talked.output.splitlines() if not text.startswith(MARK)]
    return talked, heard(talked.output), noise


@pytest.fixture
def scratch(tmp_path):
    """Variables that point the landing's temporary folder here."""
    return {**os.environ, "TMPDIR": str(tmp_path)}


def bare_python():
    """A Python outside of any environment, that is new enough and has not our package."""
    if not Path(BARE).exists():
        pytest.skip("there is no Python of the system here")
    code = (
        "import importlib.util, sys\n"
        "sys.exit(sys.version_info < (3, 11) or importlib.util.find_spec('rigright') is not None)"
    )
    if subprocess.run([BARE, "-I", "-c", code], check=False).returncode:
        pytest.skip("the system's Python is too old, or has rigright")
    return BARE


def test_a_bare_python_reads_its_machine(scratch, tmp_path):
    scratch.pop("PYTHONPATH", None)
    line = start_line(python=bare_python())
    talked, told, noise = answer(parcel(RemoteRequest(patience_s=50)), line=line, env=scratch)
    assert talked.code == 0, talked
    (one,) = told
    machine = restored(Machine, one["machine"], where="n1")
    assert machine.cpu.threads
    assert machine.software.pythons or machine.system.kernel
    assert noise == []
    assert list(tmp_path.iterdir()) == []


def test_the_parcel_holds_no_more_than_reading_needs():
    with zipfile.ZipFile(io.BytesIO(program())) as archive:
        names = archive.namelist()
    rooms = {name.split("/")[1] for name in names if name.startswith("rigright/")}
    assert {room for room in rooms if "." not in room} == {"base", "machine", "data"}
    assert not any("bench" in name for name in names)
    assert len(program()) < len(program(with_bench=True)) < 600_000


def test_an_old_python_is_told(tmp_path):
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && echo "Python 3.9.2" && exit 0\nexit 1\n')
    old.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{only('sh', tmp_path)}"}
    talked, told, noise = answer(b"", line=start_line(), env=env)
    assert told == []
    assert noise == [f"{NO_PYTHON} Python 3.9.2".encode()]
    assert talked.code == 3


def only(program_name, folder):
    """A folder with one program of this host in it."""
    place = folder / "only"
    place.mkdir()
    (place / program_name).symlink_to(shutil.which(program_name))
    return place


def test_a_path_with_blanks_and_quotes_starts_no_other_command(tmp_path):
    odd = tmp_path / "my 'own'; touch pwned $(touch pwned)"
    odd.symlink_to(sys.executable)
    line = start_line(python=str(odd))
    done = subprocess.run(["/bin/sh", "-c", line], input=b"", capture_output=True, cwd=tmp_path, check=False)
    assert b"SyntaxError" in done.stderr or b"ValueError" in done.stderr  # started, and given nothing
    assert sorted(path.name for path in tmp_path.iterdir()) == [odd.name]


def test_a_node_that_takes_too_long_says_so_and_cleans_up(scratch, tmp_path):
    talked, told, noise = answer(slow_parcel(600.0, patience_s=0.3), env=scratch)
    assert told == []
    assert noise == [LATE.encode()]
    assert talked.code == 1
    assert list(tmp_path.iterdir()) == []


def slow_parcel(seconds, *, patience_s, lifeline=True):
    """A parcel whose program only sleeps."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in (
            "rigright/__init__.py",
            "rigright/machine/__init__.py",
            "rigright/machine/remote/__init__.py",
        ):
            archive.writestr(name, "")
        archive.writestr("rigright/machine/remote/agent.py", f"import time\ntime.sleep({seconds})\n")
    landing = (Path(parcel.__code__.co_filename).parent / "landing.py").read_bytes()
    size = len(packed.getvalue())
    head = {"size_bytes": size, "lifeline": lifeline, "patience_s": patience_s, "ask": {}}
    return b"%d\n%s%s\n%s" % (len(landing), landing, json.dumps(head).encode(), packed.getvalue())


def test_whoever_breaks_off_leaves_nothing_running(scratch, tmp_path):
    stop = threading.Event()
    threading.Thread(target=lambda: (filled(tmp_path), stop.set())).start()
    talked = talk(
        shlex.split(start_line(python=sys.executable)),
        data=slow_parcel(600.0, patience_s=600.0),
        patience_s=600.0,
        stop=stop,
        env=scratch,
    )
    assert talked.ended == "broken off"
    emptied(tmp_path)


def test_the_end_of_standard_input_ends_the_work(scratch, tmp_path):
    """As when the network to the one who asked is gone: no signal comes, only the end."""
    line = shlex.split(start_line(python=sys.executable))
    process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=scratch)
    process.stdin.write(slow_parcel(600.0, patience_s=600.0))
    process.stdin.flush()
    filled(tmp_path)
    process.stdin.close()
    assert process.wait(timeout=60) != 0
    emptied(tmp_path)


def test_without_a_lifeline_the_work_outlives_standard_input(scratch, tmp_path):
    line = shlex.split(start_line(python=sys.executable))
    said = slow_parcel(0.3, patience_s=60.0, lifeline=False)
    done = subprocess.run(line, input=said, env=scratch, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
    emptied(tmp_path)


def emptied(folder):
    until(lambda: not list(folder.iterdir()), what="the end of what was unpacked")


def filled(folder):
    until(lambda: any(folder.glob("*/rigright/machine/remote/agent.py")), what="what is unpacked")
