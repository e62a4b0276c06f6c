"""What lshw prints of a host, as text or as JSON: board, memory, processors, cards, disks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.units import parse_bytes
from rigright.machine.cells import whole
from rigright.machine.host import Cpu, Disk, Memory, MemoryModule, PciDevice
from rigright.machine.parts.disks import kind_of, name_of
from rigright.machine.record import Read, telling
from rigright.machine.smbios import channel_of
from rigright.machine.system import System
from rigright.machine.values import firmware_word

_MOST_NODES, _MOST_DEPTH = 4096, 24
_MARK = re.compile(
    r"^ {2,}\*-core\b|^ {2,}\*-(?:memory|cpu|display|pci|bank|network)(?::\d+)?(?: .*)?$", re.MULTILINE
)
_NODE = re.compile(r"^( *)\*-([\w-]{1,40})(?::\d{1,5})?(?: .{0,60})?$")
_SAID = re.compile(r"^ +([a-z][a-z ]{1,30}): (.{1,400})$")
_NUMBERS = re.compile(r"\[([0-9A-Fa-f]{4}):([0-9A-Fa-f]{4})\]\s*$")
_KIND = re.compile(r"\b(LPDDR\dX?|DDR\d)\b")
_SPEED = re.compile(r"\b(\d{3,5}) (?:MHz|MT/s)")
_PCI = re.compile(r"pci@([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\Z")
_CLASSES = {"display": "0x030000", "network": "0x020000"}
_MAKERS = {
    "nvidia": "10de",
    "advanced micro devices": "1002",
    "amd": "1002",
    "intel": "8086",
    "mellanox": "15b3",
}


def is_lshw(text: str) -> bool:
    """Whether it is a tree of lshw."""
    return _MARK.search(text) is not None or bool(_of_json(text))


def read_lshw(text: str) -> Read:
    """All of it that concerns us."""
    nodes = _of_json(text) or list(_of_text(text))

    def every(*kinds: str) -> list[Mapping[str, Any]]:
        return [node for kind in kinds for node in nodes if _is(node, kind)]

    core, bios = (next(iter(every(kind)), {}) for kind in ("core", "firmware"))
    top = next((node for node in nodes if node.get("class") == "system"), nodes[0] if nodes else {})
    system = System(
        maker=firmware_word(_word(top, "vendor")),
        product=firmware_word(_word(top, "product")),
        board=firmware_word(_word(core, "product")),
        bios=firmware_word(_word(bios, "version")),
        bios_date=firmware_word(_word(bios, "date")),
    )
    modules = tuple(map(_module, every("bank")))
    total = next(
        (_size(node) for node in every("memory") if "System" in _word(node, "description")),
        None,
    )
    fields: dict[str, Any] = {"system": system}
    if modules or total:
        fields["memory"] = Memory(total_bytes=total, modules=modules or None)
    cpus = [node for node in every("cpu") if _word(node, "product")]
    if cpus:
        cores, threads = (
            sum(whole(_config(row, name)) or 0 for row in cpus) for name in ("cores", "threads")
        )
        fields["cpu"] = Cpu(
            name=_word(cpus[0], "product"), sockets=len(cpus), cores=cores or None, threads=threads or None
        )
    functions = tuple(filter(None, map(_function, every("display", "network"))))
    disks = [_disk(node) for node in nodes if node.get("class") in {"disk", "storage"} or _is(node, "nvme")]
    named = {disk.name: disk for disk in disks if disk is not None}
    pci = {device.address: device for device in functions}
    return Read(fields={**fields, **telling(pci=tuple(pci.values()), disks=tuple(named.values()))})


def _is(node: Mapping[str, Any], kind: str) -> bool:
    return str(node.get("id", "")).partition(":")[0] == kind


def _word(node: Mapping[str, Any], name: str) -> str:
    value = node.get(name)
    return value.strip() if isinstance(value, str) else ""


def _config(node: Mapping[str, Any], name: str) -> str | None:
    value = node.get("configuration")
    if isinstance(value, dict):
        return str(value.get(name, ""))
    fields = dict(pair.partition("=")[::2] for pair in str(value or "").split())
    return fields.get(name)


def _size(node: Mapping[str, Any]) -> float | None:
    value = node.get("size")
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)([KMGT]iB)", value) if isinstance(value, str) else None
    return parse_bytes(f"{match[1]}{match[2]}") if match else None


def _module(node: Mapping[str, Any]) -> MemoryModule:
    text, slot = _word(node, "description"), _word(node, "slot")
    kind, speed = _KIND.search(text), _SPEED.search(text)
    size = None if "[empty]" in text else _size(node)
    return MemoryModule(
        slot=slot,
        channel=channel_of(slot, None),
        size_bytes=size,
        kind=kind[1] if kind and size else None,
        rated_mt_s=float(speed[1]) if speed and size else None,
        maker=firmware_word(_word(node, "vendor")),
        part=firmware_word(_word(node, "product")),
    )


def _function(node: Mapping[str, Any]) -> PciDevice | None:
    """A card of the bus; without `-numeric` its number is not stated, and its name says what it is."""
    at = _PCI.match(_word(node, "bus info") or _word(node, "businfo"))
    product, vendor = _word(node, "product"), _word(node, "vendor")
    numbers = _NUMBERS.search(product)
    maker = next((number for name, number in _MAKERS.items() if name in vendor.lower()), None)
    if at is None or (numbers is None and maker is None):
        return None
    kind = "0x030200" if "3D" in _word(node, "description") else _CLASSES[str(node["id"]).partition(":")[0]]
    return PciDevice(
        address=at[1].lower(),
        id=f"{numbers[1]}:{numbers[2]}".lower() if numbers else f"{maker}:????",
        pci_class=kind,
        name=_NUMBERS.sub("", product).strip() or None,
        driver=_config(node, "driver") or None,
    )


def _disk(node: Mapping[str, Any]) -> Disk | None:
    value = node.get("logical name") or node.get("logicalname")
    name = name_of(str(value[0] if isinstance(value, list) and value else value or ""))
    if not re.fullmatch(r"nvme\d{1,3}n\d{1,3}|sd[a-z]{1,3}|vd[a-z]{1,3}", name):
        return None
    model = firmware_word(_word(node, "product"))
    return Disk(name=name, kind=kind_of(name, turns=None), model=model, size_bytes=_size(node))


def _of_json(text: str) -> list[dict[str, Any]]:
    """Every node of its JSON, outermost first."""
    if '"class"' not in text or text.lstrip()[:1] not in {"{", "["}:
        return []
    try:
        value = bounded_json(text)
    except ValueError:
        return []
    rows: list[dict[str, Any]] = []
    left = [(entry, 0) for entry in (value if isinstance(value, list) else [value])[:_MOST_NODES]]
    while left and len(rows) < _MOST_NODES:
        item, depth = left.pop(0)
        if not isinstance(item, dict) or "id" not in item or "class" not in item:
            continue
        rows.append(item)
        below = item.get("children")
        if isinstance(below, list) and depth < _MOST_DEPTH:
            left += [(inner, depth + 1) for inner in below[:_MOST_NODES]]
    return rows


def _of_text(text: str) -> Iterator[dict[str, Any]]:
    """Every node of its text; the first lines are the machine itself."""
    node: dict[str, Any] = {"id": "", "class": "system"}
    for line in text.splitlines()[: _MOST_NODES * 8]:
        head = _NODE.match(line)
        if head is not None:
            yield node
            node = {"id": head[2]}
        elif match := _SAID.match(line):
            node.setdefault(match[1], match[2].strip())
    yield node
