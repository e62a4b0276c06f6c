"""One program a file; each bears `NAME` and `export(launch) -> dict[filename, text]`."""
