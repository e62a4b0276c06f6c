"""Architectures with a structure of their own, by kin: `read_<family>(config, name) -> Arch` each."""
