"""What ethtool prints, as the files of /sys that it reads."""

from __future__ import annotations

import re

from rigright.machine.values import blocks

_NET = "/sys/class/net"
_MOST_PORTS = 1024
_LINE = re.compile(r"^[ \t]{0,60}([A-Za-z][\w /]{1,40}?)\s{0,40}:\s{0,40}(\S.{0,200}?)\s*$", re.MULTILINE)
_MARK = re.compile(r"^Settings for (\S{1,40}):\s*$", re.MULTILINE)


def port_files(text: str) -> dict[str, bytes]:
    """The files of /sys that it tells of; none where it is not ethtool's."""
    fields: dict[str, bytes] = {}
    for match, part in blocks(text, _MARK, most=_MOST_PORTS):
        stated = {name.strip().lower(): value for name, value in reversed(_LINE.findall(part))}
        speed = re.match(r"(\d{1,7})Mb/s", stated.get("speed", ""))
        files = {
            "type": "1",
            "device/uevent": "",
            "speed": speed[1] if speed else None,
            "operstate": {"yes": "up", "no": "down"}.get(stated.get("link detected", "").partition(" ")[0]),
        }
        for name, value in files.items():
            if value is not None:
                fields.setdefault(f"{_NET}/{match[1]}/{name}", f"{value}\n".encode())
    return fields
