"""Lists and matrices of nvidia-smi: `-L`, `topo -m`, `nvlink -s`."""

from __future__ import annotations

import re
from dataclasses import replace

from rigright.base.units import GIGA
from rigright.machine.device import Device, DirectLink, Slice
from rigright.machine.host import Path
from rigright.machine.values import blocks, read_value

_MOST_DEVICES = 512
_MOST_LINKS = 64
_MOST_NICS = 64
_NIC = re.compile(r"^\s{0,8}(NIC\d{1,3}): (\S{1,40})$", re.MULTILINE)
_MOST_SLICES = 64
_COLOUR = re.compile(r"\x1b\[[0-9;]*m|(?<![\w.])\[\d{1,2}m")
_PLACE = re.compile(r"GPU\d{1,3}\Z")
_KIND = re.compile(r"(?:NV\d{1,2}|PIX|PXB|PHB|NODE|SYS|SOC|C2C)\Z")
_P2P = re.compile(r"\btopo\s+(?:-p2p|--p2pstatus)\s+([rwnap]{1,2})\b[^\n]*\n")
_REFUSED = {"CNS", "GNS", "TNS", "DR"}  # by the chipset, the card, the topology, a setting of the driver
_OLD_KINDS = {"SOC": "SYS"}  # until driver 384
_GPU = re.compile(r"GPU (\d{1,3}): (.{1,200}?) \(UUID: ([^)\s]{1,80})\)")
_MIG = re.compile(r"MIG (\S{1,40})\s+Device\s+(\d{1,3}): \(UUID: ([^)\s]{1,100})\)")
_LINK = re.compile(r"Link (\d{1,2}): (<?inactive>?|([0-9.]{1,9}) GB/s)", re.IGNORECASE)
_ERRORS = re.compile(r"Link (\d{1,2}): ([A-Za-z][A-Za-z ]{1,40}): (\d{1,18})\s*\Z")
_KINDS = {  # as the driver's counters are called; the last ones on Blackwell
    "replay errors": "replay",
    "recovery errors": "recovery",
    "crc errors": "crc",
    "crc flit errors": "crc_flit",
    "crc data errors": "crc_data",
    "malformed packet errors": "malformed",
    "buffer overrun errors": "overrun",
    "rx errors": "rx",
    "rx remote errors": "rx_remote",
    "rx general errors": "rx_general",
    "local link integrity errors": "integrity",
    "tx discards": "discards",
    "link recovery failed events": "recovery_failed",
    "total link recovery events": "recovery",
    "effective errors": "effective",
    "symbol errors": "symbol",
}
_NONE = ("does not have or support nvlink", "does not support nvlink", "not supported")
_ALL_DOWN = "all links are inactive"


def paths_of(topo: str) -> tuple[Path, ...]:
    """How each pair of cards reaches each other, of `nvidia-smi topo -m`."""
    names, rows = _matrix(topo)
    places = {name: int(name[3:]) for name in names if _PLACE.match(name)}
    fields = {}
    for row, cells in rows.items():
        for name, cell in zip(names, cells, strict=False):
            if row in places and name in places and places[row] < places[name] and _KIND.match(cell):
                fields[places[row], places[name]] = _OLD_KINDS.get(cell, cell)
    return tuple(Path(a=a, b=b, kind=kind) for (a, b), kind in sorted(fields.items()))


def nics_of(topo: str) -> dict[int, tuple[tuple[str, str], ...]]:
    """The way from each card to each network card, of `nvidia-smi topo -m`."""
    names, rows = _matrix(topo)
    called = dict(_NIC.findall(topo))
    pairs = {}
    for row, cells in rows.items():
        ways = [
            (called.get(name, name), _OLD_KINDS.get(cell, cell))
            for name, cell in zip(names, cells, strict=False)
            if not _PLACE.match(name) and _KIND.match(cell)
        ]
        if _PLACE.match(row) and ways:
            pairs[int(row[3:])] = tuple(ways[:_MOST_NICS])
    return pairs


def peers_of(text: str) -> tuple[Path, ...]:
    """Whether pairs may copy to each other, of every `nvidia-smi topo -p2p`.

    r and w ask for it, n, a, p for other things. Of a matrix without its command what is refused counts.
    """
    parts = [(match[1], part) for match, part in blocks(text, _P2P, most=_MOST_LINKS)]
    fields: dict[tuple[int, int], bool] = {}
    for what, part in parts or [("", text)]:
        names, rows = _matrix(part)
        places = {name: int(name[3:]) for name in names if _PLACE.match(name)}
        for row, cells in rows.items() if set(what) <= {"r", "w"} else ():
            for name, cell in zip(names, cells, strict=False):
                is_told = cell in _REFUSED or (what and cell in {"OK", "NS"})
                if is_told and row in places and name in places and row != name:
                    pair = min(places[row], places[name]), max(places[row], places[name])
                    fields[pair] = fields.get(pair, True) and cell == "OK"
    return tuple(Path(a=a, b=b, kind="", peer=peer) for (a, b), peer in sorted(fields.items()))


