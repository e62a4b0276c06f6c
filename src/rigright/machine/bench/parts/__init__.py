"""One benchmark per file."""
