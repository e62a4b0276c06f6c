"""NVIDIA's DCGM: what its diagnosis wrote."""
