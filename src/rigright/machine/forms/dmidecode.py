"""What dmidecode wrote: memory modules, slots."""

from __future__ import annotations

from rigright.machine.host import Memory
from rigright.machine.record import Read
from rigright.machine.smbios.text import read_modules, read_slots


def matches(text: str) -> bool:
    """Whether dmidecode wrote it."""
    return "Handle 0x" in text and "DMI type" in text


def read(text: str) -> Read:
    """The modules and slots it lists."""
    modules, slots = read_modules(text), read_slots(text)
    memory = (("memory", Memory(modules=modules)),) if modules else ()
    return Read(fields=(*memory, *((("slots", slots),) if slots else ())))
