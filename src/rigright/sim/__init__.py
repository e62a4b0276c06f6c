"""Simulates serving request by request, with the same cost functions as the closed form.

`load.py` holds the requests (`arrivals.py` generates them, `trace.py` reads them). `law.py` and `pace.py`
make a fast function of the time of a step. `server.py` is one replica (`decodes.py` counts its sequences,
`room.py` is the interface to `policies/`), `fleet.py` runs replicas behind a router, `tally.py` counts
the results.
"""
