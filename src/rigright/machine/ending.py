"""Ends a program with all that it started."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import Any

_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


def send(process: subprocess.Popen[Any], number: int = _KILL) -> None:
    """A signal to the whole group of a program that leads one; where there are no groups, its end."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        else:
            process.kill()
