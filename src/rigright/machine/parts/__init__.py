"""The rest of the machine, one file per part with `read(world) -> Read`."""
