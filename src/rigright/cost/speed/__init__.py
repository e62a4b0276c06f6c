"""Time of inference: work of a step, rates a chip reaches, time of a step, latency under load."""
