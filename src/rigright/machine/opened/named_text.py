"""Small answers of tools: an environment, a kernel's release; and forms that tell of faults alone."""

from __future__ import annotations

import re
from collections.abc import Callable

from rigright.base.units import KIB
from rigright.machine.parts.surroundings import matters, shown
from rigright.machine.record import Read, telling
from rigright.machine.system import System

_VARIABLE = re.compile(
    r"^(?:(?:declare -x|export) )?([A-Za-z_][A-Za-z0-9_]{0,80})=(.{0,4000})$", re.MULTILINE
)
_LEAST_VARIABLES = 3
_RELEASE = re.compile(r"\s*(\d\.\d{1,2}\.\d{1,3}[-.+][\w.+~-]{1,80})\s*")
_MOST_CHARS = 300_000
_MOST_OF_MARK = 64 * KIB
# what tools print that has a place for faults (rows of messages.csv) and nothing else that checks ask for
NAMED: dict[str, re.Pattern[str]] = {
    name: re.compile("|".join(forms), re.MULTILINE)
    for name, *forms in (
        ("npu-smi", r"\bnpu-smi \d+\.", r"^\|\s*NPU\s+Name\s*\|"),
        ("ipmitool sel", r"^\s*[0-9a-f]{1,5} \| .{4,40}? \| .{4,40}? \| .{1,80} \| (?:Asserted|Deasserted)"),
        ("ipmi-sensors", r"^\d{1,5},[^,\n]{1,40},[^,\n]{1,40},[^,\n]{1,20},[^,\n]{1,10},'"),
        ("Redfish", r'"@odata\.(?:type|id)"', r'"Status"\s*:\s*\{[^{}]{0,120}"Health"\s*:'),
        ("dcgm-exporter", r"^(?:# (?:HELP|TYPE) )?DCGM_FI_\w+"),
        ("dcgmi nvlink", r'"(?:CRC FLIT|Replay) Error"', r"NVLINK Error Counts"),
        ("ibnetdiscover", r"^(?:switchguid|caguid)=0x", r"^(?:SW|CA)\s+\d+\s+\d+\s+0x[0-9a-f]{12,16} "),
        ("ibstat -p", r"^VM_hostname \S+\n[0-9a-f]{16}$"),
        ("ibswinfo", r"^part number\s+\| .*\n(?:.*\n){0,12}?PSID\s+\| "),
        ("perfquery -E", r"^# Port\w+ counters: Lid \d+ port \d+"),
        ("SuperBench", r'"gpu_temperature:\d+"', r'"diagnosis/category"', r"^\| [\w-]+/\w[^|\n]{0,80} \| "),
        ("GPCNet", r"^Network Tests v[\d.]+"),
        ("xpu-smi health", r"^\|\s+\d+\. [\w /]+\|\s+Status: \w+"),
        ("systemctl", r"^\s*Active: (?:active|inactive|failed|activating)", r"^\s*Loaded: loaded"),
        ("kubectl", r"^\s*LAST SEEN\s", r"^\s*\S+\s+(?:Normal|Warning)\s+\w+"),
        (
            "nvidia-smi -q (part)",
            (
                r"^\s*(?:Remapped Rows|ECC Errors|Retired Pages|Clocks (?:Event|Throttle) Reasons|Temperature"
                r"|GPU Power Readings|FB Memory Usage|vGPU Software Licensed Product|PCI|Max Clocks)\s*\n"
                r"\s+[A-Z][\w ./()-]{1,40}(?:\s*:.*)?$"
            ),
        ),
    )
}
NAMES = frozenset(NAMED)


def is_named(name: str) -> Callable[[str], object]:
    """Whether the beginning of a text is of that form."""
    return lambda text: NAMED[name].search(text[:_MOST_OF_MARK])


def is_environment(text: str) -> bool:
    """Whether it is what `env` prints: variables and nothing else, some that matter here."""
    values = _VARIABLE.findall(text[:_MOST_CHARS])
    lines = [line for line in text[:_MOST_CHARS].splitlines() if line.strip()]
    return (
        len(values) >= _LEAST_VARIABLES
        and 2 * len(values) > len(lines)
        and any(matters(name) for name, _ in values)
    )


def read_environment(text: str) -> Read:
    """Those that change what accelerators do; a secret is told as set."""
    fields = {
        name: value.strip("\"'") for name, value in _VARIABLE.findall(text[:_MOST_CHARS]) if matters(name)
    }
    return Read(
        fields=telling(
            environment=tuple((name, shown(name, value)) for name, value in sorted(fields.items()))
        )
    )


def is_release(text: str) -> bool:
    """Whether it is what `uname -r` prints."""
    return _RELEASE.fullmatch(text[:200]) is not None and len(text) <= 200


def read_release(text: str) -> Read:
    """The kernel."""
    match = _RELEASE.fullmatch(text)
    return Read() if match is None else Read(fields={"system": System(kernel=match[1])})


def read_nothing(_: str) -> Read:
    """A form whose lines tell of faults alone: those are messages."""
    return Read(fields={"events": ()})
