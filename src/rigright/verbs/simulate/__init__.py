"""Requests played one by one on a machine: a trace, or a load that is made up.

`wish.py` is what was said, `setup.py` reads the setup of a trace, `shops.py` turns a case into a replica,
`play.py` plays a case or a plan, `frame.py` is the verb, `files.py` writes what became of each request.
"""
