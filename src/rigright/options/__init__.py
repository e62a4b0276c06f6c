"""Every option of the planning verbs, declared once: `rows.py` holds them, `read.py` makes wishes of them."""
