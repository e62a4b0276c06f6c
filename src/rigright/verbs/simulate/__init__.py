"""`simulate`: plays a trace or a synthetic load request by request on a machine.

`setup.py` holds the options and a trace's setup, `replicas.py` plays a case or a plan, `verb.py` is the verb.
"""
