"""`look-up`: chips, CPUs, clouds, prices, software, engines, formats, models, myths.

`kinds/` has one file per kind, named as on the command line (`chips.py`, `model.py`; `_` stands for `-`),
each with `KIND`, a `report.listing.Kind`. `verb.look_up` finds, filters, sorts and limits.
"""
