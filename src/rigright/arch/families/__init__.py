"""One file a family: `MATCHES` (model types or class names it reads) and `read(config, name) -> Arch`."""
