"""The narrow tables of nvidia-smi: `dmon`, `pmon`, `--version`; and that of gpustat."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from rigright.machine.device import Device, Program, Slice
from rigright.machine.nvidia_smi.cards import CardText, device_of, program_of, software_of
from rigright.machine.record import Read

MOST_CARDS = 512
MOST_PROGRAMS = 10_000
_COLUMNS = {  # of dmon -> the words of a query
    "pwr": "power.draw",
    "gtemp": "temperature.gpu",
    "mtemp": "temperature.memory",
    "sm": "utilization.gpu",
    "mem": "utilization.memory",
    "mclk": "clocks.mem",
    "pclk": "clocks.sm",
    "fb": "memory.used",
}
_HEAD = re.compile(r"^# ?gpu +(?=.*\b(?:pwr|sm|mclk|fb|rxpci|pid)\b)(.*)$", re.MULTILINE)
_ROW = re.compile(r"^ +(\d{1,3}) +(\S.*)$", re.MULTILINE)
_APPS = re.compile(r"^(?=[\w, \[\]]*\bgpu_uuid\b)(?=[\w, \[\]]*\bpid\b)[\w, \[\]]{8,200}$", re.MULTILINE)
_INSTANCES = re.compile(r"^\| GPU instances:", re.MULTILINE)
_INSTANCE = re.compile(
    r"^\|\s+(\d{1,3})\s+MIG (\S{1,20})\s+\d{1,3}\s+(\d{1,3})\s+\d{1,2}:\d{1,2}\s+\|", re.MULTILINE
)
_VERSION = re.compile(r"^(DRIVER|KMD|CUDA(?: UMD)?) version +: (\S+)", re.MULTILINE | re.IGNORECASE)
_SMI_VERSION = re.compile(r"^NVIDIA-SMI version +: ", re.MULTILINE)
_GPUSTAT = re.compile(
    r"^\[(\d{1,3})\] (\S.{0,60}?) *\| *(\d{1,3}).{0,2}C, *(?:\d{1,3} %, *)?(\d{1,3}) %.{0,60}?"
    r"\| *(\d{1,7}) / (\d{1,7}) MB",
    re.MULTILINE,
)


def is_monitor(text: str) -> bool:
    """Whether it holds one of them."""
    return any(form.search(text) for form in (_HEAD, _APPS, _INSTANCES, _SMI_VERSION, _GPUSTAT))


def read_monitor(text: str) -> Read:
    """What the newest row of each card tells, and the programs on it."""
    devices = (*_cards(text), *_of_gpustat(text), *_of_apps(text), *_cut(text))
    programs = dict(_programs(text))
    known = {one.index for one in devices}
    held = tuple(
        Device(index=index, vendor="nvidia", programs=told)
        for index, told in programs.items()
        if index not in known
    )
    devices = tuple(replace(one, programs=programs.get(one.index, one.programs)) for one in devices)
    versions = {name.lower(): told for name, told in _VERSION.findall(text) if _SMI_VERSION.search(text)}
    driver = versions.get("kmd", versions.get("driver"))
    software = software_of(driver=driver, cuda=versions.get("cuda umd", versions.get("cuda")))
    return Read(fields={"devices": (*devices, *held), "software": software})


def _tables(text: str, wanted: Callable[[list[str]], bool]) -> Iterator[tuple[list[str], int, list[str]]]:
    """Rows below a head: its columns, the card, the cells."""
    heads = [match for match in _HEAD.finditer(text) if wanted(match[1].split())]
    for place, head in enumerate(heads):
        end = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        for index, rest in _ROW.findall(text[head.end() : end]):
            yield head[1].split(), int(index), rest.split()


def _cards(text: str) -> tuple[Device, ...]:
    newest: dict[int, dict[str, str]] = {}
    for names, index, cells in _tables(text, lambda names: "pid" not in names):
        if len(cells) == len(names) and (index in newest or len(newest) < MOST_CARDS):
            told = {_COLUMNS[name]: cell for name, cell in zip(names, cells, strict=True) if name in _COLUMNS}
            newest[index] = {**newest.get(index, {}), **told}
    return tuple(
        device_of(CardText(form="query", values=values), index) for index, values in sorted(newest.items())
    )


def _programs(text: str) -> dict[int, tuple[Program, ...]]:
    """The programs of each card, of `pmon`."""
    found: dict[int, dict[int, Program]] = {}
    for names, index, cells in _tables(text, lambda names: "pid" in names):
        told = dict(zip(names, cells, strict=False))
        one = program_of(told.get("pid"), name=cells[-1], kind=told.get("type"), mem=told.get("fb"))
        mine = found.setdefault(index, {}) if len(found) < MOST_CARDS else {}
        if one is not None and len(mine) < MOST_PROGRAMS:
            mine[one.pid] = one
    return {index: tuple(told.values()) for index, told in found.items()}


def _of_gpustat(text: str) -> tuple[Device, ...]:
    found: dict[int, Device] = {}
    for index, name, heat, busy, used, total in _GPUSTAT.findall(text)[:MOST_CARDS]:
        values = {
            "name": name,
            "temperature.gpu": heat,
            "utilization.gpu": busy,
            "memory.used": f"{used} MiB",
            "memory.total": f"{total} MiB",
        }
        found[int(index)] = device_of(CardText(form="query", values=values), int(index))
    return tuple(found.values())


def _of_apps(text: str) -> tuple[Device, ...]:
    """The programs of each card, of `--query-compute-apps` with the cards' UUIDs."""
    head = _APPS.search(text)
    if head is None:
        return ()
    names = [name.partition(" [")[0].strip() for name in head[0].split(",")]
    found: dict[str, tuple[Program, ...]] = {}
    for line in text[head.end() :].strip().splitlines()[:MOST_PROGRAMS]:
        told = dict(zip(names, map(str.strip, line.split(",")), strict=False))
        mem = told.get("used_gpu_memory", told.get("used_memory"))
        one = program_of(told.get("pid"), name=told.get("process_name", told.get("name")), kind="C", mem=mem)
        uuid = told.get("gpu_uuid", "")
        if one is not None and uuid.startswith("GPU-") and (uuid in found or len(found) < MOST_CARDS):
            found[uuid] = (*found.get(uuid, ()), one)
    return tuple(
        Device(index=place, vendor="nvidia", uuid=uuid, programs=programs)
        for place, (uuid, programs) in enumerate(found.items())
    )


def _cut(text: str) -> tuple[Device, ...]:
    """The parts of each card, of `mig -lgi`."""
    found: dict[int, tuple[Slice, ...]] = {}
    for index, profile, instance in _INSTANCE.findall(text)[:MOST_CARDS] if _INSTANCES.search(text) else ():
        part = Slice(gpu_instance=int(instance), profile=profile)
        found[int(index)] = (*found.get(int(index), ()), part)
    return tuple(
        Device(index=index, vendor="nvidia", mig=True, slices=parts) for index, parts in found.items()
    )
