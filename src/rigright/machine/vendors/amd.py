"""AMD: what the kernel shows, with what amd-smi or rocm-smi add where they are installed."""

from __future__ import annotations

from dataclasses import replace

from rigright.base.words import say
from rigright.machine.amd.answers import documents, read_answers, read_rocm, rocm_document
from rigright.machine.amd.kernel import KFD, cards, paths, topology
from rigright.machine.at_once import at_once
from rigright.machine.device import Device
from rigright.machine.filled import devices_filled
from rigright.machine.record import Read, Unseen, telling
from rigright.machine.system import Software
from rigright.machine.world import World

_ASKED = (
    ("amd-smi", "static", "--json"),
    ("amd-smi", "metric", "--json"),
    ("amd-smi", "process", "--json"),
    ("amd-smi", "topology", "--json"),
)
_OLDER = ("rocm-smi", "--showallinfo", "--json")
_MODULE = "/sys/module/amdgpu/version"
_PATIENCE_S = 6.0  # eight cards keep amd-smi busy for longer than other commands


def read(world: World) -> Read:
    """Every AMD card, and the driver."""
    seen = cards(world)
    if world.is_live and not seen and not world.has(KFD):
        return Read()
    given = _by_tools(world).fields
    listed: tuple[Device, ...] = given.get("devices", ())
    # the tools first; of cards that are cut the kernel: the tools' totals differ by their version
    if any(item.slices for item in seen):
        whole = devices_filled(seen, listed)
    else:
        whole = devices_filled(listed, seen) if listed else seen
    if not whole:
        return Read()
    devices = tuple(replace(device, index=place) for place, device in enumerate(whole))
    joined = given.get("paths") or paths(world, devices, known=topology(world))
    driver = world.text(_MODULE) or getattr(given.get("software"), "driver", None)
    fields = {"devices": devices, "software": Software(driver=driver), **telling(paths=joined)}
    told_enough = bool(listed) or all(item.unified_memory for item in devices)
    why = say("neither amd-smi nor rocm-smi found: names and limits of AMD GPUs may be missing")
    missing = () if told_enough else (Unseen(what="devices", why=why, see="amd-smi static"),)
    return Read(fields=fields, unseen=missing)


def _by_tools(world: World) -> Read:
    """What the tools say; all that is asked of amd-smi at once, since each takes its time to start."""
    replies = at_once(lambda argv: world.run(*argv, patience_s=_PATIENCE_S), _ASKED)
    answers = [document for reply in replies if reply is not None for document in documents(reply.out)]
    if answers:
        return read_answers(*answers)
    asked = world.run(*_OLDER)
    older = {} if asked is None else rocm_document(asked.out)
    return read_rocm(older) if older else Read()
