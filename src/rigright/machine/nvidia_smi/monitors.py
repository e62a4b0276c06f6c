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
    known = {device.index for device in devices}
    kept = tuple(
        Device(index=index, vendor="nvidia", programs=given)
        for index, given in programs.items()
        if index not in known
    )
    devices = tuple(
        replace(device, programs=programs.get(device.index, device.programs)) for device in devices
    )
    versions = {name.lower(): value for name, value in _VERSION.findall(text) if _SMI_VERSION.search(text)}
    driver = versions.get("kmd", versions.get("driver"))
    software = software_of(driver=driver, cuda=versions.get("cuda umd", versions.get("cuda")))
    return Read(fields={"devices": (*devices, *kept), "software": software})


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
            fields = {
                _COLUMNS[name]: cell for name, cell in zip(names, cells, strict=True) if name in _COLUMNS
            }
            newest[index] = {**newest.get(index, {}), **fields}
    return tuple(
        device_of(CardText(form="query", values=values), index) for index, values in sorted(newest.items())
    )


def _programs(text: str) -> dict[int, tuple[Program, ...]]:
    """The programs of each card, of `pmon`."""
    programs: dict[int, dict[int, Program]] = {}
    for names, index, cells in _tables(text, lambda names: "pid" in names):
        fields = dict(zip(names, cells, strict=False))
        program = program_of(fields.get("pid"), name=cells[-1], kind=fields.get("type"), mem=fields.get("fb"))
        mine = programs.setdefault(index, {}) if len(programs) < MOST_CARDS else {}
        if program is not None and len(mine) < MOST_PROGRAMS:
            mine[program.pid] = program
    return {index: tuple(given.values()) for index, given in programs.items()}


def _of_gpustat(text: str) -> tuple[Device, ...]:
    devices: dict[int, Device] = {}
    for index, name, heat, busy, used, total in _GPUSTAT.findall(text)[:MOST_CARDS]:
        values = {
            "name": name,
            "temperature.gpu": heat,
            "utilization.gpu": busy,
            "memory.used": f"{used} MiB",
            "memory.total": f"{total} MiB",
        }
        devices[int(index)] = device_of(CardText(form="query", values=values), int(index))
    return tuple(devices.values())


def _of_apps(text: str) -> tuple[Device, ...]:
    """The programs of each card, of `--query-compute-apps` with the cards' UUIDs."""
    head = _APPS.search(text)
    if head is None:
        return ()
    names = [name.partition(" [")[0].strip() for name in head[0].split(",")]
    result: dict[str, tuple[Program, ...]] = {}
    for line in text[head.end() :].strip().splitlines()[:MOST_PROGRAMS]:
        fields = dict(zip(names, map(str.strip, line.split(",")), strict=False))
        mem = fields.get("used_gpu_memory", fields.get("used_memory"))
        program = program_of(
            fields.get("pid"), name=fields.get("process_name", fields.get("name")), kind="C", mem=mem
        )
        uuid = fields.get("gpu_uuid", "")
        if program is not None and uuid.startswith("GPU-") and (uuid in result or len(result) < MOST_CARDS):
            result[uuid] = (*result.get(uuid, ()), program)
    return tuple(
        Device(index=place, vendor="nvidia", uuid=uuid, programs=programs)
        for place, (uuid, programs) in enumerate(result.items())
    )


def _cut(text: str) -> tuple[Device, ...]:
    """The parts of each card, of `mig -lgi`."""
    slices: dict[int, tuple[Slice, ...]] = {}
    for index, profile, instance in _INSTANCE.findall(text)[:MOST_CARDS] if _INSTANCES.search(text) else ():
        part = Slice(gpu_instance=int(instance), profile=profile)
        slices[int(index)] = (*slices.get(int(index), ()), part)
    return tuple(
        Device(index=index, vendor="nvidia", mig=True, slices=parts) for index, parts in slices.items()
    )
