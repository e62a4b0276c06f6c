"""Output formats of other programs, one per file with `OUTPUT` (see `document.py`)."""
