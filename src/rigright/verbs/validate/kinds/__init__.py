"""The kinds of measured files, one a file, each bearing `KIND` (see `record.py`)."""
