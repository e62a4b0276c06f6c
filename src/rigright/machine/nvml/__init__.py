"""NVML, NVIDIA's driver library, read in a child process, so that a hang or crash stays there."""
