"""What is run: any description of a model -> `Arch`, with exact parameter, cache and FLOP counts.

`record.py` is the Arch itself; `families/` turn a config into one (a file a family, written with
`blocks.py`); `sources/` find what describes a model; `count.py` and `cache.py` count.
"""
