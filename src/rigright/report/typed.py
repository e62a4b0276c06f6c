"""A command as its reader types it: root's parts behind sudo, or plain where the reader is root already.

`sudo` before a whole line is not enough: what stands behind `&&` would run without it, and `> FILE` is opened
by the reader's own shell, which may not. So each program that needs root gets one, and tee writes the file.
"""

from __future__ import annotations

import re

from rigright.machine.record import Machine

_SUDO = "sudo "
_QUOTED = r"'[^']*'|\"[^\"]*\""
_PIECES = re.compile(rf"((?:{_QUOTED}|[^'\"|&;]|(?<=>)&)+?)(\s*(?:&&|\|\||\||;)\s*|\Z)")
_INTO = re.compile(rf"(?s)(.*\S)\s+>\s*((?:{_QUOTED}|[^\s'\"])+)")
_OWN = re.compile(r"(?:curl|echo|printf)\b")  # what brings or makes text needs no root, wherever it stands
_READS = re.compile(r"(?:grep|sed|head|tail)\b")  # nor does what reads from the program before it
_OF_HOST = {  # programs that a container lets see nothing
    *("sudo", "systemctl", "timedatectl", "mokutil", "journalctl", "lsmod", "cpupower"),
}


def of_host(command: str, machine: Machine) -> bool:
    """Whether a command shows nothing inside this container, and must be typed on its host."""
    return machine.system.is_contained and command.partition(" ")[0] in _OF_HOST


def typed(command: str, *, needs_root: bool = False, by_root: bool = False) -> str:
    """The command as it is to be typed."""
    if by_root:
        return re.sub(rf"(^|[|&;]\s*){_SUDO}(?:-n )?", r"\1", command)
    return _rooted(command) if needs_root else command


def _rooted(command: str) -> str:
    """The command with each of its programs that needs it behind sudo."""
    pieces = _PIECES.findall(command)
    if "".join(program + joint for program, joint in pieces) != command:  # a quote that nobody closes
        return _SUDO + command
    text, before = "", ""
    for program, joint in pieces:
        text += _by_sudo(program, piped=before == "|") + joint
        before = joint.strip()
    return text


def _by_sudo(program: str, *, piped: bool) -> str:
    into = _INTO.fullmatch(program)
    if into:
        return f"{_by_sudo(into[1], piped=piped)} | {_SUDO}tee {into[2]}"
    return program if _OWN.match(program) or (piped and _READS.match(program)) else _SUDO + program
