"""What a watch has seen so far: the newest moment, and what only adds up."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from functools import cache
from threading import Lock, Thread

from rigright.base.tables import DATA, read_rows, text
from rigright.machine.exporter.programs import Owners, Shares
from rigright.machine.host import NodePower, Port
from rigright.machine.parts.network import rdma_ports
from rigright.machine.parts.node_power import node_power
from rigright.machine.pci import pci_key
from rigright.machine.system import Event
from rigright.machine.tick import HostTick, Tick
from rigright.machine.world import World

_MOST_CODES = 64  # of XIDs that one card is counted by: a kernel log may hold anything
_LONGEST_STEP_S = 60.0  # between two moments that belong together
_POWER_EVERY_S = 30.0  # the management controller is slow, and busy with the fans
_PORTS_EVERY_S = 15.0  # their counters are asked of the card's firmware
_RATES = tuple(item.name for item in fields(HostTick) if item.name.endswith("_per_s"))
_LATE = 3  # intervals without a reading, until the collector counts as down


@dataclass(slots=True, kw_only=True, frozen=True)
class WatchSettings:
    """How the watch is set up, as its metrics tell it."""

    every_s: float = 1.0
    keeps_history: Callable[[], bool] = bool
    reads_log: Callable[[], bool] = bool
    cards: int = 0  # that a baseline names
    differs: Callable[[], Iterable[str]] = tuple  # traits unlike the baseline


@dataclass(slots=True, frozen=True)
class Sums:
    """What only adds up, by card and by field."""

    energy_j: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    of_host: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # field -> its rate, summed
    slowed_s: dict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    xids: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))
    last_xid: dict[str, int] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=lambda: defaultdict(int))


@cache
def reasons() -> tuple[str, ...]:
    """Why a card can be slowed, idleness apart."""
    rows = read_rows(DATA / "slowdowns.csv", {"word": text, "judged": text}, required=("word",))
    return tuple(row["word"] for row in rows if row["judged"] != "none")


class MetricsTally:
    """Eats moments and events in one thread, is read in another."""

    def __init__(
        self, world: World, settings: WatchSettings, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.settings = settings
        self.lock = Lock()
        self.tick: Tick | None = None
        self.took_s = 0.0
        self.n_ticks = 0
        self.most_seen = 0
        self.sums = Sums()
        self.programs: Shares = {}
        self.ports: list[Port] = []
        self._ports_s = float("-inf")
        self.power: NodePower | None = None
        self._power_s = float("-inf")
        self._asks_power: Thread | None = None
        self._world = world
        self._owners = Owners(world)
        self._clock = clock

    def add(self, tick: Tick, took_s: float = 0.0) -> None:
        """A moment, and how long reading it took."""
        programs = self._owners.shares(tick.devices)
        if tick.clock_s - self._ports_s >= _PORTS_EVERY_S:
            self.ports, self._ports_s = rdma_ports(self._world), tick.clock_s
        self._ask_now_and_then(tick.clock_s)
        with self.lock:
            if self.tick is not None:
                passed_s = min(max(tick.clock_s - self.tick.clock_s, 0.0), _LONGEST_STEP_S)
                for name in _RATES:
                    rate = getattr(tick.host, name)
                    if rate is not None:
                        self.sums.of_host[name] += rate * passed_s
                for device in tick.devices:
                    if device.state == "ok":
                        for reason in {*reasons()}.intersection(device.slowed_by or ()):
                            self.sums.slowed_s[device.card, reason] += passed_s
                        if device.power_w is not None:
                            self.sums.energy_j[device.card] += device.power_w * passed_s
            self.tick, self.took_s, self.programs = tick, took_s, programs
            self.n_ticks += 1
            self.most_seen = max(self.most_seen, len(tick.devices))

    def _ask_now_and_then(self, clock_s: float) -> None:
        """Start to ask for the node's watts, where that is due and nobody still waits for an answer."""
        waits = self._asks_power is not None and self._asks_power.is_alive()
        if clock_s - self._power_s >= _POWER_EVERY_S and not waits:
            self._power_s = clock_s
            self._asks_power = Thread(target=self._ask_power, daemon=True, name="node power")
            self._asks_power.start()

    def _ask_power(self) -> None:
        """The node's watts, beside the moments: nobody waits for it."""
        power = node_power(self._world)
        with self.lock:
            self.power = power

    def add_events(self, events: Iterable[Event]) -> None:
        """What the kernel log told."""
        with self.lock:
            devices = self.tick.devices if self.tick is not None else ()
            cards = {pci_key(device.pci): device.card for device in devices if device.pci}
            most = _MOST_CODES * max(len(devices), 1)
            xids = self.sums.xids
            for event in events:
                self.sums.events[event.kind] += 1
                if event.kind == "xid" and event.code is not None:
                    card = cards.get(pci_key(event.pci), "")
                    self.sums.last_xid[card] = event.code
                    if (card, event.code) in xids or len(xids) < most:
                        xids[card, event.code] += 1

    @property
    def is_up(self) -> bool:
        """Whether moments still come."""
        if self.tick is None:
            return False
        return self._clock() - self.tick.clock_s <= _LATE * self.settings.every_s + 1.0
