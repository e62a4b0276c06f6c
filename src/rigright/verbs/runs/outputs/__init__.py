"""What programs write, one format a file, each bearing `OUTPUT` (see `document.py`)."""
