"""Services that matter here, and whether the machine's clock is kept right."""

from __future__ import annotations

import ctypes
import re
import struct

from rigright.base.units import MEGA
from rigright.machine.running.asking import command_text, run_command
from rigright.machine.world import World

MATTER = (
    "nvidia-persistenced",
    "nvidia-fabricmanager",
    "nvidia-imex",
    "nvidia-dcgm",
    "nvidia-powerd",
    "nvidia-cdi-refresh",
    "docker",
    "containerd",
    "kubelet",
    "slurmd",
    "chrony",
    "chronyd",
    "systemd-timesyncd",
    "ntp",
    "ntpsec",
    "unattended-upgrades",
    "irqbalance",
    "tuned",
    "thermald",
    "ollama",
    "display-manager",
)


def services(world: World) -> tuple[tuple[str, str], ...] | None:
    """Each service that is installed and its state: ("docker", "active"); None where nobody keeps any."""
    asked = run_command(
        world, "systemctl", "show", "-p", "Id", "-p", "LoadState", "-p", "ActiveState", *MATTER
    )
    if asked is None or asked.code != 0:
        return None
    pairs = []
    for block in asked.out.strip().split("\n\n"):
        fields = dict(line.partition("=")[::2] for line in block.splitlines())
        name = fields.get("Id", "").removesuffix(".service")
        if name and fields.get("LoadState") not in {None, "not-found"}:
            pairs.append((name, fields.get("ActiveState", "")))
    return tuple(dict(pairs).items())


_CHRONY_OFF = re.compile(r"System time\s*:\s*([\d.eE+-]+) seconds (slow|fast)")
_CHRONY_STATE = re.compile(r"Leap status\s*:\s*(.+)")
_TIMEX_BYTES = 256  # of the kernel's record, with room to spare
_STATUS_AT, _MOST_OFF_AT = 40, 24  # its fields on 64-bit Linux
_UNSYNCED = 0x40
_WORD_BYTES = 8


def clock(world: World) -> tuple[bool | None, float | None]:
    """Synchronised, and the seconds it may be off, by whichever keeper of time answers."""
    chrony = command_text(world, "chronyc", "-n", "tracking")
    if chrony:
        off, state = _CHRONY_OFF.search(chrony), _CHRONY_STATE.search(chrony)
        synced = None if state is None else "not synchronised" not in state[1].lower()
        return synced, None if off is None or not synced else float(off[1])
    text = command_text(world, "timedatectl", "show", "-p", "NTPSynchronized", "--value")
    if text in {"yes", "no"}:
        return text == "yes", None
    return _of_kernel() if world.is_own and world.commands is None else (None, None)


def _of_kernel() -> tuple[bool | None, float | None]:
    """What the kernel says of its own clock; asking changes nothing."""
    if struct.calcsize("P") != _WORD_BYTES:
        return None, None
    record = ctypes.create_string_buffer(_TIMEX_BYTES)
    try:
        answer = ctypes.CDLL(None).adjtimex(record)
    except (OSError, AttributeError, TypeError):
        return None, None
    if answer < 0:
        return None, None
    (status,) = struct.unpack_from("=i", record, _STATUS_AT)
    (most_off_us,) = struct.unpack_from("=q", record, _MOST_OFF_AT)
    synced = not status & _UNSYNCED
    return synced, most_off_us / MEGA if synced else None
