"""`validate`: compares predictions with measured runs, row by row.

`record.py` defines a kind of table and sums its errors up, `kinds/` has one file each, their columns are data/run_columns.csv.
`door.py` reads the words of others, `ask.py` is what a row asks, `verb.py` runs a file.
"""
