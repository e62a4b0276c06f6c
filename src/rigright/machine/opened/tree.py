"""Files and answers found in a paste or an archive, as a machine that answers as the recorded one did."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import PurePosixPath

from rigright.machine.bundle.heard import Recording, Replay
from rigright.machine.opened.sections import Section
from rigright.machine.probe import probe
from rigright.machine.record import Machine, Read
from rigright.machine.world import CommandOutput

_FILE = re.compile(r"/(?:proc|sys|etc|run|var/lib|lib/modules|dev)/\S+")
_BEGINNINGS: tuple[tuple[re.Pattern[str], str], ...] = (  # a file by what it holds, whoever printed it
    (re.compile(r"\s*(?:\w+=.*\n){0,30}(?:PRETTY_NAME|ID|VERSION_ID)=", re.MULTILINE), "/etc/os-release"),
    (re.compile(r"\s*processor[ \t]*: 0\n"), "/proc/cpuinfo"),
    (re.compile(r"\s*MemTotal:\s+\d+ kB\n"), "/proc/meminfo"),
    (re.compile(r"\s*NVRM version: "), "/proc/driver/nvidia/version"),
    (re.compile(r"\s*Module\s+Size\s+Used by\s*\n"), "/proc/modules"),
    (re.compile(r"\s*(?:[a-z]\w{1,60} +\d{3,18} +\d{1,9}(?: \S*)?\n?){1,2000}\Z"), "/proc/modules"),
    (re.compile(r"\s*BOOT_IMAGE=\S+ .{0,4000}\s*\Z"), "/proc/cmdline"),
)
_ANSWERS: tuple[
    tuple[re.Pattern[str], tuple[str, ...]], ...
] = (  # a command by its beginning, as readers ask it
    (re.compile(r"chronyc\b.*\btracking"), ("chronyc", "-n", "tracking")),
    (re.compile(r"timedatectl"), ("timedatectl", "show", "-p", "NTPSynchronized", "--value")),
    (re.compile(r"mokutil --sb-state"), ("mokutil", "--sb-state")),
    (re.compile(r"dkms status"), ("dkms", "status")),
    (re.compile(r"nvcc (?:--version|-V)"), ("nvcc", "--version")),
    (re.compile(r"nv-fabricmanager --version"), ("nv-fabricmanager", "--version")),
    (re.compile(r"systemd-detect-virt"), ("systemd-detect-virt", "--vm")),
    (re.compile(r"ipmitool sdr"), ("ipmitool", "sdr")),
    (re.compile(r"ipmitool sensor"), ("ipmitool", "sensor")),
)
_SPOKEN: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (  # a command by what it prints
    (re.compile(r"\s*nvcc: NVIDIA \(R\) Cuda compiler"), ("nvcc", "--version")),
    (re.compile(r"\s*SecureBoot (?:enabled|disabled)"), ("mokutil", "--sb-state")),
    (re.compile(r"\s*Reference ID +: "), ("chronyc", "-n", "tracking")),
    (re.compile(r"(?:[^|\n]{1,40}\|[^|\n]{1,40}\| *(?:ok|ns|cr|nc|nr)\s*(?:\n|$)){2}"), ("ipmitool", "sdr")),
    (
        re.compile(r"[^|\n]{1,40}\|[^|\n]{1,40}\|[^|\n]{1,20}\|[^|\n]{1,20}(?:\|[^|\n]{1,20}){6}\s*(?:\n|$)"),
        ("ipmitool", "sensor"),
    ),
    (re.compile(r"\s*Local time: "), ("timedatectl", "show", "-p", "NTPSynchronized", "--value")),
)
_SYNCED = re.compile(r"(?:System clock synchronized|NTP synchronized|NTPSynchronized)[:=] *(yes|no)")
_INFINIBAND = re.compile(
    r"(?:.*/)?(?P<inside>[^/]+/(?:ports/\d{1,3}/.+|hca_type|fw_ver|board_id|node_guid|node_type|hw_rev))\Z"
)
_ROOTED = re.compile(r"(?P<above>|.*?/)(?P<inside>(?:proc|sys|etc|run|dev|lib/modules|var/lib)/.+)\Z")
_MODULE_ROW = re.compile(r"^(\w+) +(\d{1,18}) +(\d{1,18}) *(\S*)$", re.MULTILINE)


def answered(section: Section) -> tuple[str, str] | tuple[tuple[str, ...], str] | None:
    """The file, or the command as readers ask it, that a section answers, and the answer."""
    head, text = section.head, section.text
    if "No such file" in text[:200] or "Permission denied" in text[:200] or "command not found" in text[:200]:
        return None
    if head.startswith("lsmod") and _MODULE_ROW.search(text):  # without its heading, where grep cut it
        return "/proc/modules", _loaded(f"Module Size Used by\n{text}")
    path = head if _FILE.fullmatch(head) else next((at for form, at in _BEGINNINGS if form.match(text)), None)
    if path is not None:
        return path, _loaded(text) if path == "/proc/modules" else text.strip("\n") + "\n"
    asked = ((form.match(head), argv) for form, argv in _ANSWERS)
    spoken = ((form.match(text), argv) for form, argv in _SPOKEN)
    argv = next((argv for match, argv in (*asked, *spoken) if match), None)
    if argv is not None and argv[0] == "timedatectl":
        synced = _SYNCED.search(text)
        return None if synced is None else (argv, synced[1] + "\n")
    return None if argv is None else (argv, text + "\n")


def _loaded(text: str) -> str:
    """Loaded modules as /proc/modules has them; lsmod leaves out what is the same of all."""
    if " 0x" in text:
        return text
    rows = _MODULE_ROW.findall(text)
    return "".join(f"{name} {size} {count} {users or '-'} Live 0x0\n" for name, size, count, users in rows)


def rooted(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of a machine among those of an archive, by their place below its root."""
    fields: dict[str, bytes] = {}
    tops = sorted({match["above"] for name in members if (match := _ROOTED.match(name))}, key=len)
    for name, raw in members.items():
        match = _ROOTED.match(name)
        if match and match["above"] == tops[0]:
            fields["/" + match["inside"]] = raw
        elif match := _INFINIBAND.match(name):
            fields["/sys/class/infiniband/" + match["inside"]] = raw
    return fields


def read_tree(files: Mapping[str, bytes], commands: Mapping[tuple[str, ...], str]) -> Read:
    """What files and answers tell, and nothing of what they do not hold."""
    folders: dict[str, set[str]] = {}
    for path in map(PurePosixPath, files):
        for inside in (path, *path.parents):
            if inside.name:
                folders.setdefault(str(inside.parent), set()).add(inside.name)
    kept = Recording(
        files=dict(files),
        folders={path: tuple(sorted(names)) for path, names in folders.items()},
        commands={argv: CommandOutput(code=0, out=out) for argv, out in commands.items()},
    )
    return read_of(probe(Replay(kept=kept)))


def read_of(machine: Machine) -> Read:
    """A machine as what was read of it: fields that say something."""
    bare = Machine()
    return Read(fields={
        field.name: value
        for field in fields(Machine)
        if field.name not in {"schema", "origin", "unseen"}
        and (value := getattr(machine, field.name)) != getattr(bare, field.name)
        and value != ()
    })  # fmt: skip