def is_peers(text: str) -> bool:
    """Whether it holds a matrix of `topo -p2p`."""
    return "Status Ok" in text or _P2P.search(text) is not None


def numa_of(topo: str) -> dict[int, int]:
    """The memory domain next to each card, where the matrix tells of one."""
    names, rows = _matrix(topo)
    if "NUMA Affinity" not in topo:
        return {}
    counts = {}
    for row, cells in rows.items():
        domain = cells[len(names) + 1] if len(cells) > len(names) + 1 else ""
        nearest = re.match(r"\d{1,6}(?=[,-]|\Z)", domain)  # of a superchip its cards' own domains follow
        if _PLACE.match(row) and nearest:
            counts[int(row[3:])] = int(nearest.group())
    return counts


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in _COLOUR.sub("", text).splitlines()]


def _matrix(topo: str) -> tuple[list[str], dict[str, list[str]]]:
    """The heads of the matrix, and each row's cells under its name."""
    names: list[str] = []
    rows: dict[str, list[str]] = {}
    for line in _lines(topo):
        cells = line.split()
        if not names:
            # GPUs and network cards of the first line, which stand before "CPU Affinity"
            texts = line.partition("CPU Affinity")[0].split()
            names = (
                texts if texts and all(map(_PLACE.match, texts[: 1 if "Affinity" in line else None])) else []
            )
        elif cells and cells[0] in names and len(rows) < _MOST_DEVICES:
            rows[cells[0]] = cells[1:]
        elif rows:
            break
    return names, rows


def links_of(status: str) -> dict[int, tuple[DirectLink, ...]]:
    """The NVLinks of each card of `nvidia-smi nvlink -s` and `-e`; none where the card has none."""
    direct_links: dict[int, tuple[DirectLink, ...]] = {}
    errors: dict[int, dict[int, dict[str, int]]] = {}  # card, link, kind
    card: int | None = None
    is_new = False
    for line in _lines(status):
        head = _GPU.match(line.strip())
        if head:  # pasted twice, the first stands
            card = int(head.group(1))
            is_new = card not in direct_links
        elif card is not None and max(len(direct_links), len(errors)) < _MOST_DEVICES:
            counted = _ERRORS.search(line)
            kind = _KINDS.get(counted[2].lower()) if counted else None
            if counted and kind and int(counted[1]) < _MOST_LINKS:
                errors.setdefault(card, {}).setdefault(int(counted[1]), {}).setdefault(kind, int(counted[3]))
            elif is_new and not counted:
                _add_links(direct_links, card, line=line)
    return {
        card: _with_errors(direct_links.get(card), errors.get(card, {})) for card in direct_links | errors
    }


def _with_errors(
    links: tuple[DirectLink, ...] | None, errors: dict[int, dict[str, int]]
) -> tuple[DirectLink, ...]:
    """Links with what they counted; of those that only counters name nobody knows whether they are up."""
    direct_links = tuple(DirectLink(index=index) for index in errors) if links is None else links
    return tuple(
        replace(direct_link, errors=tuple(errors.get(direct_link.index, {}).items()))
        for direct_link in direct_links
    )


def _add_links(result: dict[int, tuple[DirectLink, ...]], card: int, *, line: str) -> None:
    """One line below the name of a card."""
    lower = line.lower()
    match = _LINK.search(line)
    if match and len(result.get(card, ())) < _MOST_LINKS:
        rate = read_value("number", match.group(3))
        speed = rate * GIGA if isinstance(rate, float) else None
        link = DirectLink(index=int(match.group(1)), active=speed is not None, bytes_per_s=speed)
        result[card] = (*result.get(card, ()), link)
    elif _ALL_DOWN in lower:
        result[card] = (DirectLink(index=0, active=False),)
    elif any(words in lower for words in _NONE):
        result.setdefault(card, ())


def listed(text: str) -> tuple[Device, ...]:
    """Cards and their MIG instances of `nvidia-smi -L`; an instance's number is unknown, its place stands."""
    devices: dict[tuple[str, ...], Device] = {}
    parts: dict[tuple[str, ...], dict[str, Slice]] = {}
    last: tuple[str, ...] | None = None
    for line in _lines(text):
        card, part = _GPU.match(line.strip()), _MIG.match(line.strip())
        if card:
            last = card.groups()  # a card said again is the same one
            if last not in devices and len(devices) < _MOST_DEVICES:
                mark = read_value("mark", last[2])
                devices[last] = Device(
                    index=int(last[0]), vendor="nvidia", name=last[1], uuid=str(mark) if mark else None
                )
        elif part and last in devices and len(parts.get(last, ())) < _MOST_SLICES:
            profile, place, uuid = part.groups()
            item = Slice(gpu_instance=int(place), profile=profile, uuid=uuid)
            parts.setdefault(last, {}).setdefault(uuid, item)
    return tuple(
        replace(card, mig=True, slices=tuple(parts[mark].values())) if mark in parts else card
        for mark, card in devices.items()
    )
