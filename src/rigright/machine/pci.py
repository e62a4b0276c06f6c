"""The bus as the kernel shows it in /sys/bus/pci, with each function's configuration space.

That is laid out as the PCI Express base specification says. All but its first 64 bytes are root's alone.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rigright.base.units import MIB
from rigright.machine.cells import whole_of, word_of
from rigright.machine.device import PcieLink
from rigright.machine.values import gen_of, lanes_of
from rigright.machine.world import World

if TYPE_CHECKING:  # who samples cards asks for their slots alone
    from rigright.machine.host import PciDevice

FOLDER = "/sys/bus/pci/devices"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_MOST = 4096
_NO_ANSWER = 4  # bytes of ones where maker and model stand
_ERRORS = (
    ("correctable", "aer_dev_correctable", "TOTAL_ERR_COR"),
    ("nonfatal", "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"),
    ("fatal", "aer_dev_fatal", "TOTAL_ERR_FATAL"),
)
BRIDGE = "0x0604"
_DRM, _DRM_CARD = "/sys/class/drm", re.compile(r"card\d+")
_KEPT = ("0x03", "0x12", "0x0108", "0x02")  # graphics, processing accelerators, NVMe, network
_SWITCHES = {("0x0680", "10de")}  # NVSwitch
_PCI = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?\Z", re.IGNORECASE)


def pci_key(pci: str | None) -> str:
    """An address as the driver, lspci and sysfs all mean it: without function, domain of four digits."""
    match = _PCI.match(pci or "")
    if match is None:
        return pci or ""
    domain = int(match[1] or "0", 16)
    return f"{domain:04x}:{match[2]}:{match[3]}".lower()


def is_kept(pci_class: str | None, vendor: str) -> bool:
    """Whether a function is one of those a machine for learning is about."""
    known = pci_class or ""
    return known.startswith(_KEPT) or (known[:6], vendor) in _SWITCHES


def is_bridge(pci_class: str | None) -> bool:
    """Whether other functions hang below it."""
    return (pci_class or "").startswith(BRIDGE)


_EXTENDED_AT = 0x100
_WHOLE = 4096
_RESIZABLE = 0x0015
_ACCESS_CONTROL = 0x000D
_MOST_CAPABILITIES = 64
_REDIRECTS = 0b1100  # requests and completions of peers


@dataclass(frozen=True, slots=True, kw_only=True)
class _Extended:
    """What the extended capabilities say."""

    rebar_max_bytes: float | None = None
    acs: bool | None = None  # None: it has no such control


def extended(raw: bytes) -> _Extended | None:
    """What stands beyond the first 256 bytes; None where they were closed to us."""
    if len(raw) <= _EXTENDED_AT + 4:
        return None
    counts = dict(capabilities(raw))
    return _Extended(
        rebar_max_bytes=_rebar(raw, counts[_RESIZABLE]) if _RESIZABLE in counts else None,
        acs=_redirects(raw, counts[_ACCESS_CONTROL]) if _ACCESS_CONTROL in counts else None,
    )


def capabilities(raw: bytes) -> Iterator[tuple[int, int]]:
    """Number and place of each; a chain that bites its tail ends."""
    at = _EXTENDED_AT
    for _ in range(_MOST_CAPABILITIES):
        if at < _EXTENDED_AT or at + 4 > len(raw):
            return
        (head,) = struct.unpack_from("<I", raw, at)
        if head in {0, 0xFFFFFFFF}:
            return
        yield head & 0xFFFF, at
        at = head >> 20


def _rebar(raw: bytes, at: int) -> float | None:
    """The largest size any of its resizable BARs can take."""
    if at + 12 > len(raw):
        return None
    bars = struct.unpack_from("<I", raw, at + 8)[0] >> 5 & 0b111
    sizes = []
    for turn in range(min(bars, 6)):
        if at + 8 + 8 * turn > len(raw):
            break
        (can,) = struct.unpack_from("<I", raw, at + 4 + 8 * turn)
        sizes += [float(MIB << (bit - 4)) for bit in range(4, 32) if can >> bit & 1]
    return max(sizes, default=None)


def _redirects(raw: bytes, at: int) -> bool | None:
    if at + 8 > len(raw):
        return None
    (control,) = struct.unpack_from("<H", raw, at + 6)
    return bool(control & _REDIRECTS)


def drm_folders(world: World, vendor: str) -> list[str]:
    """The folders of a vendor's cards in the display system."""
    folders = [f"{_DRM}/{name}/device" for name in world.names(_DRM) if _DRM_CARD.fullmatch(name)]
    return [folder for folder in folders if world.text(f"{folder}/vendor") == vendor]


def slot_side(world: World, folder: str) -> str:
    """The folder of the function whose link is the slot's: the card itself, or its switch's upper port."""
    real = world.link(folder) or folder
    lower, upper = real.rpartition("/")[0], real.rsplit("/", 2)[0]
    root = upper.rpartition("/")[0]  # of a switch there is a port above it; a port of the board has none
    mine = world.text(f"{folder}/vendor")
    ports = (lower, upper)
    if mine and world.has(f"{root}/vendor") and all(_is_port(world, port, vendor=mine) for port in ports):
        return upper
    return folder


