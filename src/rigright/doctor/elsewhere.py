"""What was not seen, said for the machine it is about: the file it came from, its system, its vendor."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from rigright.base.tables import DATA, read_rows, text
from rigright.base.words import say
from rigright.doctor.record import Finding, NotSeen, Verdict
from rigright.machine.record import Machine

_NOTHING = "-"
_MAKERS = {"10de": "nvidia", "1002": "amd"}
_TOOLS = {"amd-smi": "amd", "rocm-smi": "amd", "xpu-smi": "intel"}


def for_machine(finding: Verdict, machine: Machine) -> Verdict | None:
    """The same with commands that can be typed there; None where no such thing is on its system."""
    if isinstance(finding, Finding):
        return finding if _system(machine) in {"linux", "container"} else _there(finding, machine)
    if not isinstance(finding, NotSeen):
        return finding
    for where in (_system(machine), _vendor(finding.about, machine)):
        instead = _instead(finding.see or "", where)
        if instead == _NOTHING:
            return None
        finding = replace(finding, see=instead or finding.see)
    if finding.see and _system(machine) == "windows":
        finding = replace(finding, see=finding.see.partition(" | grep")[0])
    return (
        replace(finding, why=say("not in this file")) if machine.is_capture and not finding.idle else finding
    )


def shows_cards(machine: Machine) -> str:
    """The command that shows the state of its cards."""
    see = "nvidia-smi -q"
    return _instead(see, _vendor(None, machine)) or see


def _there(finding: Finding, machine: Machine) -> Finding:
    """A finding with the commands of its system; steps without any are left out."""
    steps = []
    for step in finding.fix:
        command = _typed(step.command, machine)
        if command or not step.command:
            steps.append(replace(step, command=command))
    return replace(
        finding,
        evidence=tuple(replace(seen, command=_typed(seen.command, machine)) for seen in finding.evidence),
        fix=tuple(steps) or tuple(replace(step, command=None) for step in finding.fix),
        verify=_typed(finding.verify, machine),
    )


def _typed(command: str | None, machine: Machine) -> str | None:
    """A command as it is typed on that system; None where it has none."""
    if command is None:
        return None
    where = _system(machine)
    instead = _instead(command, where) or _instead(f"sudo {command}", where)
    return None if instead == _NOTHING else instead or command.removeprefix("sudo ").partition(" | grep")[0]


def _system(machine: Machine) -> str:
    name = f"{machine.system.os_id} {machine.system.os_name}".lower()
    if "windows" in name:
        return "windows"
    if "macos" in name or any(device.vendor == "apple" for device in machine.devices):
        return "macos"
    return "container" if machine.system.is_contained else "linux"


def _vendor(about: str | None, machine: Machine) -> str:
    """Whose card it is about; NVIDIA's where the machine has one, or nobody tells."""
    vendors = [card.vendor for card in machine.devices]
    vendors += [_MAKERS[function.id[:4]] for function in machine.pci or () if function.id[:4] in _MAKERS]
    vendors += [vendor for tool, vendor in _TOOLS.items() if tool in machine.read_as]
    named = (about or "").partition(" ")[0]
    return named if named in vendors else "nvidia" if "nvidia" in vendors or not vendors else vendors[0]


def _instead(see: str, where: str) -> str:
    """What stands in the table for a command there, by its longest beginning; "" for nothing."""
    fits = [
        (starts, instead) for starts, place, instead in _rows() if place == where and see.startswith(starts)
    ]
    return max(fits, key=lambda row: len(row[0]))[1] if fits else ""


@cache
def _rows() -> tuple[tuple[str, str, str], ...]:
    columns = ("starts", "where", "instead", "source", "as_of")
    rows = read_rows(DATA / "commands_elsewhere.csv", dict.fromkeys(columns, text), required=columns)
    return tuple((row["starts"], row["where"], row["instead"]) for row in rows)
