"""Simulates serving request by request, with the same cost functions as the closed form.

`load.py` holds the requests, made up or read from a trace. `pace.py` makes a fast function of the time
of a step. `server.py` is one replica (`decodes.py` counts its sequences, `room.py` says whom a batching
policy takes into a pass), `fleet.py` runs replicas behind a router, `tally.py` counts the results.
"""
