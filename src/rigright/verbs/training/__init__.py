"""`explain --train`: the case with its defaults, memory by rank, how far it goes, what to change and why."""
