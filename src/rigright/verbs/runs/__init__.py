"""Runs that people measured: what benchmarks, trainers and engines write, as rows of our tables."""
