"""NVIDIA: through its library where the machine is here, else from what `nvidia-smi` said."""

from __future__ import annotations

from dataclasses import replace

from rigright.base.errors import DataError
from rigright.base.words import Sentence, say
from rigright.machine.device import Device
from rigright.machine.jetson import with_board
from rigright.machine.record import Read, Unseen
from rigright.machine.system import Software
from rigright.machine.world import ABSENT, PAST_TIME, World

_SMI = "nvidia-smi"
SMI = (_SMI, "-q", "-x")
_MODULE = "/proc/driver/nvidia/version"
_ON_BUS = "/sys/bus/pci/devices"
_NVIDIA = "0x10de"
_LIBRARY = "libnvidia-ml.so"


def read(world: World) -> Read:
    """Every NVIDIA device, how they reach each other, and the driver."""
    given = _live(world) if world.is_live else _recorded(world)
    # A device that shares the processor's memory has as much of it as the system has
    read = with_board(world, given)
    from rigright.machine.meminfo import meminfo

    devices: tuple[Device, ...] = read.fields.get("devices", ())
    if not any(device.unified_memory and device.mem_total_bytes is None for device in devices):
        return read
    memory = meminfo(world)
    total, free = memory.get("MemTotal"), memory.get("MemAvailable")
    shared = tuple(
        replace(device, mem_total_bytes=total, mem_free_bytes=free)
        if device.unified_memory and device.mem_total_bytes is None
        else device
        for device in devices
    )
    return Read(fields={**read.fields, "devices": shared}, unseen=read.unseen)


def _live(world: World) -> Read:
    from rigright.machine.nvml.session import Session

    with Session(world.env) as session:
        read = session.devices()
        error = session.error
        hangs = session.hangs
    if error is None or hangs:
        return read
    given = _recorded(world)
    if given.fields.get("devices"):
        return given
    return read if _is_here(world) or world.run(_SMI, "-L") is not None else Read()


def _is_here(world: World) -> bool:
    """Whether anything here is NVIDIA's: its module, a card on the bus."""
    return world.has(_MODULE) or any(
        world.text(f"{_ON_BUS}/{name}/vendor", 16) == _NVIDIA for name in world.names(_ON_BUS)
    )


def _recorded(world: World) -> Read:
    """What nvidia-smi says: the whole log, the matrix of paths, the links; or why it says nothing."""
    from rigright.machine.nvidia_smi.complaints import is_complaint, read_complaint
    from rigright.machine.nvml.codes import HANGS

    reply = world.run(*SMI)
    if reply is not None and reply.code in {ABSENT, PAST_TIME}:
        return _unasked(world) if reply.code == ABSENT else _silent(HANGS)
    if reply is None or not reply.out.strip():
        return Read()
    if is_complaint(reply.out) and "<nvidia_smi_log" not in reply.out:
        return read_complaint(reply.out)
    from rigright.machine.nvidia_smi.capture import laid, read_links, read_topo
    from rigright.machine.nvidia_smi.query import read_xml

    try:
        read = read_xml(reply.out)
    except DataError as error:
        first = reply.out.strip().splitlines()[0][:200]
        software = Software(driver_error=first)
        unseen = Unseen(what="devices", why=error.sentence, see="nvidia-smi -q -x")
        return Read(fields={"software": software}, unseen=(unseen,))
    for reader, asked in ((read_topo, ("topo", "-m")), (read_links, ("nvlink", "-s"))):
        text = _out(world, *asked)
        read = laid(read, reader(text)) if text.strip() else read
    return read


def _unasked(world: World) -> Read:
    """There is no nvidia-smi: nor a driver, where its library is not there either."""
    from rigright.machine.nvml import codes

    if not _is_here(world):
        return Read()
    from rigright.machine.running.drivers import LIBRARY_FOLDERS

    if any(name.startswith(_LIBRARY) for folder in LIBRARY_FOLDERS for name in world.names(folder)):
        why = say("nvidia-smi not found")
        return Read(unseen=(Unseen(what="devices", why=why, see="nvidia-smi"),))
    return _silent(codes.why(codes.NO_LIBRARY))


def _silent(why: Sentence) -> Read:
    """The driver tells nothing of any card."""
    unseen = Unseen(what="devices", why=why, see="nvidia-smi")
    return Read(fields={"software": Software(driver_error=str(why))}, unseen=(unseen,))


def _out(world: World, *argv: str) -> str:
    reply = world.run(_SMI, *argv)
    return "" if reply is None or reply.code not in {0, -1} else reply.out
