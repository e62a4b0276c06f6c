"""What is known: chips, CPUs, clouds, prices, software, engines, formats, models, myths.

`kinds/` holds one file a kind, named as it is asked for (`chips.py`, `model.py`; `_` stands for `-`);
each bears `KIND`, a `report.listing.Kind`. `frame.look_up` finds, filters, sorts and cuts.
"""
