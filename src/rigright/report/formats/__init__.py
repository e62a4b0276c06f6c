"""One file per format: `render(page, screen) -> str`."""
