"""One file per family: `MATCHES` (model types or class names) and `read(config, name) -> Arch`."""
