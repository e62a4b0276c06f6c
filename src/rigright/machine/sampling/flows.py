"""Bytes through disks and network cards, and how busy the busiest disk is; each byte once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress

from rigright.base.units import KILO
from rigright.machine.sampling.kept import Kept
from rigright.machine.world import World

_SECTOR_BYTES = 512  # of /proc/diskstats, whatever the disk's own are
_IB_WORD_BYTES = 4  # InfiniBand counts words
_INFINIBAND = "32"  # kind of an interface that sends IP over InfiniBand
_LAYERS = re.compile(r"(loop|ram|zram|dm-|md|sr|fd|nbd)\d")  # made of other disks, or none
_PARTITION = re.compile(r"((sd|hd|vd|xvd)[a-z]+\d+|(nvme\d+n\d+|mmcblk\d+)p\d+)\Z")
_AGAIN_S = 60.0  # until the lists of disks and cards are made anew


class Flows:
    """Counters of disks and network, and their rates."""

    def __init__(self, world: World, kept: Kept | None = None) -> None:
        self._world = world
        self._kept = Kept(world) if kept is None else kept
        self._before: tuple[float, dict[str, int], dict[str, int]] | None = None
        self._disks: set[str] = set()
        self._cards: set[str] = set()
        self._ports: tuple[str, ...] = ()
        self._listed_s = -_AGAIN_S

    def rates(self, clock_s: float) -> dict[str, float]:
        """Fields of a HostTick; none at the first call."""
        if clock_s - self._listed_s >= _AGAIN_S:
            self._listed_s = clock_s
            world = self._world
            self._disks = {name for name in world.names("/sys/block") if not _LAYERS.match(name)}
            names = [name for name in world.names("/sys/class/net") if name != "lo"]
            real = {name for name in names if world.has(f"/sys/class/net/{name}/device")}
            self._ports = tuple(
                f"/sys/class/infiniband/{card}/ports/{port}/counters"
                for card in world.names("/sys/class/infiniband")
                for port in world.names(f"/sys/class/infiniband/{card}/ports")
            )
            kinds = {name: world.text(f"/sys/class/net/{name}/type") for name in real if self._ports}
            over_ib = {name for name, kind in kinds.items() if kind == _INFINIBAND}
            self._cards = (real or set(names)) - over_ib
        totals, busy_ms = self._counted()
        return self._rates(clock_s, totals, busy_ms=busy_ms)

    def foreign_rates(self, clock_s: float) -> dict[str, float]:
        """The same by psutil."""
        import psutil

        disk, net = psutil.disk_io_counters(), psutil.net_io_counters()
        totals: dict[str, int] = {}
        if disk is not None:
            totals |= {"disk_read_bytes_per_s": disk.read_bytes, "disk_write_bytes_per_s": disk.write_bytes}
        if net is not None:
            totals |= {"net_rx_bytes_per_s": net.bytes_recv, "net_tx_bytes_per_s": net.bytes_sent}
        return self._rates(clock_s, totals, busy_ms={})

    def _counted(self) -> tuple[dict[str, int], dict[str, int]]:
        """Bytes so far, by field; and milliseconds at work, by disk."""
        read, written, busy_ms = self._disk_counts()
        received, sent = self._net_counts()
        fields = {
            "disk_read_bytes_per_s": read,
            "disk_write_bytes_per_s": written,
            "net_rx_bytes_per_s": received,
            "net_tx_bytes_per_s": sent,
        }
        return {name: value for name, value in fields.items() if value is not None}, busy_ms

    def _disk_counts(self) -> tuple[int | None, int | None, dict[str, int]]:
        text = self._kept.text("/proc/diskstats")
        if text is None:
            return None, None, {}
        read = written = 0
        busy_ms = {}
        for line in text.splitlines():
            words = line.split()
            if len(words) > 12 and self._is_whole(words[2]):
                with suppress(ValueError):
                    read += int(words[5]) * _SECTOR_BYTES
                    written += int(words[9]) * _SECTOR_BYTES
                    busy_ms[words[2]] = int(words[12])
        return read, written, busy_ms

    def _is_whole(self, name: str) -> bool:
        if self._disks:
            return name in self._disks
        return not (_LAYERS.match(name) or _PARTITION.match(name))

    def _net_counts(self) -> tuple[int | None, int | None]:
        text = self._kept.text("/proc/net/dev")
        if text is None:
            return None, None
        received = sent = 0
        for line in text.splitlines()[2:]:
            name, _, rest = line.partition(":")
            words = rest.split()
            if len(words) > 8 and self._is_card(name.strip()):
                with suppress(ValueError):
                    received += int(words[0])
                    sent += int(words[8])
        over_ib = [self._words(f"{port}/port_{way}_data") for port in self._ports for way in ("rcv", "xmit")]
        return received + sum(over_ib[::2]), sent + sum(over_ib[1::2])

    def _is_card(self, name: str) -> bool:
        return name in self._cards if self._cards else name != "lo"

    def _words(self, path: str) -> int:
        text = self._kept.text(path) or ""
        return int(text) * _IB_WORD_BYTES if text.isdecimal() else 0

    def _rates(
        self, clock_s: float, totals: Mapping[str, int], *, busy_ms: Mapping[str, int]
    ) -> dict[str, float]:
        before, self._before = self._before, (clock_s, dict(totals), dict(busy_ms))
        if before is None or clock_s <= before[0]:
            return {}
        passed_s = clock_s - before[0]
        fields = {
            name: (value - before[1][name]) / passed_s
            for name, value in totals.items()
            if value >= before[1].get(name, value + 1)
        }
        busiest = max(_shares(busy_ms, before[2], passed_s=passed_s), default=None)
        return fields if busiest is None else fields | {"disk_busy_share": busiest}


def _shares(now: Mapping[str, int], before: Mapping[str, int], *, passed_s: float) -> Iterable[float]:
    for name, value in now.items():
        if value >= before.get(name, value + 1):
            yield min((value - before[name]) / KILO / passed_s, 1.0)
