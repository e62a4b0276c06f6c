"""JSON of amd-smi (every version: bare lists, `gpu_data`, values with and without units) and of rocm-smi.

Tools list each part of a card that is cut (MI300 and later in DPX, TPX, QPX, CPX) as a card.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from rigright.base.bounded import bounded_json_at
from rigright.base.units import GIB
from rigright.machine.amd.kernel import WHOLE, shares_memory
from rigright.machine.device import Device, Program, Slice, device_from
from rigright.machine.host import Path
from rigright.machine.record import Read, telling
from rigright.machine.system import Software
from rigright.machine.values import read_fields, read_value

_WHOLE_MOST = {
    "gfx942": (256 * GIB, 304),
    "gfx950": (288 * GIB, 256),
}  # of the largest whole card


def whole_cards(devices: Iterable[Device]) -> tuple[tuple[Device, ...], Mapping[int, int]]:
    """The cards, and for each number of the tool the place of the card it belongs to."""
    result = tuple(devices)
    groups: dict[str, list[Device]] = {}
    mark = ""
    for device in result:
        mark = mark if mark and _follows(device) else _card_of(device, result)
        groups.setdefault(mark, []).append(device)
    places = {item.index: place for place, group in enumerate(groups.values()) for item in group}
    whole = (_whole(group) for group in groups.values())
    return tuple(replace(item, index=place) for place, item in enumerate(whole)), places


def _follows(device: Device) -> bool:
    """Whether it is a further part of the card before it, in a list without addresses."""
    return device.pci is None and any(item.gpu_instance > 0 for item in device.slices)


def _card_of(device: Device, devices: tuple[Device, ...]) -> str:
    """A mark of the card: its address; of a part, where function 0 is listed too, the one of that."""
    if device.pci is None:
        return f"#{device.index}"
    first = f"{device.pci[:-1]}0"
    return first if any(item.pci == first for item in devices) else device.pci


def _whole(group: list[Device]) -> Device:
    """One card of its parts; the first of them tells of the card as a whole."""
    first = group[0]
    if len(group) == 1:
        return first
    slices = list(chain.from_iterable(device.slices for device in group))
    profile = next((item.profile for item in slices if item.profile), None)
    most_bytes, most_units = _WHOLE_MOST.get(first.isa or "", (None, None))
    total = _sum(first.mem_total_bytes, len(group), most=most_bytes, isa=first.isa)
    units = _sum(first.sms, len(group), most=most_units, isa=first.isa)
    used = first.mem_used_bytes
    # those of all parts; None where nobody told of any
    known = [device.programs for device in group if device.programs is not None]
    return replace(
        first,
        mem_total_bytes=total,
        mem_used_bytes=used if total == first.mem_total_bytes else None,
        mem_free_bytes=first.mem_free_bytes if total == first.mem_total_bytes else None,
        sms=None if units is None else int(units),
        programs=tuple(dict.fromkeys(chain.from_iterable(known))) if known else None,
        slices=tuple(
            Slice(
                gpu_instance=place,
                uuid=device.uuid,
                profile=profile,
                mem_total_bytes=None if total is None else total / len(group),
            )
            for place, device in enumerate(group)
        ),
    )


def _sum(value: float | None, count: int, *, most: float | None, isa: str | None) -> float | None:
    """Of the whole card: some versions tell of each part what it has, others what the card has."""
    if value is None or isa is None or (most is not None and value * count > most):
        return value
    return value * count


TABLE = "amd_smi.csv"
_MOST_DEVICES = 256
_MOST_DEPTH = 8
_MOST_DOCUMENTS = 16
_TELLING = {
    *("asic", "mem_usage", "usage", "bus", "process_list", "links", "power", "vram", "bdf", "retired"),
    *("partition", "pcie", "throttle", "link_type", "clock", "temperature", "ecc", "driver", "xgmi_err"),
}
_CARD = re.compile(r"card(\d{1,3})\Z")
_SHARED = ("mi300a",)  # CPU and GPU in one package, one memory
_PAGES = ("retired", "pending", "un_res")  # of `amd-smi bad-pages`
_NO_FIGURE = frozenset({"65535", "4294967295", "18446744073709551615"})  # all bits set: older ones for "N/A"
_NEVER_ZERO = ("total", "max_hz", "limit_w", "limit_max_w", "slowdown_c", "shutdown_c", "most_c")


def documents(text: str) -> list[Any]:
    """Every JSON document of a text; amd-smi may print several, and a legend after them."""
    values: list[Any] = []
    at = 0
    while len(values) < _MOST_DOCUMENTS:
        start = min((place for mark in "[{" if (place := text.find(mark, at)) >= 0), default=-1)
        if start < 0:
            break
        try:
            document, at = bounded_json_at(text, start)
        except ValueError:
            break
        values.append(document)
    return values


def smi_documents(text: str) -> list[Any]:
    """All of them, where any is an answer of amd-smi."""
    values = documents(text)
    return values if any(map(cards_of, values)) else []


def rocm_document(text: str) -> Mapping[str, Any]:
    """The first that rocm-smi wrote; empty where none is."""
    return next((document for document in documents(text) if _is_rocm(document)), {})


def cards_of(document: Any) -> list[Mapping[str, Any]]:
    """The cards of one answer of amd-smi; none where it is something else."""
    lists = ("gpu_data", "xgmi_metric")
    fields = document if isinstance(document, dict) else {}
    listed = next((fields[name] for name in lists if name in fields), None) if fields else document
    if not isinstance(listed, list):
        return []
    return [
        value
        for value in listed[:_MOST_DEVICES]
        if isinstance(value, dict) and "gpu" in value and value.keys() & _TELLING
    ]


def _is_rocm(document: Any) -> bool:
    return isinstance(document, dict) and any(_CARD.match(str(key)) for key in document)


def read_documents(documents: list[Any]) -> Read:
    """The devices of all that one text holds."""
    return read_answers(*documents)


def read_answers(*answers: Any) -> Read:
    """The devices of answers to several questions, each of the same cards."""
    given: dict[int, dict[str, str]] = {}
    programs: dict[int, tuple[Program, ...]] = {}
    links: list[tuple[int, int, str]] = []
    for card in (card for answer in answers for card in cards_of(answer)):
        index = card["gpu"]
        if not isinstance(index, int) or isinstance(index, bool):
            continue
        given.setdefault(index, {}).update(_flat(card))
        if isinstance(card.get("process_list"), list):
            programs[index] = tuple(_programs(card["process_list"]))
        links += _links(index, card.get("links", card.get("link_type")))
    result = {index: read_fields(TABLE, "amd_smi", values=values) for index, values in sorted(given.items())}
    devices, places = whole_cards(
        _device(fields, index, programs=programs.get(index)) for index, fields in result.items()
    )
    driver = next((fields["driver"] for fields in result.values() if "driver" in fields), None)
    paths = telling(paths=_paths(links, places))
    return Read(fields={"devices": devices, "software": Software(driver=driver), **paths})


def read_rocm(document: Mapping[str, Any]) -> Read:
    """The devices of an answer of rocm-smi."""
    devices = []
    for key, card in list(document.items())[:_MOST_DEVICES]:
        match = _CARD.match(key)
        if match and isinstance(card, dict):
            fields = read_fields(
                TABLE, "rocm_smi", values={str(name): str(value) for name, value in card.items()}
            )
            devices.append(_device(fields, int(match.group(1)), programs=None))
    system = document.get("system")
    version = system.get("Driver version") if isinstance(system, dict) else None
    driver: Any = read_value("version", version if isinstance(version, str) else None)
    software = Software(driver=driver)
    return Read(fields={"devices": whole_cards(devices)[0], "software": software})


def _device(fields: dict[str, Any], index: int, *, programs: tuple[Program, ...] | None) -> Device:
    """The device; rocm-smi counts bytes, amd-smi binary megabytes. A limit of nothing is not known."""
    given = {key: value for key, value in fields.items() if value or not key.endswith(_NEVER_ZERO)}
    for name in ("total", "used"):
        if f"vram.{name}" in given:
            given.setdefault(f"mem_{name}_bytes", given[f"vram.{name}"])
    isa, name = given.get("isa"), str(given.get("name", "")).lower()
    inside = shares_memory(isa)
    if inside and (given.get("gtt.total") or 0) > (given.get("mem_total_bytes") or 0):
        given |= {"mem_total_bytes": given["gtt.total"], "mem_used_bytes": given.get("gtt.used")}
        given.pop("mem_free_bytes", None)
    total, used = given.get("mem_total_bytes"), given.get("mem_used_bytes")
    if total is not None and used is not None:
        given.setdefault("mem_free_bytes", total - used)
    shared = True if inside or any(word in name for word in _SHARED) else None
    # the part that it is, where its card is cut into some
    mode, part = given.get("cut.compute"), given.get("cut.part")
    if mode == WHOLE or not (mode or part):
        slices: tuple[Slice, ...] = ()
    else:
        profile = "/".join(item for item in (mode, given.get("cut.memory")) if item)
        slices = (
            Slice(
                gpu_instance=part or 0, profile=profile or None, mem_total_bytes=given.get("mem_total_bytes")
            ),
        )
    return device_from(
        given, vendor="amd", index=index, programs=programs, unified_memory=shared, slices=slices
    )


def _flat(card: Mapping[str, Any]) -> dict[str, str]:
    """Every leaf under its path; a value with its unit is one leaf. Of bad pages their number."""
    # how many bad pages of each kind: a list, one page alone, or a sentence that there are none
    lists = {name: card.get(name) for name in _PAGES}
    counts = {
        name: len(value) if isinstance(value, list) else int(isinstance(value, dict))
        for name, value in lists.items()
        if isinstance(value, list | dict) or (isinstance(value, str) and value.startswith("No bad pages"))
    }
    total = {"pages": str(sum(counts.values()))} if len(counts) == len(_PAGES) else {}
    return {
        **dict(_leaves(card, (), depth=0)),
        **total,
        **{f"{name}/count": str(count) for name, count in counts.items()},
    }


def _leaves(thing: Any, path: tuple[str, ...], *, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(thing, dict) and "value" in thing:
        if str(thing["value"]) not in _NO_FIGURE:
            yield "/".join(path), f"{thing['value']} {thing.get('unit', '')}".strip()
    elif isinstance(thing, dict) and depth < _MOST_DEPTH:
        for name, inner in thing.items():
            yield from _leaves(inner, (*path, str(name)), depth=depth + 1)
    elif isinstance(thing, str | int | float) and str(thing) not in _NO_FIGURE:
        yield "/".join(path), str(thing)


def _programs(listed: list[Any]) -> Iterator[Program]:
    for value in listed[:_MOST_DEVICES]:
        given = value.get("process_info") if isinstance(value, dict) else None
        pid = given.get("pid") if isinstance(given, dict) else None
        if not isinstance(given, dict) or not isinstance(pid, int):
            continue
        flat = _flat(given)
        mem: Any = read_value("raw_bytes", flat.get("memory_usage/vram_mem") or flat.get("mem_usage"))
        name = given.get("name")
        yield Program(pid=pid, name=name if isinstance(name, str) else None, mem_bytes=mem)


def _links(index: int, links: Any) -> Iterator[tuple[int, int, str]]:
    """How a card reaches each other, of `amd-smi topology`: a list, or kinds by the names of cards."""
    if isinstance(links, dict):
        pairs = ((name.removeprefix("gpu_"), kind) for name, kind in list(links.items())[:_MOST_DEVICES])
        links = [
            {"gpu": int(other), "link_type": kind} for other, kind in pairs if re.fullmatch(r"\d{1,4}", other)
        ]
    for link in links[:_MOST_DEVICES] if isinstance(links, list) else ():
        other = link.get("gpu") if isinstance(link, dict) else None
        kind = link.get("link_type") if isinstance(link, dict) else None
        if isinstance(other, int) and isinstance(kind, str):
            yield index, other, kind.upper()[:8]


def _paths(links: list[tuple[int, int, str]], places: Mapping[int, int]) -> tuple[Path, ...]:
    """Between cards, each pair once; parts of one card need no way."""
    paths: dict[tuple[int, int], Path] = {}
    for index, other, kind in links:
        a, b = places.get(index), places.get(other)
        if a is not None and b is not None and a < b:
            paths.setdefault((a, b), Path(a=a, b=b, kind=kind))
    return tuple(paths.values())
