"""A landing as a task that can be sent by value: it needs nothing of ours on the node that runs it."""

from __future__ import annotations

from collections.abc import Callable

EMPTIED = "CUDA_VISIBLE_DEVICES"  # Ray empties it for a task that asks for no card


def landed(starter: str) -> Callable[..., tuple[int, bytes, str]]:
    """The task; made in here, so that it travels whole."""
    emptied = EMPTIED

    def land(said: bytes, python: str | None, *, patience_s: float) -> tuple[int, bytes, str]:
        import os
        import subprocess
        import sys

        line = [python or sys.executable, "-c", starter]
        env = {name: value for name, value in os.environ.items() if name != emptied or value}
        limit_s = patience_s + 10
        done = subprocess.run(line, input=said, capture_output=True, timeout=limit_s, env=env, check=False)
        return done.returncode, done.stdout, done.stderr[-2000:].decode("utf-8", "replace")

    return land
