"""One file a format: `render(page, screen) -> str`."""
