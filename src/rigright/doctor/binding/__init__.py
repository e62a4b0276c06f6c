"""Finds the bottleneck of a running machine."""
