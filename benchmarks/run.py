"""`make bench`: what starting and answering cost beside a bare Python, and memory of many layouts at once."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROUNDS = 9
RUNS = {
    "python -c pass": [sys.executable, "-P", "-c", "pass"],
    "python -c 'import numpy'": [sys.executable, "-P", "-c", "import numpy"],
    "./rig --version": [str(ROOT / "rig"), "--version"],
    "rigright --version": [sys.executable, "-P", "-m", "rigright", "--version"],
    "rigright --help": [sys.executable, "-P", "-m", "rigright", "--help"],
    "rigright look-up chips 4090": [sys.executable, "-P", "-m", "rigright", "look-up", "chips", "4090"],
    'rigright explain llama-3.1-70b --on "8x h100"': [
        *(sys.executable, "-P", "-m", "rigright", "explain", "llama-3.1-70b", "--on", "8x h100"),
    ],
    'rigright fit --on "rtx 4090"': [sys.executable, "-P", "-m", "rigright", "fit", "--on", "rtx 4090"],
}


def once(command):
    """Seconds of one whole process, and the most memory it held in MiB (where the system tells)."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not hasattr(os, "wait4"):
        process.wait()
        return time.perf_counter() - start, float("nan")
    _, status, usage = os.wait4(process.pid, 0)
    spent_s = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    return spent_s, usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def main():
    """The table of starts, then the layouts."""
    print(f"{'whole process':<48} {'fastest':>9} {'median':>9} {'x python':>9} {'memory':>9}")
    bare_s = None
    for name, command in RUNS.items():
        once(command)
        spent, memory = zip(*(once(command) for _ in range(ROUNDS)), strict=True)
        bare_s = bare_s or min(spent)
        print(
            f"{name:<48} {1e3 * min(spent):6.0f} ms {1e3 * statistics.median(spent):6.0f} ms"
            f" {min(spent) / bare_s:9.1f} {max(memory):5.0f} MiB"
        )
    import layouts  # only now: what this process holds would count as held by the ones it starts

    layouts.main()


if __name__ == "__main__":
    main()
