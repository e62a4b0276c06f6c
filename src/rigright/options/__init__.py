"""What is typed, declared once: a row each in `*rows.py`; `read.py` makes wishes of planning options."""
