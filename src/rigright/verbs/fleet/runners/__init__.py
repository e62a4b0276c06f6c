"""How nodes are reached, one file per way: `run` yields nodes as they answer.

`ask` asks nodes by name, some of them together; it is None where that is impossible.
"""
