"""What network tools print: ibstat, ibv_devinfo, perfquery, iblinkinfo, mlxlink, rdma; and ethtool."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from rigright.base.units import GIGA
from rigright.machine.filled import keyed
from rigright.machine.host import Port
from rigright.machine.opened.text import Section, sections
from rigright.machine.parts.network import rdma_port, rdma_state
from rigright.machine.record import Read, telling
from rigright.machine.system import Event
from rigright.machine.values import address, blocks, words_in

_BITS, _A_MINUTE_S = 8, 60
_MOST_PORTS = 4096
_HCA = r"(?:'|\")?(?P<card>[A-Za-z][\w.-]{0,40})(?:'|\")?"
_CARD = re.compile(rf"^(?:CA |hca_id:\s*){_HCA}[ \t]*$", re.MULTILINE)
_PORT = re.compile(r"^\s+(?:Port |port:\s*)(\d{1,3}):?[ \t]*$", re.MULTILINE)
_STATUS = re.compile(rf"^Infiniband device {_HCA} port (\d{{1,3}}) status:", re.MULTILINE)
_RDMA = re.compile(
    r"^(?:link|\d{1,3}/\d{1,3}:) ([\w.-]{1,40}/\d{1,3}):? .*?state (\w+)(?: physical_state (\w+))?",
    re.MULTILINE,
)
_COUNTS = re.compile(r"^# Port (?:extended )?counters: Lid (\d{1,6}) port (\d{1,3})", re.MULTILINE)
_COUNT = re.compile(r"^(\w{4,40}):\.{2,60}(\d{1,20})\s*$", re.MULTILINE)
_LINK = re.compile(
    r"^.{0,60}?(\d{1,3})\[[^\]]{0,4}\] ==\(\s*(?:(\d{1,2})X\s+([\d.]{1,8}) Gbps)?\s*(\w+)/\s*(\w+)\s*\)==>"
    r"\s*(?:\d{1,6}\s+(\d{1,3}))?\[[^\]]{0,4}\] \"([^\"]{0,120})\"",
    re.MULTILINE,
)
_NODE = re.compile(r"^(CA|Switch)(?::| from)\s*(?:0x\w{1,20}\s+)?(.{1,120}?):?\s*$", re.MULTILINE)
_MLXLINK = re.compile(r"^Operational Info\b|^Physical Counters and BER Info\b", re.MULTILINE)
_DEVICE = re.compile(r"(?:-d|-C|--device|--Ca)[ =]?([\w:./-]{1,60})")
_NUMBERED = re.compile(r"(?:-P|--Port|-p)[ =]?(\d{1,3})\b")
_HOT = re.compile(r"(-?\d{1,3}) \[-?\d{1,3}\.\.(-?\d{1,3})\]")
_COUNTERS = {  # as perfquery and mlxlink name them, and as the kernel does
    "symbolerrorcounter": "symbol_error",
    "linkerrorrecoverycounter": "link_error_recovery",
    "linkdownedcounter": "link_downed",
    "portrcverrors": "port_rcv_errors",
    "portrcvremotephysicalerrors": "port_rcv_remote_physical_errors",
    "portxmitdiscards": "port_xmit_discards",
    "locallinkintegrityerrors": "local_link_integrity_errors",
    "excessivebufferoverrunerrors": "excessive_buffer_overrun_errors",
    "vl15dropped": "VL15_dropped",
    "effective physical errors": "effective_errors",
    "link down counter": "link_downed",
    "link error recovery counter": "link_error_recovery",
}
_GENERATIONS = (  # of InfiniBand: name, signals of a lane and what it carries, Gb/s
    *(
        ("SDR", 2.5, 2.5),
        ("DDR", 5.0, 5.0),
        ("QDR", 10.0, 10.0),
        ("FDR10", 10.3125, 10.0),
        ("FDR", 14.0625, 14.0),
    ),
    *(("EDR", 25.78125, 25.0), ("HDR", 53.125, 50.0), ("NDR", 106.25, 100.0), ("XDR", 212.5, 200.0)),
)
_LANES = {signals: rate for _, signals, rate in _GENERATIONS}
_SPEEDS = {name: rate for name, _, rate in _GENERATIONS}
_NAMES = {  # of a line of ibstat, ibstatus or ibv_devinfo, as the kernel calls the same
    "link layer": "link_layer",
    "transport": "node_type",
    "ca type": "hca_type",
    "physical state": "phys_state",
    "phys state": "phys_state",
    "firmware version": "fw_ver",
}


def is_fabric(text: str) -> bool:
    """Whether it is what one of these tools prints."""
    marks = (_CARD, _STATUS, _COUNTS, _LINK, _MLXLINK, _RDMA)
    return any(mark.search(text) for mark in marks)


def read_fabric(text: str) -> Read:
    """The ports of this machine, laid together from all that tells of them; and what mlxlink complains of."""
    ports: list[Port] = []
    places: dict[tuple[str, str], str] = {}  # of a lid and a port, its name
    events: list[Event] = []
    for section in sections(text):
        for port, lid in islice(_ports(section), _MOST_PORTS):
            ports.append(port)
            if lid:
                places[lid, port.name.rpartition("/")[2]] = port.name
        if _MLXLINK.search(section.text):
            ports.append(_mlxlink_port(section))
            events += _complaints(section)
    for section in sections(text):
        ports += _counted(section, places)
    return Read(fields={"ports": keyed(ports, ("name",))[:_MOST_PORTS], **telling(events=tuple(events))})


def _ports(section: Section) -> Iterator[tuple[Port, str]]:
    """Each port and its lid, of whichever tool."""
    text = section.text
    for card, block in blocks(text, _CARD):
        head = words_in(_PORT.split(block, maxsplit=1)[0], lower=True)
        for port, inner in blocks(block, _PORT):
            yield _port(f"{card['card']}/{port[1]}", head | words_in(inner, lower=True))
    for start, block in blocks(text, _STATUS):
        yield _port(f"{start['card']}/{start[2]}", words_in(block, lower=True))
    kind = "roce" if "netdev" in text else "infiniband"
    for name, state, physical in _RDMA.findall(text):
        yield Port(name=name, kind=kind, state=rdma_state(state, physical)), ""
    yield from ((port, "") for port in _links(text))


def _port(name: str, fields: dict[str, str]) -> tuple[Port, str]:
    """One port of ibstat, ibstatus or ibv_devinfo."""
    words = {_NAMES.get(line, line): value for line, value in fields.items()}
    port = rdma_port(name, words)
    width, part = re.match(r"(\d{1,2})X", words.get("active_width", "")), words.get("vendor_part_id", "")
    lanes = int(width[1]) if width and port.lanes is None else port.lanes
    model = port.model or (f"MT{part}" if part.isdecimal() else None)
    lid = words.get("base lid") or words.get("port_lid") or ""
    lid = str(int(lid, 16)) if re.fullmatch(r"0x[0-9a-fA-F]{1,6}", lid) else lid
    return replace(port, lanes=lanes, model=model), lid


def _links(text: str) -> Iterator[Port]:
    """Links of iblinkinfo that end at a network card."""
    heads, rows = [*_NODE.finditer(text)], [*_LINK.finditer(text)]
    starts = [head.start() for head in heads]
    hosts = {_host(head[2]) for head in heads if head[1] == "CA"} | {
        _host(row[7]) for row in rows if row[7] and ";" not in row[7]
    }
    for row in rows:
        place = bisect_left(starts, row.start())  # of the node below
        is_card = place > 0 and heads[place - 1][1] == "CA"
        node, number = (heads[place - 1][2], row[1]) if is_card else (row[7], row[6])
        if not node or not number or ";" in node:
            continue
        lanes, speed = row[2], _LANES.get(float(row[3])) if row[3] else None
        name = node.split()[-1] if len(hosts) == 1 else node
        yield Port(
            name=f"{name}/{number}",
            kind="infiniband",
            state=rdma_state(row[4], row[5]),
            lanes=int(lanes) if lanes else None,
            bytes_per_s=speed * int(lanes) * GIGA / _BITS if speed and lanes else None,
        )


def _host(node: str) -> str:
    return node.split(maxsplit=1)[0] if node.split() else ""


def _name(section: Section, otherwise: str) -> str:
    """The port that a command asks about."""
    device, number = _DEVICE.search(section.head), _NUMBERED.search(section.head)
    return f"{device[1] if device else otherwise}/{number[1] if number else 1}"


def _counted(section: Section, places: dict[tuple[str, str], str]) -> Iterator[Port]:
    """Counters of perfquery, on the port they are of."""
    asked = _name(section, "") if _DEVICE.search(section.head) else None
    for block, below in blocks(section.text, _COUNTS):
        if counters := _counters(_COUNT.findall(below)):
            name = asked or places.get((block[1], block[2])) or f"lid{block[1]}/{block[2]}"
            yield Port(name=name, kind="infiniband", counters=counters)


def _counters(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, int], ...]:
    known = ((_COUNTERS.get(name.lower()), value) for name, value in pairs)
    return tuple((name, int(value)) for name, value in known if name and value.isdecimal())


def _mlxlink_port(section: Section) -> Port:
    words = words_in(section.text, lower=True)
    lanes = re.match(r"(\d{1,2})x", words.get("width", ""))
    speed = words.get("speed", "").removeprefix("IB-")
    ethernet = re.match(r"(\d{1,4})G", speed)
    per_lane = _SPEEDS.get(speed, 0.0) * int(lanes[1]) if lanes else 0.0
    rate = float(ethernet[1]) if ethernet else per_lane
    counters = _counters(words.items())
    passed = next((value for name, value in words.items() if name.startswith("time since last clear")), "")
    if re.fullmatch(r"\d{1,9}(?:\.\d{1,6})?", passed):
        counters = (*counters, ("counted_s", int(float(passed) * _A_MINUTE_S)))
    return Port(
        name=_name(section, "mlxlink"),
        kind="roce" if ethernet else "infiniband",
        state=rdma_state(words.get("state"), words.get("physical state")),
        bytes_per_s=rate * GIGA / _BITS if rate else None,
        lanes=int(lanes[1]) if lanes and not ethernet else None,
        counters=counters,
    )


def _complaints(section: Section) -> Iterator[Event]:
    """What mlxlink recommends, and a transceiver hotter than it may be."""
    device = _DEVICE.search(section.head)
    pci = address(device[1]) if device and ":" in device[1] else None
    for name, value in words_in(section.text).items():
        hot = _HOT.match(value) if name.startswith("Temperature") else None
        is_bad = name == "Recommendation" and not value.lower().startswith(("no issue", "n/a"))
        if is_bad or (hot is not None and int(hot[1]) > int(hot[2])):
            yield Event(kind="nic", text=f"{_name(section, 'mlxlink')}: {name}: {value}", pci=pci)


_NET = "/sys/class/net"
_MOST_ETHERNET = 1024
_ETHTOOL = re.compile(r"^Settings for (\S{1,40}):\s*$", re.MULTILINE)


def port_files(text: str) -> tuple[dict[str, bytes], dict[tuple[str, ...], str]]:
    """The files of /sys that it tells of, and each port's answer; none where it is not ethtool's."""
    contents: dict[str, bytes] = {}
    answers: dict[tuple[str, ...], str] = {}
    for match, part in blocks(text, _ETHTOOL, most=_MOST_ETHERNET):
        stated = words_in(part, lower=True)
        answers.setdefault(("ethtool", match[1]), part)
        speed = re.match(r"(\d{1,7})Mb/s", stated.get("speed", ""))
        files = {
            "type": "1",
            "device/uevent": "",
            "speed": speed[1] if speed else None,
            "operstate": {"yes": "up", "no": "down"}.get(stated.get("link detected", "").partition(" ")[0]),
        }
        for name, value in files.items():
            if value is not None:
                contents.setdefault(f"{_NET}/{match[1]}/{name}", f"{value}\n".encode())
    return contents, answers
