"""The whole machine once a second: devices and host, and a command with all it started."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Self

from rigright.machine.possible import possible_tick
from rigright.machine.sampling.driver import WAIT_S, DriverNeeds, DriverReader, nvml_session
from rigright.machine.sampling.drm import DrmReader
from rigright.machine.sampling.host import HostReader
from rigright.machine.sampling.tree import TreeReader
from rigright.machine.tick import Tick
from rigright.machine.world import World


class Sampler:
    """Reads a world again and again; no driver that hangs ever holds it up."""

    def __init__(
        self,
        world: World,
        tree_of: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        session: Callable[[], DriverNeeds] | None = None,
        activity: bool = False,  # of the cards' parts, too
    ) -> None:
        self._world, self._clock, self._wall = world, clock, wall
        self._host = HostReader(world)
        self._drm = DrmReader(world)
        self._tree = None if tree_of is None else TreeReader(world, tree_of)
        start = session or (lambda: nvml_session(world, activity=activity))
        self._driver = DriverReader(start, clock) if world.is_live or session else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def wake(self) -> None:
        """Let the driver start, beside whatever is done until the first tick."""
        if self._driver is not None:
            self._driver.wake()

    def tick(self, wait_s: float = WAIT_S) -> Tick:
        """The machine now; a driver that has not answered within the wait shows as stale."""
        devices = self._driver.read(wait_s) if self._driver is not None else ()
        clock_s = self._clock()
        devices += self._drm.read(clock_s)
        tick = Tick(
            at_s=self._wall(),
            clock_s=clock_s,
            devices=devices,
            host=self._host.read(clock_s),
            on_bus=self._drm.on_bus,
        )
        whole = tick if self._tree is None else replace(tick, tree=self._tree.read(clock_s, devices))
        return possible_tick(whole)

    def follow(self, pid: int) -> None:
        """From now on with what this process and all it starts take."""
        self._tree = TreeReader(self._world, pid)

    def close(self) -> None:
        """End the talk with the driver, and let go of the kernel's files."""
        if self._driver is not None:
            self._driver.close()
        self._host.close()
        self._drm.close()
