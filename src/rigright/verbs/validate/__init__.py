"""`validate`: compares predictions with measured runs, row by row.

`record.py` defines a kind of table, `kinds/` has one file each, `models.py` finds the model of a row,
`frame.py` runs a file, `scores.py` summarises, `files.py` reads and writes.
"""
