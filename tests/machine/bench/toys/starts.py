from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from rigright.base.words import say
from rigright.machine.bench.figures import taken

TITLE = say("done")
GROUP = "cards"
NEEDS = ()
SHARE = 1.0


def run(ask):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    (Path(ask.folder) / "left").write_text("x", encoding="utf-8")
    Path(ask.shown_folder, "pids").write_text(f"{os.getpid()} {child.pid}", encoding="utf-8")
    yield taken("started", on="cpu", times_s=[1.0])
    time.sleep(60)
