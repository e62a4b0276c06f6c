"""The bus as the kernel shows it in /sys/bus/pci."""

from __future__ import annotations

import re

from rigright.machine.cells import whole_of, word_of
from rigright.machine.host import PciDevice
from rigright.machine.pci.config_space import WHOLE, Extended, extended
from rigright.machine.pci.link import gen_of, is_bridge, is_kept, lanes_of
from rigright.machine.world import World

FOLDER = "/sys/bus/pci/devices"
ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_MOST = 4096
_NO_ANSWER = 4  # bytes of ones where maker and model stand
_ERRORS = (
    ("correctable", "aer_dev_correctable", "TOTAL_ERR_COR"),
    ("nonfatal", "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"),
    ("fatal", "aer_dev_fatal", "TOTAL_ERR_FATAL"),
)


def functions(world: World) -> tuple[PciDevice, ...]:
    """Every function that matters, and every bridge above one, by address."""
    addresses = [name for name in world.names(FOLDER) if ADDRESS.fullmatch(name)][:_MOST]
    classes = {address: word_of(world, f"{FOLDER}/{address}/class") for address in addresses}
    kept = [
        address
        for address in addresses
        if is_kept(classes[address], _hex(world, address, name="vendor") or "")
    ]
    above = {parent for address in kept for parent in parents_of(world, address)}
    wanted = sorted({*kept, *(address for address in above if address in classes)})
    return tuple(_function(world, address, pci_class=classes[address]) for address in wanted)


def parents_of(world: World, address: str) -> tuple[str, ...]:
    """The bridges from the root down to a function, out of where it lies."""
    place = world.link(f"{FOLDER}/{address}") or ""
    return tuple(part for part in place.split("/")[:-1] if ADDRESS.fullmatch(part))


def address_above(place: str | None) -> str | None:
    """The function a device hangs on, out of where the device lies."""
    texts = [part for part in (place or "").split("/") if ADDRESS.fullmatch(part)]
    return texts[-1] if texts else None


def numa_of(world: World, folder: str) -> int | None:
    """The NUMA node of a device; a machine with one says -1."""
    node = whole_of(world, f"{folder}/numa_node")
    return node if node is not None and node >= 0 else None


def _function(world: World, address: str, *, pci_class: str | None) -> PciDevice:
    folder = f"{FOLDER}/{address}"
    driver, group = world.link(f"{folder}/driver"), world.link(f"{folder}/iommu_group")
    config = world.raw(f"{folder}/config", WHOLE) or b""
    more = extended(config) or Extended()
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
        parents=parents_of(world, address),
        gen=gen_of(word_of(world, f"{folder}/current_link_speed")),
        gen_max=gen_of(word_of(world, f"{folder}/max_link_speed")),
        lanes=lanes_of(whole_of(world, f"{folder}/current_link_width")),
        lanes_max=lanes_of(whole_of(world, f"{folder}/max_link_width")),
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
