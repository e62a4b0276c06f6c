"""Output of NVIDIA's DCGM diagnostics."""
