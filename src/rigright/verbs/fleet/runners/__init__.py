"""How nodes are reached: one file a way. Each bears `run`, which yields nodes as they answer."""
