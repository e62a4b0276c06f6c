"""`simulate`: plays a trace or a synthetic load request by request on a machine.

`setup.py` holds the options and reads a trace's setup, `replicas.py` turns a case or a plan into replicas and plays
them, `verb.py` is the verb and writes one line per request.
"""
