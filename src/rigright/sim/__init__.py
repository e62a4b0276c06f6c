"""Requests played one by one on the same laws of time as the closed form.

`load.py` is what arrives (`arrivals.py` makes it, `trace.py` reads it), `law.py` and `pace.py` turn the law
of a pass into a cheap function, `server.py` is one replica (`decodes.py` counts its sequences, `room.py` is
what `policies/` are asked), `fleet.py` runs replicas behind a router, `tally.py` is what was counted.
"""
