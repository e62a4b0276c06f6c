"""What nvidia-smi says instead of its answer, or before it: no driver, another version, a lost card."""

from __future__ import annotations

import re

from rigright.base.units import MIB
from rigright.base.words import say
from rigright.machine.device import Device
from rigright.machine.nvml.codes import MISMATCH, NO_PERMISSION, NOT_LOADED, why
from rigright.machine.record import Read, Unseen
from rigright.machine.system import Software
from rigright.machine.values import address

_GONE = re.compile(
    r"device handle for GPU.{0,12}?([0-9A-F]{4,8}(?::[0-9A-F]{2}){2}\.[0-7]):?(.{0,80})", re.IGNORECASE
)
_FAILED = re.compile(
    r"^.{0,12}?(NVIDIA-SMI has failed because.{0,200}|Failed to initialize NVML: .{0,100}"
    r"|No devices were found)",
    re.MULTILINE,
)
_MEANT = (
    ("communicate with the nvidia driver", NOT_LOADED),
    ("driver not loaded", NOT_LOADED),
    ("version mismatch", MISMATCH),
    ("insufficient permissions", NO_PERMISSION),
)
_MOST_CHARS = MIB


def is_complaint(text: str) -> bool:
    """Whether it holds one."""
    return bool(_GONE.search(text[:_MOST_CHARS]) or _FAILED.search(text[:_MOST_CHARS]))


def read_complaint(text: str) -> Read:
    """The cards it names, and what it says of the driver."""
    failed = _FAILED.search(text[:_MOST_CHARS])
    gone = lost(text, first=0)
    if failed is None:
        shown = Unseen(what="devices", why=say("nvidia-smi lists only lost GPUs"), see="nvidia-smi")
        return Read(fields={"devices": gone}, unseen=(shown,))
    stated = failed.group(1).strip()
    code = next((code for words, code in _MEANT if words in stated.lower()), None)
    sentence = say("{text}", text=stated) if code is None else why(code)
    unseen = Unseen(what="devices", why=sentence, see="nvidia-smi")
    return Read(fields={"devices": gone, "software": Software(driver_error=str(sentence))}, unseen=(unseen,))


def lost(text: str, *, first: int) -> tuple[Device, ...]:
    """The cards of "Unable to determine the device handle for GPU ...: Unknown Error"."""
    fields = {address(match.group(1)): match.group(2) for match in _GONE.finditer(text[:_MOST_CHARS])}
    return tuple(
        Device(
            index=first + place,
            vendor="nvidia",
            state="denied" if "permission" in why_not.lower() else "lost",
            pci=where,
        )
        for place, (where, why_not) in enumerate(fields.items())
    )
