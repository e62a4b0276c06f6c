"""`nvidia-smi -q` as text: sections by their indentation, one block a card."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rigright.machine.device_text.values import seen
from rigright.machine.nvidia_smi.cards import CardText, device_of, programs_of, slices_of, software_of
from rigright.machine.record import Read

MARK = "NVSMI LOG"
_CARD = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*\Z")
_MOST_DEPTH = 16
_MOST_CARDS = 512
_PROGRAM, _SLICE = "Processes/Process ID", "MIG Device"


@dataclass(frozen=True, slots=True)
class _Block:
    """What stands under one card: values by their path, programs, MIG instances."""

    values: dict[str, str]
    programs: list[dict[str, str]] = field(default_factory=list)
    slices: list[dict[str, str]] = field(default_factory=list)


def read_log(text: str) -> Read:
    """Cards and driver of the text."""
    head: dict[str, str] = {}
    blocks: list[_Block] = []
    path: list[tuple[int, str]] = []
    # the first log in it, from the edge it was pasted at
    before, _, log = text.partition(MARK)
    edge = before.rpartition("\n")[2].rstrip("=")
    lines = log.partition(MARK)[0].splitlines()
    for line in [line.removeprefix(edge) for line in lines] if edge.isspace() else lines:
        card = _CARD.match(line)
        if card and len(blocks) < _MOST_CARDS:
            blocks.append(_Block({"PCI/Bus Id": card.group(1)}))
            path = []
            continue
        indent = len(line) - len(line.lstrip())
        name, colon, value = line.strip().partition(" : ")
        name = name.strip().removesuffix(":").strip()
        path = [(deep, item) for deep, item in path if deep < indent][:_MOST_DEPTH]
        where = "/".join([*(item for _, item in path), name])
        path.append((indent, name))
        if colon and blocks:
            _put(blocks[-1], where, value=value.strip())
        elif colon and indent == 0:
            head[name] = value.strip()
    devices = tuple(device_of(_card_text(block), index) for index, block in enumerate(blocks))
    software = software_of(
        driver=head.get("KMD Version", head.get("Driver Version")),
        cuda=head.get("CUDA UMD Version", head.get("CUDA Version")),
    )
    return Read(fields={"devices": devices, "software": software})


def _put(block: _Block, where: str, *, value: str) -> None:
    if where.startswith(_SLICE):
        key = where.rpartition(f"{_SLICE}/")[2]
        if key == "Index" or not block.slices:
            block.slices.append({})
        block.slices[-1][key] = value
    elif where == _PROGRAM:
        block.programs.append({"Process ID": value})
    elif where.startswith(f"{_PROGRAM}/") and block.programs:
        block.programs[-1][where.rpartition("/")[2]] = value
    else:
        block.values.setdefault(where, value)


def _card_text(block: _Block) -> CardText:
    known = bool(block.programs) or seen(block.values.get("Processes")) is not None
    return CardText(
        form="text",
        values=block.values,
        slices=slices_of(block.slices, "text"),
        programs=programs_of(block.programs, "text") if known else None,
    )
