"""What rocminfo prints: the agents of HSA: cards, or parts of one, and processors."""

from __future__ import annotations

import re

from rigright.base.units import KIB, MEGA
from rigright.machine.amd.isa import shares_memory
from rigright.machine.amd.parts import whole_cards
from rigright.machine.device import Clocks, Device
from rigright.machine.device_text.blocks import blocks
from rigright.machine.device_text.values import read_value
from rigright.machine.host import Cpu
from rigright.machine.record import Read, telling

_MOST_AGENTS = 512
_AGENT = re.compile(r"(?m)^Agent \d{1,4}[ \t]{0,40}$")
_SAID = re.compile(r"(?m)^ {2,6}([A-Z][A-Za-z .()]{1,40}):[ \t]{1,40}(\S.{0,120}?)[ \t]{0,60}$")
_POOL = re.compile(r"COARSE GRAINED\s{1,40}Size:\s{1,40}(\d{1,15})\(0x[0-9a-f]+\) KB")


def is_rocminfo(text: str) -> bool:
    """Whether rocminfo wrote it."""
    return "Marketing Name:" in text and _AGENT.search(text) is not None


def read_agents(text: str) -> Read:
    """The cards, those in parts put together, and the processor's name."""
    agents = [item for _, item in blocks(text, _AGENT, most=_MOST_AGENTS)]
    pairs = [(dict(reversed(_SAID.findall(agent))), agent) for agent in agents]
    cards = [(fields, block) for fields, block in pairs if fields.get("Device Type") == "GPU"]
    devices = [_card(fields, block, index=index) for index, (fields, block) in enumerate(cards)]
    name = next((fields["Marketing Name"] for fields, _ in pairs if _is_processor(fields)), None)
    cpu = Cpu(name=name) if name else None
    return Read(fields={"devices": whole_cards(devices)[0], **telling(cpu=cpu)})


def _is_processor(fields: dict[str, str]) -> bool:
    return fields.get("Device Type") == "CPU" and "Marketing Name" in fields


def _card(fields: dict[str, str], block: str, *, index: int) -> Device:
    isa, uuid = fields.get("Name"), fields.get("Uuid", "").removeprefix("GPU-")
    pool = _POOL.search(block)
    chip = _number(fields.get("Chip ID"))
    clock_mhz, units = _number(fields.get("Max Clock Freq. (MHz)")), _number(fields.get("Compute Unit"))
    is_isa = read_value("amd_isa", isa)
    return Device(
        index=index,
        vendor="amd",
        name=fields.get("Marketing Name"),
        uuid=uuid if re.fullmatch(r"[0-9a-f]{8,32}", uuid) else None,
        pci=_located(_number(fields.get("BDFID")), _number(fields.get("Domain")) or 0),
        pci_id=f"1002:{chip:04x}" if chip and chip < 1 << 16 else None,
        isa=isa if is_isa else None,
        sms=units or None,
        mem_total_bytes=float(pool[1]) * KIB if pool else None,
        clocks=Clocks(sm_max_hz=clock_mhz * MEGA if clock_mhz else None),
        unified_memory=shares_memory(isa) or None,
    )


def _number(text: str | None) -> int | None:
    """What a value begins with: "29857(0x74a1)"."""
    match = re.match(r"\d{1,12}(?!\d)", text or "")
    return int(match.group()) if match else None


def _located(place: int | None, domain: int) -> str | None:
    """A PCI address; of a part the function's place may hold its number."""
    if not place or domain > 0xFFFF:
        return None
    return f"{domain:04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 7}"
