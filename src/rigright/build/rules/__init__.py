"""Rules a machine must keep, some a file; each bears `RULES`."""
