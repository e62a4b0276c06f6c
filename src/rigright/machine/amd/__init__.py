"""AMD: what amd-smi and rocm-smi say in JSON, and what the kernel shows without either."""
