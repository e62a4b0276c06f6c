"""Benchmarks of this machine's hardware."""
