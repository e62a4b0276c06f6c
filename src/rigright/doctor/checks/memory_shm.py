"""Shared memory (/dev/shm), which loader workers and several GPUs on one machine pass data through.

Docker gives a container 64 MiB of it unless told otherwise: PyTorch's loader workers then die with a bus
error, and NCCL fails or falls back. A machine gives half its memory.

Warning below 1 GiB for each card (of one card or more), fault at Docker's 64 MiB where cards are here.
Source: Docker's default of --shm-size; PyTorch's README on --ipc=host; NCCL documentation
(NCCL_SHM_DISABLE).
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import GIB, MIB, show_bytes
from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, as_root, seen, step

TITLE = say("shared memory (/dev/shm)")
A_CARD_BYTES = GIB
DOCKER_BYTES = 64 * MIB


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for a machine or container with cards."""
    size, cards = case.machine.memory.shm_bytes, len(case.machine.devices)
    if size is None or not cards:
        return
    if size >= A_CARD_BYTES * cards:
        yield Fine(says=say("{size}", size=show_bytes(size)))
        return
    inside = case.machine.system.is_contained
    run = step(
        say(
            "start the container with --ipc=host, or with --shm-size=16g; in Kubernetes mount an "
            "emptyDir of medium Memory there"
        )
    )
    mount = as_root(say("make it larger until the next reboot"), "mount -o remount,size=50% /dev/shm")
    yield Finding(
        severity="fault" if size <= DOCKER_BYTES else "warning",
        title=say("shared memory is {size}; cards: {cards}", size=show_bytes(size), cards=cards),
        evidence=seen(say("it holds {size}", size=show_bytes(size)), "df -h /dev/shm"),
        why=say("loader workers die with a bus error when it is full, and NCCL does not start"),
        fix=(run,) if inside or size <= DOCKER_BYTES else (mount,),
    )
