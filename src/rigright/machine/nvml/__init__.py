"""NVIDIA's driver library, read by a child process that may hang or die in our place."""
