"""Launch files, one program per file: `NAME` and `export(launch) -> dict[filename, text]`."""
