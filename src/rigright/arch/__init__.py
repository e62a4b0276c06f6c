"""Neural architectures: any description of a model -> `Arch`; exact parameter, KV-cache and FLOP counts.

`record.py` defines `Arch`. `sources/` find a model's description, and `families/` (one file per family,
built from `blocks.py`) turn it into an `Arch`. `count.py` counts parameters and FLOPs, `cache.py`
KV-cache elements per token.
"""
