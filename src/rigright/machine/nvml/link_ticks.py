"""NVLinks at one moment: light, for whoever looks every second."""

from __future__ import annotations

from rigright.base.units import KIB
from rigright.machine.nvml.raw import Raw, floats
from rigright.machine.tick import LinkTick

_BYTES = {"rx_bytes", "tx_bytes"}
_COUNTERS = ("replay", "recovery", "crc_flit", "crc_data")


def link_ticks(raw: Raw) -> tuple[LinkTick, ...] | None:
    """Every link at one moment, with what it counted so far."""
    states = raw.value("links.state")
    if not isinstance(states, list):
        return None
    result = []
    for index, state in enumerate(states):
        rx, tx = (floats(at_link(raw, reading, index=index)) for reading in ("links.rx_kib", "links.tx_kib"))
        counts = _counts(raw, index)
        tick = LinkTick(
            index=index,
            is_up=None if state is None else bool(state),
            rx_bytes=counts.get("rx_bytes") if rx is None else rx * KIB,
            tx_bytes=counts.get("tx_bytes") if tx is None else tx * KIB,
            errors=errors_of(raw, index),
        )
        result.append(tick)
    return tuple(result)


def at_link(raw: Raw, reading: str, *, index: int) -> object:
    """What a reading tells of one link."""
    values = raw.items(reading)
    value = values[index] if index < len(values) else None
    return value[0] if isinstance(value, list) and value else value


def errors_of(raw: Raw, index: int) -> tuple[tuple[str, int], ...]:
    """What one link counted, by kind: as far as Hopper each kind by a call of its own, then all by number."""
    fields = {name: at_link(raw, f"links.{name}", index=index) for name in _COUNTERS} | _counts(raw, index)
    return tuple((name, count) for name, count in fields.items() if name not in _BYTES and type(count) is int)


def _counts(raw: Raw, index: int) -> dict[str, int]:
    """What a link of Blackwell counted: bytes each way, and errors by kind."""
    values = raw.items("links.counts")
    return dict(Raw({"links.counts": values[index]}).counts("links.counts")) if index < len(values) else {}
