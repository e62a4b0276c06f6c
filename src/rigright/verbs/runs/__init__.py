"""Measured runs: output of benchmarks, trainers and engines -> rows of the tables of `validate`."""
