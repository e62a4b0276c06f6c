"""The laws: memory, time and power of a workload, functions of numbers or arrays and of the terms they get.

Memory: `weights.py`, and of inference `memory/` (KV cache, activations, logits, summed in `serving.py`).
Training: `training/` (`memory.py`, `time.py`). Time: `speed/` (inference), `images.py`, `links.py`
(collectives). Power: `power.py`. 80 % bands: `bands.py`. They look nothing up: what was fitted or tabulated
is fetched in `terms/`.
"""
