"""NVLinks of a device, now and as a record; the paths between devices as `nvidia-smi topo -m` has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from rigright.base.units import KIB, MEGA
from rigright.machine.device import Device, DirectLink
from rigright.machine.nvml import codes
from rigright.machine.nvml.readings import Raw, floats
from rigright.machine.tick import LinkTick
from rigright.machine.values import address

if TYPE_CHECKING:
    from rigright.machine.host import Path


_BYTES = {"rx_bytes", "tx_bytes"}
_COUNTERS = ("replay", "recovery", "crc_flit", "crc_data")


def link_ticks(raw: Raw) -> tuple[LinkTick, ...] | None:
    """Every link at one moment, with what it counted so far."""
    states = raw.value("links.state")
    if not isinstance(states, list):
        return None
    result = []
    for index, state in enumerate(states):
        rx, tx = (floats(_at_link(raw, reading, index=index)) for reading in ("links.rx_kib", "links.tx_kib"))
        counts = _counts(raw, index)
        tick = LinkTick(
            index=index,
            is_up=None if state is None else bool(state),
            rx_bytes=counts.get("rx_bytes") if rx is None else rx * KIB,
            tx_bytes=counts.get("tx_bytes") if tx is None else tx * KIB,
            errors=_errors_of(raw, index),
        )
        result.append(tick)
    return tuple(result)


def _at_link(raw: Raw, reading: str, *, index: int) -> object:
    """What a reading tells of one link."""
    values = raw.items(reading)
    value = values[index] if index < len(values) else None
    return value[0] if isinstance(value, list) and value else value


def _errors_of(raw: Raw, index: int) -> tuple[tuple[str, int], ...]:
    """What one link counted, by kind: as far as Hopper each kind by a call of its own, then all by number."""
    fields = {name: _at_link(raw, f"links.{name}", index=index) for name in _COUNTERS} | _counts(raw, index)
    return tuple((name, count) for name, count in fields.items() if name not in _BYTES and type(count) is int)


def _counts(raw: Raw, index: int) -> dict[str, int]:
    """What a link of Blackwell counted: bytes each way, and errors by kind."""
    values = raw.items("links.counts")
    return dict(Raw({"links.counts": values[index]}).counts("links.counts")) if index < len(values) else {}


_VERSIONS = (None, 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0, 6.0)


def links_of(raw: Raw) -> tuple[DirectLink, ...] | None:
    """Every link; none where the driver says that the device has no NVLink, None where it could not say."""
    if raw.failed("links.state") in {codes.NOT_SUPPORTED, 2}:
        return ()
    states = raw.value("links.state")
    if not isinstance(states, list):
        return None
    common = next(iter(raw.items("links.common")), None)
    return tuple(_link(raw, index, active=state, common=common) for index, state in enumerate(states))


def _link(raw: Raw, index: int, *, active: object, common: object) -> DirectLink:
    speed = floats(_at_link(raw, "links.speed", index=index)) or floats(common)
    version = _at_link(raw, "links.version", index=index)
    return DirectLink(
        index=index,
        active=None if active is None else bool(active),
        version=_VERSIONS[version] if isinstance(version, int) and 0 <= version < len(_VERSIONS) else None,
        bytes_per_s=speed * MEGA if speed and active else None,
        peer=address(str(_at_link(raw, "links.peer", index=index) or "")),
        peer_kind=codes.word(codes.PEER_KINDS, _at_link(raw, "links.peer_kind", index=index)),
        errors=_errors_of(raw, index),
    )


def cpu_links_of(raw: Raw) -> tuple[DirectLink, ...] | None:
    """Every link to the processor; none where the driver says so, None where it could not say."""
    if raw.failed("c2c.on") == codes.NOT_SUPPORTED or raw.number("c2c.on", "isC2cEnabled") == 0:
        return ()
    states, speeds = raw.items("c2c.state"), raw.items("c2c.speed")
    if not states:
        return None
    return tuple(
        DirectLink(
            index=index,
            active=None if state is None else bool(state),
            bytes_per_s=speed * MEGA if speed and state else None,
            peer_kind="cpu",
        )
        for index, (state, speed) in enumerate(zip_longest(states, map(floats, speeds)))
    )


def paths_of(devices: Sequence[Device], pairs: Iterable[Sequence[Any]]) -> tuple[Path, ...]:
    """The path of each pair whose way the driver told; links between them come before the bus."""
    from rigright.machine.host import Path

    by_index = {device.index: device for device in devices}
    paths = []
    for a, b, level, peer in pairs:
        joined = _links_between(by_index[a], by_index[b]) if a in by_index and b in by_index else 0
        kind = f"NV{joined}" if joined else codes.word(codes.LEVELS, level)
        if kind is not None:
            paths.append(Path(a=a, b=b, kind=kind, peer=None if peer is None else peer == 0))
    return tuple(paths)


def _links_between(device: Device, other: Device) -> int:
    """Active links that join two devices: straight ones, or else the fewer of those into common switches."""
    straight = sum(link.active is True and link.peer == other.pci for link in device.links or ())
    if straight or other.pci is None:
        return straight
    here, there = _into_switches(device), _into_switches(other)
    return min(sum(here.values()), sum(there.values())) if here.keys() & there.keys() else 0


def _into_switches(device: Device) -> Counter[str | None]:
    return Counter(
        link.peer for link in device.links or () if link.active is True and link.peer_kind == "switch"
    )
