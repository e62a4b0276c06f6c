"""Parts that do well and badly, in a child process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from rigright.base.errors import MissingError
from rigright.base.words import say
from rigright.machine.bench.record import Skipped
from rigright.machine.bench.table import PartRow
from rigright.machine.bench.tasks import taken


def fine(_ask):
    yield taken("a", on="cpu", times_s=[1.0, 2.0, 3.0])
    yield Skipped(part="", why=say("only one GPU"))


def dies(_ask):
    yield taken("before", on="cpu", times_s=[1.0])
    sys.stderr.write("the driver is gone\n")
    sys.stderr.flush()
    os._exit(7)


def hangs(_ask):
    yield taken("before", on="cpu", times_s=[1.0])
    time.sleep(60)


def raises(_ask):
    yield taken("before", on="cpu", times_s=[1.0])
    raise ValueError("first line\nsecond line")


def refuses(_ask):
    raise MissingError(say("only one GPU"))
    yield


def starts(ask):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    (Path(ask.folder) / "left").write_text("x", encoding="utf-8")
    Path(ask.shown_folder, "pids").write_text(f"{os.getpid()} {child.pid}", encoding="utf-8")
    yield taken("started", on="cpu", times_s=[1.0])
    time.sleep(60)


def sticky(_ask):
    raise RuntimeError("CUDA error: an illegal memory access was encountered")
    yield


def talks(_ask):
    sys.stdout.write("a library that prints" + "\n")
    sys.stdout.write(json.dumps({"result": {"part": "forged"}}) + "\n")
    yield taken("a", on="cpu", times_s=[1.0])


class Toy(PartRow):
    def run(self, ask):
        yield from globals()[self.name](ask)


NAMES = ("fine", "dies", "hangs", "raises", "refuses", "starts", "sticky", "talks")
PARTS = {name: Toy(name, say("done"), "cards", (), 1.0, "toys") for name in NAMES}
