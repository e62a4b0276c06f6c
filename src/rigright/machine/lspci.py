"""The bus as lspci writes it: `lspci -Dvvvnn`, or with fewer of its letters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from rigright.machine.host import PciDevice
from rigright.machine.pci import BRIDGE, is_bridge, is_kept
from rigright.machine.record import Read
from rigright.machine.values import gen_of, lanes_of, size_of

UNKNOWN = "????"  # the half of an id that a text without -nn does not tell
_CLASSES = {
    "VGA compatible controller": "0x0300", "3D controller": "0x0302", "Display controller": "0x0380",
    "Processing accelerators": "0x1200", "Non-Volatile memory controller": "0x0108",
    "Ethernet controller": "0x0200", "Infiniband controller": "0x0207", "Network controller": "0x0280",
    "PCI bridge": BRIDGE, "Bridge": "0x0680",
}  # fmt: skip
_VENDORS = {
    "NVIDIA": "10de", "Advanced Micro Devices": "1002", "Intel": "8086", "Mellanox": "15b3", "Habana": "1da3",
    "Broadcom": "14e4", "Samsung": "144d", "Micron": "1344", "Matrox": "102b", "ASPEED": "1a03",
    "Microsoft": "1414", "SK hynix": "1c5c", "Sandisk": "15b7", "Realtek": "10ec", "Aquantia": "1d6a",
}  # fmt: skip
_HEAD = re.compile(
    r"(?P<address>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) "
    r"(?P<kind>[^:\[]{1,80}?)(?: \[(?P<class>[0-9a-f]{4})\])?: (?P<name>.{0,300})"
)
_ID = re.compile(r"\[([0-9a-f]{4}:[0-9a-f]{4})\]")
_REVISION = re.compile(r"\(rev ([0-9a-f]{2})\)")
_LINK = re.compile(r"Speed ([\d.]+GT/s)[^,]*, Width x(\d{1,2})")
_ROOT = "0000:"
_MOST_LINES = 400_000


def read_pasted(text: str) -> Read:
    """What somebody pasted of it."""
    return Read(fields={"pci": read_lspci(text)})


def read_lspci(text: str) -> tuple[PciDevice, ...]:
    """The functions that matter and the bridges above them, by address."""
    blocks = [(_bare(head, lines), lines) for head, lines in _blocks(text)]
    bridges = {
        (device.address.rpartition(":")[0].rpartition(":")[0], bus): device.address
        for device, lines in blocks
        if is_bridge(device.pci_class) and (bus := _below(lines)) is not None
    }
    every = {
        device.address: replace(device, parents=_parents(device.address, bridges)) for device, _ in blocks
    }
    kept = {address for address, device in every.items() if is_kept(device.pci_class, device.id[:4])}
    kept |= {parent for address in kept for parent in every[address].parents}
    return tuple(every[address] for address in sorted(kept))


def _blocks(text: str) -> Iterator[tuple[re.Match[str], tuple[str, ...]]]:
    """Each function's first line, and the lines under it."""
    head: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.splitlines()[:_MOST_LINES]:
        if line[:1] in {"\t", " "}:
            lines.append(line.strip())
        elif match := _HEAD.match(line):
            if head is not None:
                yield head, tuple(lines)
            head, lines = match, []
    if head is not None:
        yield head, tuple(lines)


def _bare(head: re.Match[str], lines: tuple[str, ...]) -> PciDevice:
    """One function, its parents not known yet."""
    address = head["address"] if head["address"].count(":") == 2 else _ROOT + head["address"]
    known = f"0x{head['class']}" if head["class"] else _CLASSES.get(head["kind"].strip())
    gen_max, lanes_max = _link(lines, "LnkCap:")
    gen, lanes = _link(lines, "LnkSta:")
    control = _after(lines, "ACSCtl:")
    match = next((result for line in lines if (result := re.match(r"Status: (D[0-3]\w*) ", line))), None)
    return PciDevice(
        address=address,
        id=_id(head["name"]),
        board_id=_id(after) if (after := _after(lines, "Subsystem:")) and UNKNOWN not in _id(after) else None,
        pci_class=known,
        name=re.sub(r" \[[0-9a-f]{4}:[0-9a-f]{4}\]| \((?:rev|prog-if) .*", "", head["name"]).strip() or None,
        driver=_after(lines, "Kernel driver in use:"),
        gen=gen, gen_max=gen_max, lanes=lanes, lanes_max=lanes_max,
        numa_node=_number(_after(lines, "NUMA node:")),
        iommu_group=_number(_after(lines, "IOMMU group:")),
        bars_bytes=() if is_bridge(known) else tuple(_regions(lines)),
        rebar_max_bytes=_rebar(lines),
        acs=None if control is None else "ReqRedir+" in control or "CmpltRedir+" in control,
        power_state=match.group(1) if match else None,
        is_gone=revision[1] == "ff" if (revision := _REVISION.search(head["name"])) else None,
    )  # fmt: skip


def _id(name: str) -> str:
    """The id a line tells, whole or in part."""
    if match := _ID.search(name):
        return match.group(1)
    vendor = next((code for start, code in _VENDORS.items() if name.startswith(start)), UNKNOWN)
    device = re.search(r"Device ([0-9a-f]{4})\b", name)
    return f"{vendor}:{device.group(1) if device else UNKNOWN}"


def _after(lines: tuple[str, ...], start: str) -> str | None:
    return next((line.removeprefix(start).strip() for line in lines if line.startswith(start)), None)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() and len(text) < 8 else None


def _link(lines: tuple[str, ...], start: str) -> tuple[int | None, int | None]:
    match = _LINK.search(_after(lines, start) or "")
    return (gen_of(match.group(1)), lanes_of(int(match.group(2)))) if match else (None, None)


def _regions(lines: tuple[str, ...]) -> Iterator[float]:
    for line in lines:
        match = re.match(r"Region \d: Memory .*\[size=(\d{1,6}[KMGT]?)\]", line)
        if match:
            yield size_of(match.group(1)) or 0.0


def _rebar(lines: tuple[str, ...]) -> float | None:
    """The largest size of a physical resizable BAR; the virtual ones of SR-IOV stand under their own head."""
    physical = False
    for line in lines:
        if line.startswith("Capabilities:"):
            physical = "Physical Resizable BAR" in line
        elif physical and (match := re.search(r"supported: ([\dKMGTPEB ]+)", line)):
            return max((size_of(size) or 0.0 for size in match.group(1).split()), default=None)
    return None


def _below(lines: tuple[str, ...]) -> str | None:
    match = re.search(r"secondary=([0-9a-f]{2,4})", _after(lines, "Bus:") or "")
    return match.group(1) if match else None


def _parents(address: str, bridges: Mapping[tuple[str, str], str]) -> tuple[str, ...]:
    """The bridges above it, from the root down; buses that lead to themselves end."""
    texts: list[str] = []
    domain, bus, _ = address.split(":")
    while (above := bridges.get((domain, bus))) is not None and above not in texts and above != address:
        texts.insert(0, above)
        bus = above.split(":")[1]
    return tuple(texts)
