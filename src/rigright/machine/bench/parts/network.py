"""The network to another machine where `rigright bench --listen` runs; without one, this machine's own loop.

The loop says how fast this system's network code is, not any cable.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

from rigright.base.words import say
from rigright.machine.bench import wire
from rigright.machine.bench.ask import BenchRequest
from rigright.machine.bench.figures import Settings, spread, taken
from rigright.machine.bench.record import Result, Skipped

TITLE = say("network to another machine, or loopback")
GROUP = "network"
NEEDS = ()
SHARE = 0.7

WAYS = {"send": wire.SEND, "fetch": wire.FETCH}
STREAMS = (1, 4)
ROUND_S, QUICK_ROUND_S, SHORTEST_S, MOST_ROUNDS = 2.0, 0.3, 0.1, 3


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Both ways over one and several connections, and the time there and back."""
    if ask.peer is not None:
        yield from _between(ask, wire.address_of(ask.peer), on=ask.peer)
        return
    with wire.listener("127.0.0.1", 0) as waiting:
        wire.attended(waiting)
        yield from _between(ask, ("127.0.0.1", waiting.getsockname()[1]), on="loopback")


def _between(ask: BenchRequest, address: tuple[str, int], *, on: str) -> Iterator[Result]:
    host, port = address
    through = port_to(host, port)
    streams = (1,) if ask.quick else STREAMS
    rounds = 1 + len(streams) * len(WAYS) * MOST_ROUNDS
    round_s = min(QUICK_ROUND_S if ask.quick else ROUND_S, max(SHORTEST_S, ask.spare_s / rounds))
    times = wire.round_trips(host, port, spare_s=round_s)
    yield taken("there and back", on=on, times_s=times, settings=(("bytes", str(wire.ECHO_BYTES)),))
    for name, way in WAYS.items():
        for count in streams:
            rates = [
                wire.throughput(host, port, way=way, streams=count, spare_s=round_s)
                for _ in range(MOST_ROUNDS)
            ]
            words = (("connections", str(count)), ("protocol", "TCP"), *through)
            yield spread(
                f"{name}, {count} connections", on=on, values=rates, unit="bytes_per_s", settings=words
            )


def port_to(host: str, port: int) -> Settings:
    """The network port that the way there begins at; no packet is sent to find it."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    with suppress(OSError, ImportError), socket.socket(kind, socket.SOCK_DGRAM) as line:
        import psutil

        line.connect((host, port or 1))
        own = line.getsockname()[0]
        for name, addresses in psutil.net_if_addrs().items():
            if any(address.address.partition("%")[0] == own for address in addresses):
                return (("port", name),)
    return ()
