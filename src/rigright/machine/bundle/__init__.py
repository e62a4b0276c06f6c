"""Bundles: everything read from a machine, without private data, to examine elsewhere."""
