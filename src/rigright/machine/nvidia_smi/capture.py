"""Whatever text of nvidia-smi a person saved: one command's answer, or many under their headings."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from rigright.machine.device import Device
from rigright.machine.filled import devices_filled, filled, keyed
from rigright.machine.nvidia_smi import complaints, query, tables, text
from rigright.machine.record import Read, telling
from rigright.machine.system import System
from rigright.machine.values import blocks

_COMMAND = re.compile(
    r"^[^\n|]{0,80}[$>#%][ \t]*(?:sudo )?(?:\S{0,80}/)?(nvidia-smi(?:\.exe)?\b.*)$", re.MULTILINE
)
_WINDOWS = re.compile(  # its driver models, which no other system has
    r"^\|\s+\d{1,3}\s.{0,80}\s(?:WDDM|TCC|MCDM)(?:/\S+)?\s*\||:\s(?:WDDM|TCC|MCDM)\s*$|<current_dm>[WTM]"
    r"|,\s?(?:WDDM|TCC|MCDM)(?:,|$)|^(?:PS )?[A-Z]:\\[^\n>]{0,100}>",
    re.MULTILINE,
)
_RULE = re.compile(r"^#{8,}.*$|^# \S.* :: .*$", re.MULTILINE)
_MOST_SECTIONS = 200

_Reader = Callable[[str], Read]


def is_capture(given: str) -> bool:
    """Whether some of it is nvidia-smi's."""
    return bool(
        _COMMAND.search(given)
        or _readers(tables.headed(given))
        or text.is_peers(given)
        or complaints.is_complaint(given)
    )


def read_capture(given: str) -> Read:
    """The machine of one moment: the closest readings count, and of a command run twice the first."""
    given = tables.headed(given.replace("\xa0", " "))  # as web pages have it
    known = [
        (reader, section) for section in map(tables.headed, sections(given)) for reader in _readers(section)
    ]
    if not known and not text.is_peers(given):
        return complaints.read_complaint(given)
    read = Read(fields=telling(paths=text.peers_of(given)))
    for reader, section in sorted(known, key=lambda pair: _RANKS[pair[0]]):
        read = laid(read, reader(section))
    # with the cards that nvidia-smi names only to say that it cannot reach them
    fields = dict(read.fields)
    if _WINDOWS.search(given):
        fields["system"] = System(os_id="windows")
    devices: tuple[Device, ...] = fields.get("devices", ())
    seen = {device.pci for device in devices}
    first = max((device.index for device in devices), default=-1) + 1
    gone = [device for device in complaints.lost(given, first=first) if device.pci not in seen]
    return replace(read, fields={**fields, "devices": (*devices, *gone)})


def sections(text: str) -> list[str]:
    """The text under each heading that names a command, and what stands before the first."""
    plain = _RULE.sub("", text)
    under = [part for _, part in blocks(plain, _COMMAND, most=_MOST_SECTIONS)]
    first = _COMMAND.search(plain)
    if first is None:
        return [text]
    before = plain[: first.start()]
    return [before, *under] if before.strip() else under


def _readers(section: str) -> list[_Reader]:
    """All that can read some of it, judged by what it holds."""
    return [reader for is_one, reader in _READERS if is_one(section)]


def read_topo(section: str) -> Read:
    """How cards reach each other, the network cards and the processors."""
    numa, nics = text.numa_of(section), text.nics_of(section)
    devices = tuple(
        Device(index=index, vendor="nvidia", numa_node=numa.get(index), nics=nics.get(index, ()))
        for index in sorted({*numa, *nics})
    )
    return Read(fields={"devices": devices, "paths": text.paths_of(section)})


def read_links(section: str) -> Read:
    """The NVLinks of each card."""
    devices = tuple(
        replace(device, links=text.links_of(section).get(device.index)) for device in text.listed(section)
    )
    return Read(fields={"devices": devices})


_LINKS = re.compile(r"^[ \t]{0,40}Link \d{1,3}: |NVLink information|support N[vV][lL]ink", re.MULTILINE)
_LIST = re.compile(r"^\s{0,40}GPU \d{1,3}: .{1,200}\(UUID: ", re.MULTILINE)
_READERS: tuple[tuple[Callable[[str], object], _Reader], ...] = (  # the closest reading first
    (lambda text: query.START in text, query.read_xml),
    (lambda text: query.MARK in text, query.read_log),
    (tables.is_sheet, tables.read_sheet),
    (lambda given: "CPU Affinity" in given or text.paths_of(given), read_topo),
    (_LINKS.search, read_links),
    (_LIST.search, lambda section: Read(fields={"devices": text.listed(section)})),
    (tables.is_picture, tables.read_picture),
    (tables.is_monitor, tables.read_monitor),
)
_RANKS = {reader: rank for rank, (_, reader) in enumerate(_READERS)}


def laid(first: Read, then: Read) -> Read:
    """Two readings of the same cards as one."""
    row, other = first.fields, then.fields
    devices = devices_filled(row.get("devices", ()), other.get("devices", ()))
    both = {**other, **row, "devices": tuple(sorted(devices, key=lambda device: device.index))}
    if "paths" in row and "paths" in other:  # of one matrix the way, of another whether they may
        paths = keyed((*row["paths"], *other["paths"]), ("a", "b"))
        both["paths"] = tuple(sorted(paths, key=lambda way: (way.a, way.b)))
    if "software" in row and "software" in other:
        both["software"] = filled(row["software"], other["software"])
    return Read(fields=both, unseen=(*first.unseen, *then.unseen))
