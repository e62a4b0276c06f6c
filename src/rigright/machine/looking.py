"""Commands that only look: what a record from elsewhere may have us show, and nothing beside it.

A saved machine brings along what would show the things it lacks. Whoever opens a stranger's file may type
what the page says, so that a line of it passes only in a shape that our own readers write. A shape leaves no
room for a second command, a file that is written, or an option that changes a card.
"""

from __future__ import annotations

import re

_PATH = r"(?:/[\w./:@%+-]*|'[^'\n]*')"  # plain, or quoted whole
_NVIDIA_SMI = (
    r"topo -m|(?:nvlink|c2c) -[csep]|nvlink -gt d|-[qLx]|-i \d+|-d [A-Z_,]+"
    r"|--query-gpu=[a-z_.,]+|--format=csv"
)
_SHAPES = (
    rf"nvidia-smi(?: (?:{_NVIDIA_SMI}))*",
    r"nvidia-smi [dp]mon(?: --gpm-metrics \d{1,3}(?:,\d{1,3}){0,9})?(?: -c \d{1,9})?",
    r"nvidia-settings -q \w+ -t",
    r"amd-smi static",
    r"xpu-smi discovery",
    r"sudo dmidecode -t \w+",
    r"(?:sudo )?lspci -(?:nn|v+)(?: \| grep -E '[^'\n]*')?",
    r"sudo ipmitool sensor",
    rf"sudo smartctl -a {_PATH}",
    rf"df -h {_PATH}",
    r"(?:sudo )?dmesg",
    r"sudo docker info",
    r"systemctl list-units",
    r"mokutil --sb-state",
    r"cpupower frequency-info",
    r"ifconfig -a",
    r"lsblk|lsmod|timedatectl",
)
_LOOKS = re.compile("|".join(f"(?:{shape})" for shape in _SHAPES), re.ASCII)


def only_looks(command: str) -> bool:
    """Whether it is one of those that change nothing, whoever wrote it."""
    return _LOOKS.fullmatch(command) is not None
