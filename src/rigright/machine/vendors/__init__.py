"""Accelerators, one file per vendor with `read(world) -> Read`."""
