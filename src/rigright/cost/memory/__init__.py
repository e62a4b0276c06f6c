"""Inference memory of one rank, part by part."""
