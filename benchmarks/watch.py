"""What watching costs: processor time at one look a second at eight cards, a scrape, and a day in minutes.

The cards are played by tests/fake_driver.py; where that cannot be, only the day is measured.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "machine")]
SECONDS, SCRAPES, FRAMES = 60, 40, 60
DAY_S = 86_400


def main():
    """All three."""
    try:
        from fake_driver import Driver

        with tempfile.TemporaryDirectory() as folder:
            steady(Driver.play("healthy_8xh100", Path(folder)).env, Path(folder))
    except Exception as error:  # noqa: BLE001 - a skip of pytest, or no compiler
        print(f"the played driver cannot be: {error}")
    view()
    day()


def view():
    """A frame of the live view, and what it reads beside the driver: 8 cards, 200 programs."""
    from moments import card, moment

    from rigright.machine.device import Program
    from rigright.machine.sampling.ports import PortReader
    from rigright.machine.sampling.programs import ProgramReader
    from rigright.machine.world import here
    from rigright.report.live.keys import View
    from rigright.report.live.recent import Recent
    from rigright.report.live.view import draw
    from rigright.report.screen import Screen
    from rigright.verbs.watch.record import Detail, MachineMoment

    known = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()]
    programs, ports, recent = ProgramReader(here()), PortReader(here()), Recent()
    held = [
        tuple(
            Program(pid=10**7 + 25 * i + n, name="python", user="ada", mem_bytes=1e9 * n) for n in range(25)
        )
        for i in range(8)
    ]
    screen, spent_s = Screen(width=120, colour=True), 0.0
    for n in range(FRAMES + 1):
        cards = tuple(card(i, n, programs=held[i]) for i in range(8))
        start = time.process_time()
        uses = programs.read(float(n), known)
        read_s = (time.process_time() - start) * 200 / len(known)  # of as many as are drawn
        uses = {one.pid: use for one, use in zip(sum(held, ()), list(uses.values()) * 200, strict=False)}
        start = time.process_time()
        recent.add(
            MachineMoment(tick=moment(n, devices=cards), detail=Detail(uses=uses, ports=ports.read(float(n))))
        )
        draw(recent, View(), screen=screen, height=50)
        spent_s += read_s + time.process_time() - start if n else 0.0
    share = spent_s / FRAMES
    print(f"{'live view: 8 cards, 200 programs, 1 Hz':<44} {100 * share:>9.2f} % of a core   target 2 %")


def steady(driver, folder):
    """A watch that serves and keeps, for a minute."""
    env = {**os.environ, **driver, "RIGRIGHT_HOME": str(folder), "PYTHONPATH": str(ROOT / "src")}
    line = [sys.executable, "-m", "rigright", "watch", "--serve", "0"]
    process = subprocess.Popen(line, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    address = process.stderr.readline().split()[-1]
    time.sleep(5)
    before, start = used(process.pid), time.monotonic()
    time.sleep(SECONDS)
    spent, passed = used(process.pid) - before, time.monotonic() - start
    took = [scrape(address) for _ in range(SCRAPES)]
    kept = sum(path.stat().st_size for path in folder.glob("history*"))
    memory = sum(held(pid) for pid in tree(process.pid))
    process.terminate()
    process.communicate()
    print(f"{'8 cards, 1 Hz, history, metrics':<44} {100 * spent / passed:>9.2f} % of a core   target 0.5 %")
    print(f"{'memory of both processes':<44} {memory / 2**20:>9.0f} MiB")
    usual = statistics.median(took)
    worst = sorted(took)[int(0.95 * SCRAPES)]
    print(f"{'a scrape: median, 95 %':<44} {1e3 * usual:>6.1f}, {1e3 * worst:.1f} ms   target 10 ms")
    print(f"{'history after a minute':<44} {kept / 2**20:>9.1f} MiB")


def scrape(address):
    """Seconds for one page, a second's look between two."""
    time.sleep(0.05)
    start = time.perf_counter()
    with urllib.request.urlopen(address) as answer:  # noqa: S310 - loopback
        answer.read()
    return time.perf_counter() - start


def tree(pid):
    """The process and its children."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += tree(int(child))
    return found


def used(pid):
    """Processor seconds of a process and its children, to the nanosecond where the kernel says so."""
    total = 0.0
    for one in tree(pid):
        for task in Path(f"/proc/{one}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0]) / 1e9
    return total


def held(pid):
    """Bytes that a process alone holds."""
    words = Path(f"/proc/{pid}/statm").read_text().split()
    return (int(words[1]) - int(words[2])) * os.sysconf("SC_PAGE_SIZE")


def day():
    """86,400 looks at eight cards by a clock that runs fast: tally, page, history."""
    from moments import card, moment

    from rigright.machine.exporter.page import Pages
    from rigright.machine.exporter.tally import MetricsTally, WatchSettings
    from rigright.machine.history.store import open_history
    from rigright.machine.world import here
    from rigright.report.live.recent import Recent
    from rigright.verbs.watch.record import MachineMoment

    with tempfile.TemporaryDirectory() as folder, open_history(Path(folder) / "history.db") as history:
        tally, recent = MetricsTally(here(), WatchSettings()), Recent()
        pages = Pages(tally)
        start, marks = time.process_time(), []
        for n in range(DAY_S):
            tick = moment(n, 8)
            if n % 9000 > 8900:
                tick = replace(
                    tick, devices=tuple(card(i, n, state="lost" if i == 3 else "ok") for i in range(8))
                )
            tally.add(tick, 0.01)
            recent.add(MachineMoment(tick=tick))
            history.add_tick(tick)
            if n % 15 == 0:
                pages.page()
            if n % (DAY_S // 8) == 0:
                size = sum(path.stat().st_size for path in Path(folder).iterdir())
                files = len(list(Path("/proc/self/fd").iterdir()))
                marks.append((held(os.getpid()), size, files))
        spent = time.process_time() - start
        print(f"{'a day of looks, kept and scraped':<44} {spent:>9.0f} s, {1e3 * spent / DAY_S:.2f} ms each")
        for name, place, unit in (
            ("memory, MiB", 0, 2**20),
            ("history, MiB", 1, 2**20),
            ("files open", 2, 1),
        ):
            print(f"  {name:<42} " + "  ".join(f"{mark[place] / unit:.0f}" for mark in marks))
    print(f"{'most memory ever':<44} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:>9.0f} MiB")


if __name__ == "__main__":
    main()
