"""One kind of change a file; each bears `propose(standing) -> Iterator[Change]`."""
