"""What stands around the cards, a line each: CPU, memory, disks, network, system, software."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rigright.base.page import Shown, grouped, known
from rigright.base.units import GIGA, show_bytes, show_seconds
from rigright.base.words import say, with_commas, worded
from rigright.machine.host import Cpu, Disk, Memory, Port, Sensor
from rigright.machine.nvml.codes import as_sentence
from rigright.machine.parts.node_power import beside_cards, of_sensors
from rigright.machine.record import Machine
from rigright.machine.system import Event, Framework, Software, System, Toolkit

_MOST_LINES = 4  # of disks and of ports
_FEW_NAMES = 2  # of ports that are all told
_CALLED = {"cuda": "CUDA", "rocm": "ROCm"}
_UNITS = {"volt": "V", "temperature": "°C", "fan": "/min", "power": "W", "current": "A"}  # of sensors
_BITS = 8

Row = tuple[Shown, Shown | None]


def host_rows(machine: Machine, *, everything: bool = False) -> Iterator[Row]:
    """Name and what there is, of all that was observed."""
    most = None if everything else _MOST_LINES
    system, software = machine.system, machine.software
    # ports one can plug a cable into, and those that are up
    ports = [port for port in machine.ports or () if port.kind != "virtual" or port.state == "up"]
    power = machine.node_power or of_sensors(machine.sensors or ())
    draws = (device.power.draw_w for device in machine.devices)
    yield say("CPU"), _cpu(machine.cpu)
    yield say("memory"), _memory(machine.memory)
    yield "", _modules(machine.memory)
    yield "", _swap(machine.memory)
    yield from _lines(say("disks"), [_disk(disk) for disk in machine.disks or ()], most=most)
    yield from _lines(say("network"), _ports(ports), most=most)
    yield say("board"), _words(system.maker, system.product, system.board)
    yield say("system"), _system(system)
    yield say("power draw"), known(power, lambda power: beside_cards(power, draws))
    yield say("driver"), _driver(software)
    yield say("toolkits"), _versions(software.toolkits)
    yield from _lines(say("frameworks"), _frameworks(software), most=most)
    docker = (software.docker, software.container_toolkit)
    texts = map(known, docker, ("Docker {}".format, "NVIDIA Container Toolkit {}".format))
    yield say("containers"), with_commas(texts)
    yield say("kernel log"), _events(machine.events or ())
    if everything:
        yield from _lines(say("sensors"), [*map(_sensor, machine.sensors or ())], most=most)


def _lines(name: Shown, items: Sequence[Shown], *, most: int | None) -> Iterator[Row]:
    """Like ones counted, the rest a line each."""
    kinds = Counter(items)
    for place, (item, count) in enumerate(list(kinds.items())[:most]):
        yield "" if place else name, item if count == 1 else say("{count} x {what}", count=count, what=item)
    if most is not None and len(kinds) > most:
        yield "", say("and {count} more: --all", count=len(kinds) - most)


def _words(*texts: str | None) -> str:
    """What is known, each said once."""
    kept: list[str] = []
    for text in texts:
        if text and not any(text in other for other in kept):
            kept.append(text)
    return ", ".join(kept)


def _system(system: System) -> Shown | None:
    parts = (
        system.os_name,
        say("kernel {version}", version=system.kernel),
        system.virtual if system.virtual not in {None, "none", "unknown"} else None,
        say("in a container: {kind}", kind=None if system.container == "none" else system.container),
        say("up {time}", time=known(system.up_s, show_seconds)),
        say("read without root") if system.as_root is False else None,
    )
    return with_commas(parts)


def _cpu(cpu: Cpu) -> Shown | None:
    name, usable = cpu.name or cpu.arch, cpu.usable or 0
    parts = (
        known(name, lambda name: f"{cpu.sockets}x {name}" if (cpu.sockets or 1) > 1 else name),
        say("{count} cores", count=cpu.cores),
        say("{count} threads", count=cpu.threads),
        say("{count} of them usable", count=usable if 0 < usable < (cpu.threads or 0) else None),
        say("{count} memory domains", count=len(cpu.nodes) if len(cpu.nodes) > 1 else None),
    )
    return with_commas(parts)


def _memory(memory: Memory) -> Shown | None:
    total, limit = memory.total_bytes, memory.limit_bytes
    if total is None:
        return None
    limit = None if limit is None or limit >= total else limit
    available = say("{size} available", size=known(memory.available_bytes, show_bytes))
    limited = say("container limit {size}", size=known(limit, show_bytes))
    return with_commas((show_bytes(total), available, limited))


def _modules(memory: Memory) -> Shown | None:
    """Modules, like ones counted, and the places that are left."""
    modules = [module for module in memory.modules or () if module.size_bytes]
    kinds = Counter((module.size_bytes, module.kind, module.set_mt_s) for module in modules)
    parts: list[Shown] = []
    for (size, kind, speed), count in kinds.items():
        name = f"{count} x {show_bytes(size or 0)} {kind or ''}".strip()
        parts.append(
            name if speed is None else say("{what} at {speed} MT/s", what=name, speed=f"{speed:.0f}")
        )
    empty = len(memory.modules or ()) - len(modules)
    return with_commas((*parts, say("{count} slots empty", count=empty or None) if modules else None))


def _swap(memory: Memory) -> Shown:
    size, used = memory.swap_total_bytes, show_bytes(memory.swap_used_bytes or 0)
    if size == 0:
        return say("no swap")
    return say("swap {size}, {used} used", size=known(size, show_bytes), used=used)


def _disk(disk: Disk) -> Shown:
    link = f"PCIe {disk.gen} x{disk.lanes}" if disk.gen and disk.lanes else None
    size = known(disk.size_bytes, show_bytes)
    return with_commas((disk.model, worded("disk")(disk.kind or ""), size, link)) or disk.name


def _ports(ports: Iterable[Port]) -> list[Shown]:
    """Ports that differ in nothing but their names, in one line."""

    def kind(port: Port) -> Shown:
        rate = None if not port.bytes_per_s else f"{port.bytes_per_s * _BITS / GIGA:g} Gbit/s"
        lanes = f"x{port.lanes}" if port.lanes else None
        words = (worded("port")(port.kind), lanes, port.driver, rate, worded("port")(port.state or ""))
        return with_commas(words) or "?"

    def short(names: list[str]) -> str:
        return ", ".join(names) if len(names) <= _FEW_NAMES else f"{names[0]} ... {names[-1]} ({len(names)})"

    kinds = grouped((kind(port), port.name) for port in ports)
    return [say("{what}: {why}", what=short(names), why=why) for why, names in kinds.items()]


def _driver(software: Software) -> Shown | None:
    parts = (
        software.driver or software.kernel_driver,
        say("supports CUDA <= {version}", version=software.driver_cuda),
        as_sentence(software.driver_error or ""),
        known(software.nccl, "NCCL {}".format),
        known(software.fabric_manager, "fabric manager {}".format),
    )
    return with_commas(parts)


def _versions(things: Iterable[Toolkit | Framework]) -> str:
    return ", ".join(f"{_CALLED.get(thing.name, thing.name)} {thing.version or '?'}" for thing in things)


def _frameworks(software: Software) -> list[Shown]:
    pairs = [(python.version or "?", _versions(python.frameworks)) for python in software.pythons]
    return [
        say("Python {version}: {names}", version=version, names=names) for version, names in pairs if names
    ]


def _events(events: Iterable[Event]) -> str:
    """Faults of each kind, and the codes that drivers gave."""
    texts = []
    for kind, codes in grouped((event.kind, event.code) for event in events).items():
        given = ", ".join(dict.fromkeys(str(code) for code in codes if code is not None))
        texts.append(f"{len(codes)} {kind} ({given})" if given else f"{len(codes)} {kind}")
    return ", ".join(texts)


def _sensor(sensor: Sensor) -> str:
    value = known(sensor.value, lambda value: f" {value:g} {_UNITS.get(sensor.kind, '')}".rstrip())
    return f"{sensor.name}:{value or ''} {sensor.status or ''}".rstrip()
