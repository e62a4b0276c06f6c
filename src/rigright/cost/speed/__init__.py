"""Time of inference: the work of a pass, what a chip reaches, the time of a pass, and service under load."""
