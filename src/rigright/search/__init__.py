"""The space of layouts as arrays, scored at once, cut to a Pareto front; each rejection with its reason."""
