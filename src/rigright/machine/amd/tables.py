"""What amd-smi prints as matrices: `topology`, `xgmi`; and what its `version` says."""

from __future__ import annotations

import re
from dataclasses import replace

from rigright.base.units import GIGA
from rigright.machine.device import Device, DirectLink
from rigright.machine.device_text.blocks import blocks
from rigright.machine.filled import devices_filled
from rigright.machine.host import Cpu, Path
from rigright.machine.record import Read
from rigright.machine.system import Software, Toolkit

_BITS = 8
_MOST_CARDS = 256
_BDF = r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_TITLE = re.compile(r"^([A-Z][A-Z/ ]{2,40}) TABLE:[ \t]*$", re.MULTILINE)
_HEAD = re.compile(rf"^[ \t]+({_BDF}(?:[ \t]+{_BDF})*)[ \t]*$", re.MULTILINE)
_ROW = re.compile(rf"^({_BDF})[ \t]+(\S.*)$", re.MULTILINE)
_XGMI = re.compile(
    rf"^GPU(\d{{1,3}})[ \t]+({_BDF})[ \t]+(\d{{1,5}}|N/A) ?\S*[ \t]+(\d{{1,6}}|N/A) ?Gb/s[ \t]+XGMI",
    re.MULTILINE,
)
_VERSION = re.compile(r"^AMDSMI Tool: .*ROCm version: (\d{1,3}(?:\.\d{1,3}){1,3})", re.MULTILINE)
_DRIVER = re.compile(r"amdgpu version: (\d{1,4}(?:\.\d{1,4}){1,3})")
_SOCKET = re.compile(
    r"^CPU: (\d{1,3})[ \t]*\n[ \t]+(?:SMU|POWER_METRICS|PROCHOT|FREQ_METRICS|INTERFACE_VERSION):",
    re.MULTILINE,
)
_KINDS = {"XGMI", "PCIE"}


def is_table(text: str) -> bool:
    """Whether it holds one of them."""
    return any(
        (
            _TITLE.search(text) and _HEAD.search(text),
            _XGMI.search(text),
            _VERSION.search(text),
            _SOCKET.search(text),
        )
    )


def laid_over(read: Read, text: str) -> Read:
    """What the matrices add to the cards that are known."""
    fields = dict(read.fields)
    places: dict[str, int] = {}
    kinds: dict[tuple[str, str], str] = {}
    for title, part in blocks(text, _TITLE):
        head = _HEAD.search(part)
        names = head[1].split() if head else []
        for name in names[:_MOST_CARDS]:
            places.setdefault(name, len(places))
        if title[1].strip() == "LINK TYPE":
            for row, cells in _ROW.findall(part):
                kinds |= {
                    (row, name): kind
                    for name, kind in zip(names, cells.split(), strict=False)
                    if kind in _KINDS and row < name
                }
    links = {}
    for index, bdf, _, rate in _XGMI.findall(text)[:_MOST_CARDS]:
        places[bdf] = int(index)
        speed = float(rate) * GIGA / _BITS if rate.isdecimal() else None
        links[bdf] = (DirectLink(index=0, active=True, bytes_per_s=speed),)
    more = tuple(
        Device(index=place, vendor="amd", pci=bdf, links=links.get(bdf))
        for bdf, place in sorted(places.items(), key=lambda pair: pair[1])
    )
    fields["devices"] = tuple(_with_places(fields.get("devices", ()), more))
    paths = tuple(
        Path(a=places[row], b=places[name], kind=kind)
        for (row, name), kind in kinds.items()
        if row in places and name in places
    )
    if paths:
        fields["paths"] = (*fields.get("paths", ()), *paths)
    version, driver = _VERSION.search(text), _DRIVER.search(text)
    if version or driver:
        software: Software = fields.get("software", Software())
        fields["software"] = replace(
            software,
            driver=software.driver or (driver[1] if driver else None),
            toolkits=(Toolkit(name="rocm", path="rocm", version=version[1]),) if version else (),
        )
    sockets = set(_SOCKET.findall(text))
    if sockets:
        fields["cpu"] = Cpu(vendor="amd", sockets=len(sockets))
    return replace(read, fields=fields)


def _with_places(known: tuple[Device, ...], more: tuple[Device, ...]) -> tuple[Device, ...]:
    """Cards that have no address take it from the matrix, in its order."""
    fields = {device.index: device.pci for device in more}
    named = tuple(replace(device, pci=device.pci or fields.get(device.index)) for device in known)
    return devices_filled(named, more)
