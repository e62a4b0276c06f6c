"""Predictions held against measured runs: a CSV of ours or of the user's, row by row.

`record.py` is the contract of a kind of table, `kinds/` holds one file each, `models.py` finds the
model a row speaks of, `frame.py` runs a file, `scores.py` sums it up, `files.py` reads and writes.
"""
