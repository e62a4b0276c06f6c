"""Memory of a million layouts in one call: `python benchmarks/layouts.py [MODEL] [LAYOUTS]`."""

from __future__ import annotations

import sys
import time

import numpy as np

from rigright.arch.sources.open import open_model
from rigright.cost.memory.serving import serving_memory
from rigright.demand import Layout, Serving
from rigright.facts.engines import find_engine
from rigright.facts.nodes import find_node
from rigright.terms.memory import device_of, started, weigh


def main(model: str = "llama-3.1-70b", layouts: int = 1_000_000) -> None:
    dice = np.random.default_rng(0)
    arch = open_model(model)
    weights = weigh(arch, "bf16")
    device = device_of(find_node("8x h100").cards[0], find_engine("vllm"))
    layout = Layout(tp=2 ** dice.integers(0, 4, layouts), pp=2 ** dice.integers(0, 4, layouts))
    serving = Serving(context_tok=dice.integers(1, 131072, layouts), batch=dice.integers(1, 256, layouts))
    took_s = []
    for _ in range(3):
        start = time.perf_counter()
        found = serving_memory(arch, weights, start=started(serving), layout=layout, device=device)
        took_s.append(time.perf_counter() - start)
    print(f"{model}: {layouts:,} layouts in {min(took_s):.2f} s, {np.mean(found.fits):.1%} of them fit")


if __name__ == "__main__":
    main(*sys.argv[1:2], *(int(word) for word in sys.argv[2:3]))
