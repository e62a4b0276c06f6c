"""Software on a machine: system, drivers, Pythons, containers, kernel log."""
