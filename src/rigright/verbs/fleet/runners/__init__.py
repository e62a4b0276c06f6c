"""How nodes are reached: one file a way. Each bears `run`, which yields nodes as they answer.

It bears `ask` too, which asks nodes by name, some of them together; None where that cannot be done.
"""
