"""Upgrades, one kind per file: `propose(standing) -> Iterator[Change]`."""