def _is_port(world: World, folder: str, *, vendor: str) -> bool:
    text = world.text(f"{folder}/class") or ""
    return text.startswith(BRIDGE) and world.text(f"{folder}/vendor") == vendor


def functions(world: World) -> tuple[PciDevice, ...]:
    """Every function that matters, and every bridge above one, by address."""
    addresses = [name for name in world.names(FOLDER) if _ADDRESS.fullmatch(name)][:_MOST]
    classes = {address: word_of(world, f"{FOLDER}/{address}/class") for address in addresses}
    kept = [
        address
        for address in addresses
        if is_kept(classes[address], _hex(world, address, name="vendor") or "")
    ]
    above = {parent for address in kept for parent in _parents_of(world, address)}
    wanted = sorted({*kept, *(address for address in above if address in classes)})
    return tuple(_function(world, address, pci_class=classes[address]) for address in wanted)


def _parents_of(world: World, address: str) -> tuple[str, ...]:
    """The bridges from the root down to a function, out of where it lies."""
    place = world.link(f"{FOLDER}/{address}") or ""
    return tuple(part for part in place.split("/")[:-1] if _ADDRESS.fullmatch(part))


def address_above(place: str | None) -> str | None:
    """The function a device hangs on, out of where the device lies."""
    texts = [part for part in (place or "").split("/") if _ADDRESS.fullmatch(part)]
    return texts[-1] if texts else None


def link_at(world: World, folder: str) -> PcieLink:
    """The link of a function."""
    return PcieLink(
        gen=gen_of(word_of(world, f"{folder}/current_link_speed")),
        gen_max=gen_of(word_of(world, f"{folder}/max_link_speed")),
        lanes=lanes_of(whole_of(world, f"{folder}/current_link_width")),
        lanes_max=lanes_of(whole_of(world, f"{folder}/max_link_width")),
    )


def numa_of(world: World, folder: str) -> int | None:
    """The NUMA node of a device; a machine with one says -1."""
    node = whole_of(world, f"{folder}/numa_node")
    return node if node is not None and node >= 0 else None


def _function(world: World, address: str, *, pci_class: str | None) -> PciDevice:
    from rigright.machine.host import PciDevice

    folder = f"{FOLDER}/{address}"
    link = link_at(world, folder)
    driver, group = world.link(f"{folder}/driver"), world.link(f"{folder}/iommu_group")
    config = world.raw(f"{folder}/config", _WHOLE) or b""
    more = extended(config) or _Extended()
    # AER totals; a function without that capability has none
    pairs = []
    for name, file, total in _ERRORS:
        match = re.search(rf"{total} (\d{{1,18}})", world.text(f"{folder}/{file}", 4096) or "")
        pairs += [(name, int(match.group(1)))] if match else []
    errors: tuple[tuple[str, int], ...] = tuple(pairs)
    state = word_of(world, f"{folder}/power_state")
    if state not in {None, "unknown"}:
        power: str | None = state
    else:
        power = {"suspended": "D3", "active": "D0"}.get(
            word_of(world, f"{folder}/power/runtime_status") or ""
        )
    return PciDevice(
        address=address,
        id=_pair(world, address, names=("vendor", "device")) or "",
        board_id=_pair(world, address, names=("subsystem_vendor", "subsystem_device")),
        pci_class=pci_class,
        driver=driver.rpartition("/")[2] if driver else None,
        parents=_parents_of(world, address),
        gen=link.gen,
        gen_max=link.gen_max,
        lanes=link.lanes,
        lanes_max=link.lanes_max,
        numa_node=numa_of(world, folder),
        iommu_group=int(group.rpartition("/")[2]) if group and group.rpartition("/")[2].isdigit() else None,
        bars_bytes=() if is_bridge(pci_class) else _bars(world, folder),
        rebar_max_bytes=more.rebar_max_bytes,
        acs=more.acs,
        errors=errors,
        power_state=power,
        is_gone=config[:_NO_ANSWER] == b"\xff" * _NO_ANSWER if config else None,
    )


def _hex(world: World, address: str, *, name: str) -> str | None:
    text = word_of(world, f"{FOLDER}/{address}/{name}")
    return text.removeprefix("0x") if text else None


def _pair(world: World, address: str, *, names: tuple[str, str]) -> str | None:
    """An id as "10de:2330"; a board of zeros is none."""
    vendor, device = (_hex(world, address, name=name) for name in names)
    return f"{vendor}:{device}" if vendor and device and vendor != "0000" else None


def _bars(world: World, folder: str) -> tuple[float, ...]:
    """Sizes of the regions, without the ROM's."""
    sizes = []
    for line in (world.text(f"{folder}/resource", 4096) or "").splitlines()[:6]:
        cells = line.split()
        if len(cells) == 3 and all(re.fullmatch(r"0x[0-9a-fA-F]{1,16}", cell) for cell in cells):
            start, end = int(cells[0], 16), int(cells[1], 16)
            sizes += [float(end - start + 1)] if end > start else []
    return tuple(sizes)
