"""Training memory of a million layouts: `python benchmarks/training_layouts.py [MODEL] [LAYOUTS]`."""

from __future__ import annotations

import sys
import time

import numpy as np

from rigright.arch.sources.open import open_model
from rigright.demand import Layout, Training
from rigright.predict.trained_memory import training_memory


def main(model: str = "llama-3.1-70b", layouts: int = 1_000_000) -> None:
    dice = np.random.default_rng(0)
    arch = open_model(model)
    sizes = {
        name: 2 ** dice.integers(0, most, layouts)
        for name, most in (("tp", 4), ("pp", 4), ("dp", 7), ("cp", 2))
    }
    training = Training(
        trainer="megatron",
        sharding="zero1",
        micro_batch=2 ** dice.integers(0, 4, layouts),
        seq_tok=1024 * 2 ** dice.integers(0, 5, layouts),
    )
    took_s = []
    for _ in range(3):
        start = time.perf_counter()
        found = training_memory(arch, training, layout=Layout(**sizes))
        took_s.append(time.perf_counter() - start)
    fits = np.mean(found.least_bytes < 80 * 2**30)
    print(f"{model}: {layouts:,} trainings in {min(took_s):.2f} s, {fits:.1%} of them fit 80 GiB")


if __name__ == "__main__":
    main(*sys.argv[1:2], *(int(word) for word in sys.argv[2:3]))
