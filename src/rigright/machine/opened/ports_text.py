"""What tools of the network print, as the files of /sys that they read: one table of forms.

ibstat, ibstatus, ibv_devinfo, perfquery, mlxlink, ethtool.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

_RDMA, _NET = "/sys/class/infiniband", "/sys/class/net"
_MOST_PORTS = 1024
_STATES = {
    "down": "1: DOWN",
    "initializing": "2: INIT",
    "init": "2: INIT",
    "armed": "3: ARMED",
    "active": "4: ACTIVE",
}
_PHYSICAL = {"sleep": "1: Sleep", "polling": "2: Polling", "disabled": "3: Disabled", "linkup": "5: LinkUp"}
_LANE_GBIT_S = {"SDR": 2.5, "DDR": 5, "QDR": 10, "FDR": 14, "EDR": 25, "HDR": 50, "NDR": 100, "XDR": 200}
_COUNTERS = {
    "SymbolErrorCounter": "symbol_error",
    "LinkErrorRecoveryCounter": "link_error_recovery",
    "LinkDownedCounter": "link_downed",
    "PortRcvErrors": "port_rcv_errors",
    "PortRcvRemotePhysicalErrors": "port_rcv_remote_physical_errors",
    "PortXmitDiscards": "port_xmit_discards",
    "LocalLinkIntegrityErrors": "local_link_integrity_errors",
    "ExcessiveBufferOverrunErrors": "excessive_buffer_overrun_errors",
    "VL15Dropped": "VL15_dropped",
}
_LINE = re.compile(r"^[ \t]{0,60}([A-Za-z][\w /]{1,40}?)\s{0,40}:\s{0,40}(\S.{0,200}?)\s*$", re.MULTILINE)
_COUNTED = re.compile(r"^(\w{4,40}):\.{2,60}(\d{1,20})\s*$", re.MULTILINE)
_CARD = re.compile(r"(?:^|\s)(?:-d|-C|--Ca|--device)[ =]?(\S{1,40})")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedPort:
    """A stretch about one port or card."""

    match: re.Match[str]  # its mark
    said: Mapping[str, str]  # its lines: name -> value
    text: str  # the command, and the stretch


@dataclass(frozen=True, slots=True)
class _Printed:
    """One form: the mark that begins each port or card, and how its lines become files."""

    name: str
    mark: re.Pattern[str]
    files: Callable[[PrintedPort], Mapping[str, str | None]]


def port_files(head: str, text: str) -> tuple[str, dict[str, bytes]] | None:
    """The tool that printed it, and the files of /sys that it tells of; None where it is none of them."""
    for form in _FORMS:
        found: dict[str, bytes] = {}
        for match, part in _parts(form.mark, text):
            said = {name.strip().lower(): value for name, value in reversed(_LINE.findall(part))}
            for path, value in form.files(
                PrintedPort(match=match, said=said, text=f"{head}\n{part}")
            ).items():
                if value is not None:
                    found.setdefault(path, f"{value}\n".encode())
        if found:
            return form.name, found
    return None


def _parts(mark: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    marks = [*mark.finditer(text)][:_MOST_PORTS]
    for place, match in enumerate(marks):
        end = marks[place + 1].start() if place + 1 < len(marks) else len(text)
        yield match, text[match.end() : end]


def card_files(part: PrintedPort) -> dict[str, str | None]:
    """A card and its ports, of ibstat and ibv_devinfo."""
    at = f"{_RDMA}/{part.match[1]}"
    found: dict[str, str | None] = {
        f"{at}/hca_type": part.said.get("ca type"),
        f"{at}/fw_ver": part.said.get("firmware version", part.said.get("fw_ver")),
        f"{at}/board_id": part.said.get("board_id"),
    }
    for port, below in _parts(re.compile(r"^\s+(?:Port|port:)\s+(\d{1,3})\b:?", re.MULTILINE), part.text):
        lines = {name.strip().lower(): value for name, value in reversed(_LINE.findall(below))}
        rate = re.match(r"\d{1,5}(?:\.\d)?\Z", lines.get("rate", ""))
        found |= {
            f"{at}/ports/{port[1]}/{name}": value
            for name, value in (
                ("state", _state(lines.get("state"))),
                ("phys_state", _PHYSICAL.get(lines.get("physical state", "").lower())),
                ("rate", f"{rate[0]} Gb/sec" if rate else None),
                ("link_layer", lines.get("link layer", lines.get("link_layer"))),
            )
        }
    return found


def _state(said: str | None) -> str | None:
    """As /sys writes it: "Active", "PORT_ACTIVE (4)" -> "4: ACTIVE"."""
    word = (said or "").lower().removeprefix("port_").partition(" ")[0]
    return _STATES.get(word)


def status_files(part: PrintedPort) -> dict[str, str | None]:
    """One port of ibstatus, in the words of /sys."""
    at = f"{_RDMA}/{part.match[1]}/ports/{part.match[2]}"
    names = {"state": "state", "phys state": "phys_state", "rate": "rate", "link_layer": "link_layer"}
    return {f"{at}/{file}": part.said.get(name) for name, file in names.items()}


def counter_files(part: PrintedPort) -> dict[str, str | None]:
    """Counters of perfquery, of the card that was asked for, else of a port by its lid."""
    card = _CARD.search(part.text.partition("\n")[0])
    at = f"{_RDMA}/{card[1] if card else 'lid' + part.match[1]}/ports/{part.match[2]}"
    found: dict[str, str | None] = {f"{at}/link_layer": "InfiniBand"}
    for name, count in _COUNTED.findall(part.text):
        if name in _COUNTERS:
            found[f"{at}/counters/{_COUNTERS[name]}"] = count
    return found


def link_files(part: PrintedPort) -> dict[str, str | None]:
    """One port of mlxlink."""
    card = _CARD.search(part.text.partition("\n")[0])
    at = f"{_RDMA}/{card[1].rpartition('/')[2] if card else 'mlx5'}/ports/1"
    speed, lanes = part.said.get("speed", ""), re.match(r"(\d{1,2})x", part.said.get("width", ""))
    lane = _LANE_GBIT_S.get(speed.removeprefix("IB-"))
    whole = re.match(r"(\d{2,4})G", speed)
    rate = f"{lane * int(lanes[1]):g}" if lane and lanes else whole[1] if whole else None
    return {
        f"{at}/state": _state(part.said.get("state")),
        f"{at}/phys_state": _PHYSICAL.get(part.said.get("physical state", "").lower()),
        f"{at}/rate": f"{rate} Gb/sec" + (f" ({lanes[1]}X)" if lanes else "") if rate else None,
        f"{at}/link_layer": "InfiniBand" if speed.startswith("IB-") else "Ethernet" if whole else None,
    }


def ethernet_files(part: PrintedPort) -> dict[str, str | None]:
    """One port of ethtool."""
    at = f"{_NET}/{part.match[1]}"
    speed = re.match(r"(\d{1,7})Mb/s", part.said.get("speed", ""))
    return {
        f"{at}/type": "1",
        f"{at}/device/uevent": "",
        f"{at}/speed": speed[1] if speed else None,
        f"{at}/operstate": {"yes": "up", "no": "down"}.get(
            part.said.get("link detected", "").partition(" ")[0]
        ),
    }


_FORMS = (
    _Printed("ibstat", re.compile(r"^CA '(\S{1,40})'\s*$", re.MULTILINE), card_files),
    _Printed(
        "ibstatus",
        re.compile(r"^Infiniband device '(\S{1,40})' port (\d{1,3}) status:", re.MULTILINE),
        status_files,
    ),
    _Printed("ibv_devinfo", re.compile(r"^hca_id:\s+(\S{1,40})\s*$", re.MULTILINE), card_files),
    _Printed(
        "perfquery",
        re.compile(r"^# Port (?:extended )?counters: Lid (\d{1,6}) port (\d{1,3})", re.MULTILINE),
        counter_files,
    ),
    _Printed("mlxlink", re.compile(r"^Operational Info\s*$", re.MULTILINE), link_files),
    _Printed("ethtool", re.compile(r"^Settings for (\S{1,40}):\s*$", re.MULTILINE), ethernet_files),
)
