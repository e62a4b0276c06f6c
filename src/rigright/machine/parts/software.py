"""The software: drivers, toolkits, Pythons with their frameworks, containers."""

from __future__ import annotations

from rigright.base.words import say
from rigright.machine.record import Read, Unseen
from rigright.machine.running.drivers import drivers, fabric_version, nccl, toolkits
from rigright.machine.running.packages import containers, packages
from rigright.machine.running.pythons import pythons
from rigright.machine.system import Software
from rigright.machine.world import World


def read(world: World) -> Read:
    """All but what the driver's own library says."""
    packed = packages(world)
    software = Software(
        **drivers(world),
        **containers(world, packed),
        packages=packed,
        toolkits=toolkits(world),
        pythons=pythons(world),
        nccl=nccl(world, packed),
        fabric_manager=fabric_version(world, packed),
    )
    unseen = []
    if software.docker is not None and software.docker_runtimes is None:
        why = say("no permission to query the container engine")
        unseen.append(Unseen(what="software.docker_runtimes", why=why, see="sudo docker info"))
    return Read(fields={"software": software}, unseen=tuple(unseen))
