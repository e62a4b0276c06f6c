"""What PyTorch's collect_env tells, as reports about PyTorch, vLLM and SGLang carry it."""

from __future__ import annotations

import re

from rigright.base.units import MIB
from rigright.machine.device import Device, maker_of
from rigright.machine.nvidia_smi.capture import is_capture, laid, read_capture
from rigright.machine.nvidia_smi.cards import software_of
from rigright.machine.record import Read
from rigright.machine.system import Framework, Python, System
from rigright.machine.values import words_in

_MOST_CHARS = MIB
_MOST_CARDS = 512
_CARD = re.compile(
    r"^[ \t]{0,20}(?:GPU models and configuration[ \t]*:[ \t]*)?GPU (\d{1,3}(?:,\d{1,3})*): (\S.{0,100})$",
    re.MULTILINE,
)
_ISA = re.compile(r"\((gfx[0-9a-f]{3,4})\b")
_KERNEL = re.compile(r"Linux-(\S{1,100})-(x86_64|aarch64|ppc64le)-with")
_DRIVER = ("nvidia driver version", "cuda driver version")
_TORCH = ("pytorch version", "pytorch")


def is_collect_env(text: str) -> bool:
    """Whether it names a PyTorch, and a driver or a platform, as collect_env does."""
    fields = words_in(text[:_MOST_CHARS], lower=True)
    flag = _first(fields, _DRIVER) is not None or {"python platform", "is cuda available"} <= fields.keys()
    return flag and _first(fields, _TORCH) is not None


def read_collect_env(text: str) -> Read:
    """Its cards, how they reach each other, driver, system and PyTorch."""
    fields = words_in(text[:_MOST_CHARS], lower=True)
    devices: dict[int, Device] = {}
    for indexes, name in _CARD.findall(text[:_MOST_CHARS]):
        for index in map(int, indexes.split(",")[:_MOST_CARDS]):
            if len(devices) < _MOST_CARDS:
                devices.setdefault(index, _card(index, name))
    alone = fields.get("gpu models and configuration", "")  # of ROCm: the first card, without its number
    if not devices and maker_of(alone) == "amd":
        devices[0] = _card(0, alone)
    kernel = _KERNEL.search(fields.get("python platform", ""))
    # the Python that ran it, with its PyTorch
    torch = _first(fields, _TORCH) or ""
    version, _, build = torch.partition("+")
    sees = 0 if fields.get("is cuda available", fields.get("cuda available")) == "False" else None
    framework = Framework(
        name="torch",
        version=version,
        build=build or None,
        cuda=_first(fields, ("cuda used to build pytorch",)),
        sees=sees,
    )
    ran = (_first(fields, ("python version", "python")) or "").split()
    python = Python(path="python", version=ran[0] if ran else None, frameworks=(framework,))
    name = fields["os"].partition(" (")[0] if "os" in fields else None
    own = Read(
        fields={
            "devices": tuple(devices[index] for index in sorted(devices)),
            "software": software_of(driver=_first(fields, _DRIVER), pythons=(python,)),
            "system": System(
                os_id="windows" if name and "Windows" in name else None,
                os_name=name,
                kernel=kernel.group(1) if kernel else None,
                arch=kernel.group(2) if kernel else None,
                virtual="wsl2" if kernel and "microsoft" in kernel.group(1).lower() else None,
            ),
        }
    )
    return laid(read_capture(text), own) if is_capture(text) else own


def _card(index: int, fields: str) -> Device:
    """A card by its name; ROCm writes its instruction set behind it."""
    name = fields.partition(" (")[0].strip()
    isa = _ISA.search(fields)
    vendor = "amd" if isa else maker_of(fields)
    return Device(index=index, vendor=vendor, name=name, isa=isa[1] if isa else None)


def _first(fields: dict[str, str], names: tuple[str, ...]) -> str | None:
    """What is said under one of the names; None for "N/A" and "Could not collect"."""
    text = next((fields[name] for name in names if name in fields), None)
    return text if text and any(map(str.isdigit, text)) else None
