"""The system: release, kernel, board, virtualisation, what it is set to and who runs."""

from __future__ import annotations

import os
import time

from rigright.base.words import say
from rigright.machine.record import Read, Unseen
from rigright.machine.running.modules import (
    blacklisted,
    iommu,
    lockdown,
    module_options,
    modules,
    secure_boot,
)
from rigright.machine.running.release import container, release, virtual
from rigright.machine.running.services import clock, services
from rigright.machine.running.settings import limits, pressure, settings, stuck
from rigright.machine.system import System
from rigright.machine.world import World


def read(world: World) -> Read:
    """All of it but drivers and what stands on them."""
    inside = container(world)
    synced, off_s = clock(world)
    pairs = services(world)
    system = System(
        **release(world),
        virtual=virtual(world),
        container=inside,
        as_root=os.geteuid() == 0 if world.is_live and hasattr(os, "geteuid") else None,
        now_s=time.time() if world.is_live else None,
        secure_boot=secure_boot(world, inside),
        lockdown=lockdown(world),
        iommu=iommu(world),
        modules=modules(world),
        blacklisted=blacklisted(world),
        module_options=module_options(world),
        settings=settings(world),
        limits=limits(world),
        clock_synced=synced,
        clock_off_s=off_s,
        services=pairs or (),
        stuck=stuck(world),
        pressure=pressure(world),
    )
    return Read(fields={"system": system}, unseen=tuple(_unseen(system, asked=pairs is not None)))


def _unseen(system: System, *, asked: bool) -> list[Unseen]:
    """What would be known with more rights, or from outside of the container."""
    gaps = []
    if not asked:
        why = say("no systemd here: services not readable")
        gaps.append(Unseen(what="system.services", why=why, see="systemctl list-units"))
    if system.secure_boot is None:
        why = say("EFI variables not readable here")
        gaps.append(Unseen(what="system.secure_boot", why=why, see="mokutil --sb-state"))
    if system.modules is None:
        why = say("kernel module list not readable here")
        gaps.append(Unseen(what="system.modules", why=why, see="lsmod"))
    if system.clock_synced is None:
        why = say("NTP state not readable")
        gaps.append(Unseen(what="system.clock_synced", why=why, see="timedatectl"))
    return gaps
