"""What common tools print about a host: lscpu, free, uname, lsblk, smartctl, dmidecode."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rigright.base.bounded import json_object
from rigright.base.units import KIB, MEGA, MIB
from rigright.machine.cells import real, whole
from rigright.machine.cpuinfo import FLAGS, VENDORS
from rigright.machine.host import Cpu, Disk, Memory, Mount, NumaNode
from rigright.machine.parts.disks import NO_DISKS, health_in, kind_of, name_of
from rigright.machine.record import Read, telling
from rigright.machine.system import System
from rigright.machine.values import blocks, size_of, words_in

_MOST_ROWS = 4096
_DF_ROW = re.compile(
    r"^(?P<source>/dev/\S+|[\w.-]+:/\S*) +(?:(?P<kind>[a-z]\w{1,12}) +)?(?P<size>[\d.]+[KMGTP]?i?) +"
    r"[\d.]+[KMGTP]?i? +(?P<free>[\d.]+[KMGTP]?i?) +\d{1,3}% +(?P<path>/\S*)$",
    re.MULTILINE,
)
_NUMA = re.compile(r"NUMA node(\d{1,4}) CPU\(s\)")
_FREE = re.compile(r"^(Mem|Swap): +(\S+) +(\S+) +(\S+)(?: +\S+ +\S+ +(\S+))?", re.MULTILINE)
_LSBLK_HEAD = re.compile(r"^NAME(?= .*\bSIZE\b)(?= .*\bTYPE\b)(?!.*MAJ:MIN).*$", re.MULTILINE)
_LSBLK_ROW = re.compile(
    r"^(?P<name>[a-z][\w-]{1,40}) +(?P<major>\d{1,4}:\d{1,6}) +[01] +"
    r"(?P<size>[\d.,]+[KMGTP]?) +[01] +(?P<type>disk|raid\d+)\b",
    re.MULTILINE,
)


def read_lscpu(text: str) -> Read:
    """The processors, of its text or its JSON."""
    fields: dict[str, str] = {}
    if text.lstrip().startswith("{"):
        for name, value in _fields(json_object(text).get("lscpu"), 0):
            fields.setdefault(name.rstrip(":"), value)
    else:
        fields = words_in(text)
    threads, sockets = whole(fields.get("CPU(s)")), whole(fields.get("Socket(s)"))
    per_socket = whole(fields.get("Core(s) per socket")) or whole(fields.get("Core(s) per cluster"))
    most = real(fields.get("CPU max MHz"))
    has = set(fields.get("Flags", "").split())
    nodes = ((_NUMA.match(name), value) for name, value in fields.items())
    cpu = Cpu(
        name=fields.get("Model name") or fields.get("Model"),
        vendor=VENDORS.get(fields.get("Vendor ID", ""), fields.get("Vendor ID")),
        arch=fields.get("Architecture"),
        sockets=sockets,
        cores=sockets * per_socket if sockets and per_socket else None,
        threads=threads,
        max_hz=most * MEGA if most else None,
        flags=tuple(flag for flag in FLAGS if flag in has),
        nodes=tuple(NumaNode(index=int(match[1]), cpus=cpus) for match, cpus in nodes if match),
    )
    maker = fields.get("Hypervisor vendor", "").lower()
    virtual = {"vmware": "vmware", "microsoft": "hyperv", "xen": "xen"}.get(maker, maker) or None
    return Read(fields={"cpu": cpu, **telling(system=System(virtual=virtual) if virtual else None)})


def _fields(listed: Any, depth: int) -> Iterator[tuple[str, str]]:
    for value in listed[:_MOST_ROWS] if isinstance(listed, list) and depth < 8 else ():
        if isinstance(value, dict):
            yield str(value.get("field", "")), str(value.get("data") or "")
            yield from _fields(value.get("children"), depth + 1)


def read_free(text: str, head: str) -> Read:
    """Main memory; numbers alone are in the unit that was asked for, else in KiB."""
    asked = {"-b": 1, "-k": KIB, "-m": MIB, "-g": KIB * MIB}
    unit = next((asked[word] for word in head.split() if word in asked), KIB)
    rows = {match[1]: match.groups()[1:] for match in _FREE.finditer(text)}

    total, _, _, available = rows.get("Mem", (None,) * 4)
    swap_total, swap_used, _, _ = rows.get("Swap", (None,) * 4)
    memory = Memory(
        total_bytes=size_of(total, unit=unit),
        available_bytes=size_of(available, unit=unit),
        swap_total_bytes=size_of(swap_total, unit=unit),
        swap_used_bytes=size_of(swap_used, unit=unit),
    )
    return Read(fields={"memory": memory})


def read_df(text: str, head: str) -> Read:
    """File systems with a disk or a server below them; numbers alone are KiB, or what was asked for."""
    unit = MIB if re.search(r"-\w*m\b", head) else KIB
    mounts = []
    for match in [*_DF_ROW.finditer(text)][:_MOST_ROWS]:
        size, free = (size_of(match[name], unit=unit) for name in ("size", "free"))
        mounts.append(
            Mount(
                path=match["path"],
                source=match["source"],
                kind=match["kind"] or ("nfs" if ":/" in match["source"] else "unknown"),
                size_bytes=size,
                free_bytes=free,
            )
        )
    return Read(fields={"mounts": tuple(mounts)})


def read_lsblk(text: str) -> Read:
    """Disks and what is mounted of them, of its text or its JSON."""
    listed = json_object(text).get("blockdevices")
    if not isinstance(listed, list):
        rows = [match.groupdict() for match in _LSBLK_ROW.finditer(text)][:_MOST_ROWS]
        for head, below in blocks(text, _LSBLK_HEAD):  # lsblk -o: a disk's row by its heading
            keys = head[0].lower().split()
            cells = (dict(zip(keys, line.split(), strict=False)) for line in below.splitlines())
            rows += [row for row in cells if row.get("type") == "disk" and "size" in row][:_MOST_ROWS]
        listed = [{**row, "size": row["size"].replace(",", ".")} for row in rows]
    disks: list[Disk] = []
    mounts: list[Mount] = []
    for value in listed[:_MOST_ROWS]:
        if isinstance(value, dict) and isinstance(name := value.get("name"), str):
            bare = name.rpartition("/")[2]
            if value.get("type", "disk") == "disk" and not bare.startswith(NO_DISKS):
                disks.append(_disk(bare, value))
            mounts += _mounts(bare, value, depth=0)
    return Read(fields={"disks": tuple(disks), **telling(mounts=tuple(mounts))})


def _disk(name: str, row: Mapping[str, Any]) -> Disk:
    model, turns = row.get("model"), str(row.get("rota"))
    return Disk(
        name=name,
        kind=kind_of(name, turns={"True": True, "1": True, "False": False, "0": False}.get(turns)),
        model=model.strip() if isinstance(model, str) else None,
        size_bytes=size_of(row.get("size")),
    )


def _mounts(disk: str, row: Mapping[str, Any], *, depth: int) -> Iterator[Mount]:
    """What is mounted of a disk and of its parts."""
    places = row.get("mountpoints", [row.get("mountpoint")])
    for place in places if isinstance(places, list) else ():
        if isinstance(place, str) and place.startswith("/") and isinstance(row.get("fstype"), str):
            yield Mount(
                path=place,
                source=f"/dev/{row.get('name')}",
                kind=row["fstype"],
                disk=disk,
                size_bytes=size_of(row.get("fssize")),
                free_bytes=size_of(row.get("fsavail")),
            )
    below = row.get("children")
    for inner in below[:_MOST_ROWS] if isinstance(below, list) and depth < 8 else ():
        if isinstance(inner, dict):
            yield from _mounts(disk, inner, depth=depth + 1)


_NVME_LOG = "nvme_smart_health_information_log"
_SMART_LINES = (  # of its text: where its JSON has the same
    (r"(?:Device Model|Model Number|Product): +(\S.*)", "", "model_name"),
    (r"SMART Health Status: (\w+)", "smart_status", "passed"),
    (r"SMART overall-health self-assessment test result: (\w+)", "smart_status", "passed"),
    (r"Temperature: +(\d{1,18}) Celsius", "temperature", "current"),
    (r"Percentage Used: +(\d{1,18})%", _NVME_LOG, "percentage_used"),
    (r"Available Spare: +(\d{1,18})%", _NVME_LOG, "available_spare"),
    (r"Critical Warning: +(0x[0-9a-fA-F]{1,4})", _NVME_LOG, "critical_warning"),
    (r"Media and Data Integrity Errors: +(\d[\d,]{0,23})", _NVME_LOG, "media_errors"),
    (r"Unsafe Shutdowns: +(\d[\d,]{0,23})", _NVME_LOG, "unsafe_shutdowns"),
)
_SMART_ROW = re.compile(r"^ *(\d{1,3}) \w+ +0x\w{4} +(?:\S+ +){6}(\d{1,18})", re.MULTILINE)


def _smart_fields(text: str) -> dict[str, Any]:
    """Its text in the words of its JSON."""
    rows = [{"id": int(row), "raw": {"value": int(raw)}} for row, raw in _SMART_ROW.findall(text)[:256]]
    fields: dict[str, Any] = {"ata_smart_attributes": {"table": rows}}
    for line, part, name in _SMART_LINES:
        match = re.search(rf"^{line}$", text, re.MULTILINE)
        if match is not None and not part:
            fields[name] = match[1].strip()
        elif match is not None:
            value = match[1].replace(",", "")
            is_word, base = part == "smart_status", 16 if value.startswith("0x") else 10
            fields.setdefault(part, {})[name] = value in {"PASSED", "OK"} if is_word else int(value, base)
    return fields


def read_smart(text: str, head: str) -> Read:
    """What one disk says of its health, of smartctl's text or JSON."""
    fields = json_object(text) or _smart_fields(text)
    device = fields.get("device")
    path = device.get("name") if isinstance(device, dict) else None
    asked = next((word for word in head.split() if word.startswith("/dev/")), "disk")
    name = name_of(str(path or asked))
    model, size = fields.get("model_name"), fields.get("user_capacity")
    disk = Disk(
        name=name,
        kind=kind_of(name, turns=None),
        model=model if isinstance(model, str) else None,
        size_bytes=size_of(size.get("bytes")) if isinstance(size, dict) else None,
        **health_in(fields),
    )
    return Read(fields={"disks": (disk,)})
