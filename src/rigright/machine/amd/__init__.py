"""AMD GPUs: amd-smi and rocm-smi JSON, and sysfs without either."""
