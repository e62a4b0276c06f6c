"""Training: memory of one rank, and time of a step."""
