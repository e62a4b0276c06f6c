"""Each network port at one moment: its rate, its bytes a second, its errors. InfiniBand's counters too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from rigright.base.units import MEGA
from rigright.machine.cells import positive_of, word_of
from rigright.machine.parts.network import BITS, NET, RDMA, RDMA_ERRORS, rdma_ports
from rigright.machine.sampling.kept import Kept
from rigright.machine.world import World

_IB_WORD_BYTES = 4  # InfiniBand counts words
_LIST_S = 15.0  # until states, rates and errors of the cards are read anew
_MOST = 64
_RX_BAD, _TX_BAD = slice(2, 4), slice(10, 12)  # errors and drops in a line of /proc/net/dev
Ways = tuple[int, int]  # bytes received and sent so far


@dataclass(frozen=True, slots=True, kw_only=True)
class PortUse:
    """One port at one moment."""

    name: str  # "eth0", "mlx5_0/1"
    kind: str  # "ethernet", "infiniband", "roce" ...
    state: str | None = None
    bytes_per_s: float | None = None  # what the link can carry
    rx_bytes_per_s: float | None = None
    tx_bytes_per_s: float | None = None
    errors: int | None = None  # so far, of every kind
    new_errors: int | None = None  # since we look


class PortReader:
    """Reads the ports again and again; what hardly changes is read now and then."""

    def __init__(self, world: World) -> None:
        self._world, self._kept = world, Kept(world)
        self._ports: tuple[PortUse, ...] = ()
        self._listed_s = float("-inf")
        self._before: tuple[float, Mapping[str, Ways]] | None = None
        self._first_errors: dict[str, int] = {}

    def read(self, clock_s: float) -> tuple[PortUse, ...]:
        """The ports now; the first reading has no rates."""
        table = self._table()
        if clock_s - self._listed_s >= _LIST_S:
            self._listed_s = clock_s
            self._ports = (*self._nets(), *self._rdma())[:_MOST]
        ways = {name: (row[0], row[8]) for name, row in table.items()}
        counted = (
            (port_use.name, self._words(port_use.name)) for port_use in self._ports if "/" in port_use.name
        )
        ways |= {name: words for name, words in counted if words is not None}
        before, self._before = self._before, (clock_s, ways)
        return tuple(self._now(port_use, table, before=before, clock_s=clock_s) for port_use in self._ports)

    def close(self) -> None:
        """Let go of the kernel's files."""
        self._kept.close()

    def _now(
        self,
        port: PortUse,
        table: Mapping[str, list[int]],
        *,
        before: tuple[float, Mapping[str, Ways]] | None,
        clock_s: float,
    ) -> PortUse:
        row = table.get(port.name)
        errors = port.errors if row is None else sum(row[_RX_BAD]) + sum(row[_TX_BAD])
        first = None if errors is None else self._first_errors.setdefault(port.name, errors)
        rates: tuple[float | None, float | None] = (None, None)
        now = self._before[1].get(port.name) if self._before is not None else None
        then = None if before is None else before[1].get(port.name)
        if now is not None and then is not None and before is not None and clock_s > before[0]:
            spent_s = clock_s - before[0]
            # a counter that went back began anew
            value, two = ((a - b) / spent_s if a >= b else None for a, b in zip(now, then, strict=True))
            rates = value, two
        return PortUse(
            name=port.name,
            kind=port.kind,
            state=port.state,
            bytes_per_s=port.bytes_per_s,
            rx_bytes_per_s=rates[0],
            tx_bytes_per_s=rates[1],
            errors=errors,
            new_errors=None if errors is None or first is None else max(errors - first, 0),
        )

    def _table(self) -> dict[str, list[int]]:
        """Rows of /proc/net/dev by name."""
        groups = {}
        for line in (self._kept.text("/proc/net/dev") or "").splitlines()[2:]:
            name, _, rest = line.partition(":")
            with suppress(ValueError):
                row = [int(word) for word in rest.split()]
                if len(row) >= 16:
                    groups[name.strip()] = row
        return groups

    def _nets(self) -> Iterator[PortUse]:
        """Interfaces with hardware below them."""
        for name in self._world.names(NET):
            if self._world.has(f"{NET}/{name}/device"):
                speed = positive_of(self._world, f"{NET}/{name}/speed")
                yield PortUse(
                    name=name,
                    kind="ethernet",
                    state=word_of(self._world, f"{NET}/{name}/operstate"),
                    bytes_per_s=speed * MEGA / BITS if speed else None,
                )

    def _rdma(self) -> Iterator[PortUse]:
        for port in rdma_ports(self._world):
            errors = [count for name, count in port.counters if name in RDMA_ERRORS]
            yield PortUse(
                name=port.name,
                kind=port.kind,
                state=port.state,
                bytes_per_s=port.bytes_per_s,
                errors=sum(errors) if errors else None,
            )

    def _words(self, name: str) -> Ways | None:
        card, _, number = name.partition("/")
        at = f"{RDMA}/{card}/ports/{number}/counters"
        received, sent = (self._kept.text(f"{at}/port_{way}_data") or "" for way in ("rcv", "xmit"))
        if not (received.isdecimal() and sent.isdecimal()):
            return None
        return int(received) * _IB_WORD_BYTES, int(sent) * _IB_WORD_BYTES
