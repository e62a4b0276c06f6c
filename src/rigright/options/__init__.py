"""Options of the planning commands, declared once: `rows.py` lists them, `read.py` makes wishes of them."""
