"""The machine's verbs on played cards: probe and doctor from cold, a bundle, and what `measure` adds.

The cards are played by tests/fake_driver.py; where that cannot be, nothing is measured.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from processes import RIG, ROOT, best, once

sys.path[:0] = [str(ROOT / "tests")]
ROUNDS = 5
PAIRS = 5
BUSY_S = 3
HUNG = "hung_driver"  # every question hangs; "hung_devices": it starts, and every device hangs
SPIN = f"import time\nuntil = time.process_time() + {BUSY_S}\nwhile time.process_time() < until: pass"


def main():
    """All of it, with targets."""
    try:
        from fake_driver import driver_env

        driver_env("healthy_8xh100")
    except BaseException as error:  # noqa: BLE001 - a skip of pytest, or no compiler
        print(f"the played driver cannot be: {error}")
        return
    with tempfile.TemporaryDirectory() as folder:
        env = {"RIGRIGHT_HOME": folder, "PYTHONPATH": str(ROOT / "src")}
        print(f"{'whole process':<64} {'fastest':>10} {'CPU':>10} {'memory':>10}")
        cold(env, driver_env)
        starts({**env, **driver_env("healthy_8xh100")})
        bundle({**env, **driver_env("healthy_8xh100")}, Path(folder))
        measure({**env, **driver_env("healthy_8xh100")})


def cold(env, driver_env):
    """Probe and doctor: healthy, where every device hangs, and where even the driver's start does."""
    for verb, target in (("probe", "1 s"), ("doctor", "3 s")):
        row(f"{verb}, 8 healthy cards", [verb], env={**env, **driver_env("healthy_8xh100")}, target=target)
        for name, scenario in (("every device hangs", "hung_devices"), ("the driver hangs", HUNG)):
            row(f"{verb}, {name}", [verb], env={**env, **driver_env(scenario)}, target="10 s", rounds=1)


def row(name, line, *, env, target="", rounds=ROUNDS):
    """One line of the table; a finding of the doctor is no failure."""
    found = best([*RIG, *line], rounds=rounds, env=env, codes=range(30))
    print(f"{name:<64} {found}" + (f"   target {target}" if target else ""))
    return found


def starts(env):
    """Verbs that look and answer at once, on 8 healthy cards; the history holds two moments."""
    row("watch --for 2s", ["watch", "--for", "2s", "--json"], env=env, rounds=1)
    for line in ("watch --once", "history --since all", "setup", "export prometheus"):
        row(line, line.split(), env=env)


def bundle(env, folder):
    """Writing a bundle: it asks all that may be asked."""
    row("probe --bundle", ["probe", "--bundle", str(folder / "b.zip")], env=env, rounds=2)


def measure(env):
    """What it adds to a command: to one that does nothing, and to one that fills a core; in pairs."""
    for name, code in (("nothing", "pass"), (f"a core busy for {BUSY_S} s", SPIN)):
        command = [sys.executable, "-S", "-c", code]
        pairs = [
            (once(command, env=env), once([*RIG, "measure", "--", *command], env=env)) for _ in range(PAIRS)
        ]
        wall_s = statistics.median(beside.wall_s - alone.wall_s for alone, beside in pairs)
        cpu_s = statistics.median(beside.cpu_s - alone.cpu_s for alone, beside in pairs)
        print(f"{'measure adds to ' + name:<64} {wall_s:8.2f} s {cpu_s:8.2f} s")
    share = sampling_share(env)
    print(f"{'  of it sampling eight cards, as a share of a core':<64} {100 * share:8.2f} %")


def sampling_share(env):
    """CPU of a second more of measuring, beyond the command's own: start and page cancel out."""
    line = [*RIG, "measure", "--", "sleep"]
    short, long = (once([*line, str(length)], env=env) for length in (2, 12))
    return (long.cpu_s - short.cpu_s) / 10


if __name__ == "__main__":
    start = time.perf_counter()
    main()
    print(f"{time.perf_counter() - start:.0f} s on {os.cpu_count()} cores")
