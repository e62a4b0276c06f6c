"""`explain --train`: the case with its defaults, memory per rank, limits, and what to change."""
