"""`simulate`: plays a trace or a synthetic load request by request on a machine.

`wish.py` holds the options, `setup.py` reads a trace's setup, `shops.py` turns a case into a replica,
`play.py` plays a case or plan, `verb.py` is the verb, `files.py` writes one line per request.
"""
