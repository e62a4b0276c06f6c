"""Hyper-connections: several residual streams that every block mixes anew."""

from __future__ import annotations

from rigright.arch.record import Weight


def connections(hidden: int, streams: int, *, mixed: bool = True) -> tuple[Weight, ...]:
    """How one block reads from the streams and writes to them; `mixed`: it also mixes them."""
    outputs = streams * (2 + streams) if mixed else 2 * streams
    return (
        Weight(role="other.connect", shape=(outputs, streams * hidden)),
        Weight(role="other.connect.bias", shape=(outputs,)),
        Weight(role="other.scale", shape=(3 if mixed else 2,)),
    )


def head_connection(hidden: int, streams: int) -> tuple[Weight, ...]:
    """How the streams become one before the head."""
    return (
        Weight(role="other.connect", shape=(streams, streams * hidden)),
        Weight(role="other.connect.bias", shape=(streams,)),
        Weight(role="other.scale", shape=(1,)),
    )
