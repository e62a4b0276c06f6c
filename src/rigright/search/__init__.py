"""Searches layouts: enumerated as arrays, scored together, cut to a Pareto front, rejections with reasons."""
