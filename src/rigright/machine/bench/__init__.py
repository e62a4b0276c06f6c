"""Benchmarks: what this hardware really does."""
