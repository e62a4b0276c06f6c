"""Predictions of measured runs, and corrections refitted from them: `python benchmarks/runs.py [FOLDER]`.

The folder holds inference.csv, training.csv, vision.csv, memory.csv; what is not there is left out.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from processes import RIG, ROOT, best, in_units, once

MEASURED = ROOT.parent / "shared" / "measured"
MOST = {"inference": 25, "training": 13}  # starts of numpy: 2 s and 1 s where one takes 0.079 s
KINDS = ("inference", "training", "vision", "memory")
SUBJECTS = ("speed_serving", "speed_streams", "speed_training", "speed_images")


def rows(path):
    """Of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return sum(1 for _ in csv.DictReader(file))


def main(folder: str | Path = MEASURED) -> None:
    """Each file, then each subject."""
    found = [path for kind in KINDS if (path := Path(folder) / f"{kind}.csv").is_file()]
    for path in found:
        count = rows(path)
        cost = best([*RIG, "validate", str(path), "--json"], rounds=1)
        each_ms = 1e3 * cost.cpu_s / count
        wanted = in_units(cost.cpu_s, most=MOST[path.stem]) if path.stem in MOST else ""
        print(f"{f'validate {path.name}, {count:,} rows':<64} {cost}   {each_ms:.1f} ms of CPU a row{wanted}")
    if not found:
        print(f"left out: no measured runs in {folder}")
        return
    for subject in SUBJECTS:
        told = [*RIG, "calibrate", "--subject", subject, "--json", "--runs", *map(str, found)]
        print(f"{f'calibrate {subject}':<64} {once(told)}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
