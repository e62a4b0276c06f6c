"""Predictions held against measured runs: a CSV of ours or of the user's, row by row.

`record.py` is the contract (`Kind`, `Prediction`), `kinds/` holds one file a kind of table,
`models.py` finds the model a row speaks of, `frame.py` runs a file, `scores.py` sums it up.
"""
