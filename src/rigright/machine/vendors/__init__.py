"""Accelerators by vendor; each file bears `read(world) -> Read` with its devices."""
