"""`validate`: compares predictions with measured runs, row by row.

`record.py` defines a kind of table and sums up its errors, `kinds/` has one file each. `door.py` reads the
words of others, `ask.py` is what a row asks, `verb.py` runs a file.
"""
