"""One program a file; each bears `NAME` and `export(asked) -> dict[filename, text]`."""
