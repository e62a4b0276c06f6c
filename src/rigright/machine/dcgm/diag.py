"""What `dcgmi diag` wrote, as a table or as JSON: DCGM's own diagnosis of NVIDIA's cards."""

from __future__ import annotations

import re
from dataclasses import replace

from rigright.machine.dcgm import answers, table
from rigright.machine.device import Device
from rigright.machine.nvidia_smi.cards import software_of
from rigright.machine.record import Read
from rigright.machine.system import Diagnosed

_ID = re.compile(r"[0-9a-f]{4}")


def matches(text: str) -> bool:
    """Whether it is one of the two."""
    return table.is_table(text) or answers.document(text) is not None


def read(text: str) -> Read:
    """Its tests, driver and cards."""
    fields = answers.document(text)
    if fields is not None:
        return _read(answers.diagnosed(fields), answers.driver(fields), ids=answers.device_ids(fields))
    rows = table.read_table(text)
    return _read(rows.all(), table.driver(rows), ids=table.device_ids(rows))


def _read(diagnosis: tuple[Diagnosed, ...], driver: str | None, *, ids: dict[int, str]) -> Read:
    cards = sorted({*ids, *(item.card for item in diagnosis if item.card is not None)})
    devices = tuple(
        Device(
            index=card,
            vendor="nvidia",
            pci_id=f"10de:{ids[card]}" if _ID.fullmatch(ids.get(card, "")) else None,
        )
        for card in cards
    )
    software = replace(software_of(driver=driver), diagnosed=diagnosis)
    return Read(fields={"devices": devices, "software": software})
