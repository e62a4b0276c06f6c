"""Memory, time, power and money of a workload: pure functions on numbers or arrays.

Memory: `weights.py`, `memory_kv.py` (KV cache), `memory_step.py` (activations, logits), summed in
`memory_serving.py` and `training_memory.py`. Time: `speed/` (inference), `training_time.py`, `images/`,
`links.py` (collectives). Power: `power.py`. Money: `money.py`, `lifetime.py`, `renting.py`. 80 % bands:
`bands.py`.
"""
