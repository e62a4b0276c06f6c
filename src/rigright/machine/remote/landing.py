"""The first to land on a far node: unpacks the program into a folder of its own, runs it, removes it.

Its text is sent ahead on standard input and run by a bare Python there, so it imports nothing of ours.
Behind it comes one line of JSON, then the packed program. Where the sender holds standard input open,
its end is the end of the work too: whoever breaks off here leaves nothing running there.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import zipfile
from contextlib import suppress
from typing import IO, Any

LATE = "rigright-late"
AGENT = (  # nothing of the folder that the node happens to be in
    "import sys; sys.path[:] = [one for one in sys.path if one]; import runpy; "
    "runpy.run_module('rigright.machine.remote.agent', run_name='__main__', alter_sys=True)"
)


def _land(stream: IO[bytes]) -> int:
    """Unpack, run, wait no longer than told, clean up."""
    head = json.loads(stream.readline())
    packed = stream.read(head["size_bytes"])
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _leave)
    with tempfile.TemporaryDirectory(prefix="rigright-", ignore_cleanup_errors=True) as folder:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            archive.extractall(folder)
        return run(folder, head)


def run(folder: str, head: dict[str, Any]) -> int:
    """The program, in a session of its own so that all of it can be ended."""
    paths = [folder, os.environ.get("PYTHONPATH", "")]
    settings = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
    }
    child = subprocess.Popen(
        [sys.executable, "-c", AGENT, json.dumps(head["ask"])],
        env=settings,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        if head["lifeline"]:
            threading.Thread(target=_watch, args=(child,), daemon=True).start()
        return child.wait(timeout=head["patience_s"])
    except subprocess.TimeoutExpired:
        sys.stdout.write(LATE + "\n")
        return 1
    finally:
        end(child)


def _watch(child: subprocess.Popen[bytes]) -> None:
    """End the work once the sender is gone. Read past Python's buffer, which must be free at the end."""
    with suppress(OSError):
        while os.read(0, 4096):
            pass
    end(child)


def end(child: subprocess.Popen[bytes]) -> None:
    """End the program and all it started."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()


def _leave(number: int, _frame: object) -> None:
    """A signal to end is an end like others: what was unpacked is removed."""
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(_land(sys.stdin.buffer))
