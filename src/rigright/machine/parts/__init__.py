"""The rest of the machine, a part a file; each bears `read(world) -> Read`."""
