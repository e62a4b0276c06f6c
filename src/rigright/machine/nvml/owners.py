"""Whose a program is, of the machine's own lists; where there are none, as psutil says."""

from __future__ import annotations

from functools import cache

from rigright.machine.world import World

_UID = "Uid:"


def owner_of(world: World, pid: int) -> str | None:
    """The user of a program; None where it is gone, or hidden from us."""
    status = world.text(f"/proc/{pid}/status", 4096)
    if status is None:
        return None if world.has("/proc/self") else _by_psutil(pid)
    line = next((line for line in status.splitlines() if line.startswith(_UID)), "")
    uid = next(iter(line.removeprefix(_UID).split()), None)
    return None if uid is None else _read_users(world.text("/etc/passwd") or "").get(uid, uid)


@cache
def _read_users(passwd: str) -> dict[str, str]:
    rows = (line.split(":") for line in passwd.splitlines())
    return {row[2]: row[0] for row in rows if len(row) > 2}


def _by_psutil(pid: int) -> str | None:
    try:
        import psutil

        return str(psutil.Process(pid).username())
    except Exception:  # noqa: BLE001 - gone, hidden, or no psutil: nobody knows
        return None
