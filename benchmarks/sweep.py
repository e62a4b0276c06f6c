"""A thousand questions of one grid, as whole processes: what each takes beside its neighbours.

`python benchmarks/sweep.py [QUESTIONS]`. Target: 1,000 in 4 s on two cores.
"""

from __future__ import annotations

import csv
import os
import sys
import tempfile
from itertools import islice, product
from pathlib import Path

from processes import RIG, in_units, once

MODELS = (
    *("llama-3.1-8b", "qwen3-8b", "qwen3-32b", "llama-3.1-70b", "gemma-3-27b"),
    *("qwen3-30b-a3b", "mistral-7b-v0.3", "phi-4", "gpt-oss-20b", "qwen2.5-14b"),
)
MACHINES = ("4090", "5090", "l40s", "h100", "2x h100", "8x h100", "mi300x", "2x 4090", "a100", "l4")
USERS, TPOT = (1, 8, 16, 32, 64), ("", "50ms")
MOST = 100  # starts of numpy, of all processes together: 4 s on two cores where one takes 0.079 s
HEADS = ("model", "on", "users", "tpot", "prompt", "output")


def grid(folder: Path, questions: int) -> Path:
    """So many questions: neighbours share the model and the machine."""
    path = folder / "grid.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        write = csv.writer(file)
        write.writerow(HEADS)
        write.writerows(
            (*asked, 2048, 512) for asked in islice(product(MODELS, MACHINES, USERS, TPOT), questions)
        )
    return path


def main(questions: str = "1000") -> None:
    """In one process, and in one for each core."""
    with tempfile.TemporaryDirectory() as folder:
        asked = grid(Path(folder), int(questions))
        for workers in dict.fromkeys((1, os.cpu_count() or 1)):
            spent = once([*RIG, "sweep", str(asked), "--workers", str(workers), "--json"])
            each = spent.wall_s / int(questions) * 1e3
            print(
                f"{int(questions):,} questions, {workers} at a time: {spent}, {each:.1f} ms each"
                f"{in_units(spent.cpu_s, most=MOST * int(questions) / 1000)}"
            )


if __name__ == "__main__":
    main(*sys.argv[1:2])
