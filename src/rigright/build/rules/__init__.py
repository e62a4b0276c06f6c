"""Compatibility rules of a machine, grouped by file, each file with `RULES`."""
