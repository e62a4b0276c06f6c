"""Ports for servers that tests start: chosen by lot where neither the kernel nor Ray's workers take any."""

from __future__ import annotations

import random
import socket

OURS = range(20_000, 30_000)


def free_ports(count: int) -> list[int]:
    """So many ports of loopback that nobody listens on; two tests at once hardly get the same."""
    found: list[int] = []
    for port in random.SystemRandom().sample(OURS, len(OURS)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            break
    return found


def free_port() -> int:
    """One of them."""
    (port,) = free_ports(1)
    return port
