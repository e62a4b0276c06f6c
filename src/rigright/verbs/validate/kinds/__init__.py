"""Kinds of tables of measured runs, one per file with `KIND` (see `record.py`)."""
