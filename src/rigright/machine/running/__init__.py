"""What runs on a machine, read piece by piece: system, drivers, Pythons, containers, the kernel's log."""
