"""The laws: memory, time and power of a workload, functions of numbers or arrays and of the terms they get.

Memory: `weights.py`, `memory_kv.py` (KV cache), `memory_step.py` (activations, logits), summed in
`memory_serving.py` and `training_memory.py`. Time: `speed/` (inference), `training_time.py`, `images/`,
`links.py` (collectives). Power: `power.py`. 80 % bands: `bands.py`. They look nothing up: what was fitted or
tabulated is fetched in `terms/`.
"""
