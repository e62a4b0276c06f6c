"""`nvidia-smi -q` of every version, on Linux and Windows: text (sections by their indentation) and XML."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from rigright.base.errors import DataError
from rigright.base.units import MIB
from rigright.base.words import say
from rigright.machine.device import Device, Program
from rigright.machine.nvidia_smi.cards import CardText, device_of, programs_of, slices_of, software_of
from rigright.machine.nvidia_smi.complaints import lost
from rigright.machine.record import Read, Unseen
from rigright.machine.values import read_value, seen

MARK = "NVSMI LOG"
_CARD_HEAD = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*\Z")
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
        card = _CARD_HEAD.match(line)
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


START = "<nvidia_smi_log"
_END = "</nvidia_smi_log>"
_IS_ALL = True  # no more text follows
_MOST_CHARS = 32 * MIB
_MOST_NESTED = 32
_PROCESSES = ["gpu", "processes"]
_LISTS = {"mig_device", "process_info"}  # elements of a card that come many times


@dataclass(frozen=True, slots=True)
class _XmlCard:
    values: dict[str, str]
    lists: dict[str, list[dict[str, str]]] = field(default_factory=dict)


class _RefusedError(Exception):
    """The document plays tricks that nvidia-smi never plays."""


@dataclass(slots=True, frozen=True)
class _Log:
    """Collects what expat tells: the head's values, and each card's by their path."""

    head: dict[str, str] = field(default_factory=dict)
    cards: list[_XmlCard] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.path.append(name)
        self.text.clear()
        if len(self.path) > _MOST_NESTED or len(self.cards) > _MOST_CARDS:
            raise _RefusedError
        if self.path[1:] == ["gpu"]:
            self.cards.append(_XmlCard({"pci/pci_bus_id": attributes.get("id", "")}))
        elif name in _LISTS and self.cards:
            self.cards[-1].lists.setdefault(name, []).append({})

    def end(self, name: str) -> None:
        value = "".join(self.text).strip()
        self.text.clear()
        path = self.path[1:]
        self.path.pop()
        if path[:1] != ["gpu"]:
            if value and len(path) == 1:
                self.head[name] = value
            return
        number = next((place for place, text in enumerate(path) if text in _LISTS), None)
        if number is not None:
            self.cards[-1].lists[path[number]][-1]["/".join(path[number + 1 :])] = value
        elif (value or path == _PROCESSES) and "supported_clocks" not in path:
            self.cards[-1].values["/".join(path[1:])] = value

    def say(self, text: str) -> None:
        self.text.append(text)


def read_xml(text: str) -> Read:
    """Cards and driver of the log; what nvidia-smi could not reach is stated as lost."""
    # the document without entities, inner DTDs or great depth
    begin = text.find(START)
    if begin < 0 or len(text) > _MOST_CHARS:
        raise _broken(say("there is no <nvidia_smi_log> in it"))
    log = _Log()
    parser = expat.ParserCreate()
    parser.StartElementHandler = log.start
    parser.EndElementHandler = log.end
    parser.CharacterDataHandler = log.say
    parser.EntityDeclHandler = _refuse
    parser.buffer_text = True
    end = text.find(_END, begin)
    try:
        parser.Parse(text[begin : end + len(_END) if end > begin else None], _IS_ALL)
    except (expat.ExpatError, ValueError) as error:
        raise _broken(say("{why}", why=error)) from None
    except _RefusedError:
        raise _broken(say("more nesting or GPUs than nvidia-smi ever writes")) from None
    devices = tuple(_device(card, index) for index, card in enumerate(log.cards))
    gone = lost(text[: max(text.find(START), 0)], first=len(devices))
    software = software_of(
        driver=log.head.get("kmd_version", log.head.get("driver_version")),
        cuda=log.head.get("cuda_umd_version", log.head.get("cuda_version")),
    )
    shown = len(devices) + len(gone)
    attached = read_value("count", log.head.get("attached_gpus"))
    if not isinstance(attached, int) or attached == shown:
        missing: tuple[Unseen, ...] = ()
    else:
        why = say("nvidia-smi counts {count} GPUs but lists {shown}", count=attached, shown=shown)
        missing = (Unseen(what="devices", why=why, see="nvidia-smi -q -x"),)
    return Read(
        fields={"devices": (*devices, *gone), "software": software},
        unseen=missing,
    )


def _refuse(*_: Any) -> None:
    raise _RefusedError


def _broken(why: object) -> DataError:
    return DataError(say("incomplete output of `nvidia-smi -q -x`: {why}", why=why))


def _device(card: _XmlCard, index: int) -> Device:
    # who holds its memory; None where the list itself is missing, or could not be read
    text = card.values.get("processes")
    if text is None or (text and seen(text) is None):
        programs: tuple[Program, ...] | None = None
    else:
        programs = programs_of(card.lists.get("process_info", ()), "xml")
    given = CardText(
        form="xml",
        values=card.values,
        slices=slices_of(card.lists.get("mig_device", ()), "xml"),
        programs=programs,
    )
    return device_of(given, index)
