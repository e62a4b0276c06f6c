"""The bus of a fake tree: /sys/bus/pci, with config space as real tools read it.

A function is `{id, board, class, driver, under, gen, gen_max, width, width_max, numa, iommu, bars, rebar,
acs, aer, power}`; `under` is the bridge above it (the root otherwise). One with `gpu = true` has the manners
of an accelerator, and a root port of its own where it says no `under` (`slot` = what differs in that).
"""

from __future__ import annotations

import struct

from fake_trees import files, here, link, over, write
from fake_trees import folder as tree_folder

MIB = 2**20
GTS = {1: "2.5 GT/s PCIe", 2: "5.0 GT/s PCIe", 3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe"}
GTS[6] = "64.0 GT/s PCIe"
ERRORS = {
    "correctable": ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "CorrIntErr"),
    "nonfatal": ("Undefined", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt"),
    "fatal": ("Undefined", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt"),
}
TOTALS = {"correctable": "TOTAL_ERR_COR", "nonfatal": "TOTAL_ERR_NONFATAL", "fatal": "TOTAL_ERR_FATAL"}
GPU = {
    "class": "0x030200",
    "driver": "nvidia",
    "gen": 4,
    "gen_max": 4,
    "width": 16,
    "width_max": 16,
    "bars": [16 * MIB, 32 * 2**30, 32 * MIB],
    "rebar": 32 * 2**30,
    "power": "D0",
}
BRIDGE = {"class": "0x060400", "driver": "pcieport", "power": "D0"}


def pci(root, told):
    """Every function of the bus."""
    functions = {}
    for address, one in here(told).items():
        card = over(GPU, one) if one.get("gpu") else one
        if one.get("gpu") and "under" not in one:
            card["under"] = _root_port_of(address, card, functions)
        functions[address] = card
    for address, one in functions.items():
        _function(root, address, one=one, all_of_them=functions)


def _root_port_of(address, card, functions):
    """A root port for a card that stands under nothing; `slot` says what of it is not as the card's."""
    port = card.get("port", f"{address[:5]}{max(int(address[5:7], 16) - 1, 0):02x}:01.0")
    link_of = {key: card[key] for key in ("gen", "width", "gen_max", "width_max", "numa") if key in card}
    functions[port] = BRIDGE | {"id": "8086:352a", "board": "0000:0000"} | link_of | card.get("slot", {})
    return port


def place(address, functions):
    """Where a function lies below /sys/devices."""
    above = functions[address].get("under")
    if above is None:
        return f"/sys/devices/pci{address[:7]}/{address}"
    return f"{place(above, functions)}/{address}"


def _function(root, address, *, one, all_of_them):
    folder = place(address, all_of_them)
    vendor, device = one["id"].split(":")
    board = one.get("board", "0000:0000").split(":")
    has_link = "width" in one or "gen" in one
    files(
        root,
        folder,
        vendor=f"0x{vendor}",
        device=f"0x{device}",
        subsystem_vendor=f"0x{board[0]}",
        subsystem_device=f"0x{board[1]}",
        numa_node=one.get("numa", -1),
        irq=11,
        resource=_resource(one.get("bars", [])),
        power_state=one.get("power"),
        current_link_speed=GTS.get(one.get("gen"), "Unknown") if has_link else None,
        max_link_speed=GTS.get(one.get("gen_max", one.get("gen")), "Unknown") if has_link else None,
        current_link_width=one.get("width") if has_link else None,
        max_link_width=one.get("width_max", one.get("width")) if has_link else None,
        **{"class": one["class"]},
    )
    raw = config(one)
    write(root, f"{folder}/config", raw if one.get("as_root", True) else raw[:64])
    for kind in TOTALS if has_link else ():
        write(root, f"{folder}/aer_dev_{kind}", _aer(kind, one.get("aer", {}).get(kind, 0)))
    files(root, f"{folder}/power", runtime_status="suspended" if one.get("power") == "D3cold" else "active")
    if one.get("driver"):
        link(root, f"{folder}/driver", f"/sys/bus/pci/drivers/{one['driver']}")
        tree_folder(root, f"/sys/bus/pci/drivers/{one['driver']}")
    if one.get("iommu") is not None:
        tree_folder(root, f"/sys/kernel/iommu_groups/{one['iommu']}")
        link(root, f"{folder}/iommu_group", f"/sys/kernel/iommu_groups/{one['iommu']}")
    link(root, f"/sys/bus/pci/devices/{address}", folder)


def _resource(bars):
    lines, at = [], 0x20_0000_0000
    for size in bars:
        lines += [
            f"0x{at:016x} 0x{at + int(size) - 1:016x} 0x000000000014220c",
            f"0x{0:016x} 0x{0:016x} 0x{0:016x}",
        ]
        at += int(size)
    lines += [f"0x{0:016x} 0x{0:016x} 0x{0:016x}"] * (7 - len(lines))
    return "\n".join(lines)


def _aer(kind, count):
    first, *rest = ERRORS[kind]
    return "\n".join([f"{first} {count}", *(f"{name} 0" for name in rest), f"{TOTALS[kind]} {count}"])


def config(one):
    """4 KiB of configuration space: header, express capability, and the extended ones."""
    raw = bytearray(4096)
    vendor, device = (int(part, 16) for part in one["id"].split(":"))
    board = [int(part, 16) for part in one.get("board", "0000:0000").split(":")]
    kind = int(one["class"], 16)
    is_bridge = kind >> 8 == 0x0604
    struct.pack_into("<HHHHI", raw, 0, vendor, device, 0x0006, 0x0010, kind << 8)
    raw[0x0E] = 1 if is_bridge else 0
    if not is_bridge:
        struct.pack_into("<HH", raw, 0x2C, *board)
    if "width" not in one and "gen" not in one:
        return bytes(raw)
    raw[0x34] = 0x40
    raw[0x40:0x44] = bytes([0x01, 0x60, 0x03, 0x00])  # power management, then express
    port = (4 if one.get("under") is None else 6) if is_bridge else 0
    gen, width = one.get("gen") or 0, one.get("width") or 0
    struct.pack_into("<BBH", raw, 0x60, 0x10, 0, 0x0002 | port << 4)
    struct.pack_into("<I", raw, 0x6C, one.get("gen_max", gen) | one.get("width_max", width) << 4)
    struct.pack_into("<H", raw, 0x72, gen | width << 4)
    _extended(raw, one)
    return bytes(raw)


def _extended(raw, one):
    """Advanced errors always; resizable BARs and access control where the function has them."""
    chain = [(0x100, 0x0001)]
    if one.get("rebar"):
        chain.append((0x200, 0x0015))
        sizes = sum(1 << bit for bit in range(4, 32) if MIB << (bit - 4) <= one["rebar"])
        now = (int(one["bars"][1]) // MIB).bit_length() - 1
        struct.pack_into("<II", raw, 0x204, sizes, 2 | 1 << 5 | now << 8)
    if one.get("acs") is not None:
        chain.append((0x300, 0x000D))
        struct.pack_into("<HH", raw, 0x304, 0x001F, 0x001D if one["acs"] else 0)
    for (at, number), (after, _) in zip(chain, [*chain[1:], (0, 0)], strict=True):
        struct.pack_into("<I", raw, at, number | 1 << 16 | after << 20)


PIECES = {"pci": pci}
