"""Monitoring files, one program per file: `NAME` and `export(asked) -> dict[filename, text]`."""
