"""What stands around the cards, a line each: CPU, memory, disks, network, system, software."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rigright.base.page import Shown
from rigright.base.units import GIGA, show_bytes, show_seconds
from rigright.base.words import say, with_commas, worded
from rigright.machine.host import Cpu, Disk, Memory, Port
from rigright.machine.nvml.codes import as_sentence
from rigright.machine.parts.node_power import beside_cards, of_sensors
from rigright.machine.record import Machine
from rigright.machine.system import Event, Software

_MOST_LINES = 4  # of disks and of ports
_FEW_NAMES = 2  # of ports that are all told
_CALLED = {"cuda": "CUDA", "rocm": "ROCm"}
_BITS = 8

Row = tuple[Shown, Shown]


def host_rows(machine: Machine, *, everything: bool = False) -> Iterator[Row]:
    """Name and what there is, of all that was observed."""
    most = 1000 if everything else _MOST_LINES
    yield from _row(say("CPU"), _cpu(machine.cpu))
    yield from _row(say("memory"), _memory(machine.memory))
    yield from _row("", _modules(machine.memory))
    yield from _row("", _swap(machine.memory))
    yield from _rows(say("disks"), [_disk(disk) for disk in machine.disks or ()], most=most)
    # ports one can plug a cable into, and those that are up
    yield from _rows(
        say("network"),
        _ports([port for port in (machine.ports or ()) if port.kind != "virtual" or port.state == "up"]),
        most=most,
    )
    yield from _row(say("board"), _words(machine.system.maker, machine.system.product, machine.system.board))
    sentences: list[Shown | None] = [
        machine.system.os_name,
        None if machine.system.kernel is None else say("kernel {version}", version=machine.system.kernel),
        machine.system.virtual if machine.system.virtual not in {None, "none", "unknown"} else None,
        None
        if machine.system.container in {None, "none"}
        else say("in a container: {kind}", kind=machine.system.container),
        None if machine.system.up_s is None else say("up {time}", time=show_seconds(machine.system.up_s)),
        None if machine.system.as_root is not False else say("read without root"),
    ]
    yield from _row(say("system"), with_commas(sentences))
    power = machine.node_power or of_sensors(machine.sensors or ())
    if power is not None:
        yield (say("power draw"), beside_cards(power, (device.power.draw_w for device in machine.devices)))
    yield from _row(say("driver"), _driver(machine.software))
    yield from _row(
        say("toolkits"),
        ", ".join(
            f"{_CALLED.get(toolkit.name, toolkit.name)} {toolkit.version or '?'}"
            for toolkit in machine.software.toolkits
        ),
    )
    yield from _rows(say("frameworks"), _frameworks(machine.software), most=most)
    yield from _row(say("containers"), _containers(machine.software))
    yield from _row(say("kernel log"), _events(machine.events or ()))
    if everything:
        yield from _rows(
            say("sensors"),
            [_sensor(machine, place) for place in range(len(machine.sensors or ()))],
            most=most,
        )


def _row(name: Shown, text: Shown | None) -> Iterator[Row]:
    if text:
        yield (name, text)


def _rows(name: Shown, sentences: list[Shown], *, most: int) -> Iterator[Row]:
    """Like ones counted, the rest a line each."""
    kinds = Counter(sentences)
    lines: list[Shown] = [
        sentence if count == 1 else say("{count} x {what}", count=count, what=sentence)
        for sentence, count in kinds.items()
    ]
    for place, line in enumerate(lines[:most]):
        yield ("" if place else name, line)
    if len(lines) > most:
        yield ("", say("and {count} more: --all", count=len(lines) - most))


def _words(*texts: str | None) -> str | None:
    """What is known, each said once."""
    kept: list[str] = []
    for text in texts:
        if text and not any(text in other for other in kept):
            kept.append(text)
    return ", ".join(kept) or None


def _cpu(cpu: Cpu) -> Shown | None:
    sockets = f"{cpu.sockets}x " if (cpu.sockets or 1) > 1 else ""
    name = cpu.name or cpu.arch
    sentences: list[Shown | None] = [
        f"{sockets}{name}" if name else None,
        None if cpu.cores is None else say("{count} cores", count=cpu.cores),
        None if cpu.threads is None else say("{count} threads", count=cpu.threads),
        say("{count} of them usable", count=cpu.usable)
        if (cpu.usable or 0) < (cpu.threads or 0) and cpu.usable
        else None,
        say("{count} memory domains", count=len(cpu.nodes)) if len(cpu.nodes) > 1 else None,
    ]
    return with_commas(sentences)


def _memory(memory: Memory) -> Shown | None:
    if memory.total_bytes is None:
        return None
    sentences: list[Shown | None] = [show_bytes(memory.total_bytes)]
    if memory.available_bytes is not None:
        sentences.append(say("{size} available", size=show_bytes(memory.available_bytes)))
    if memory.limit_bytes is not None and memory.limit_bytes < memory.total_bytes:
        sentences.append(say("container limit {size}", size=show_bytes(memory.limit_bytes)))
    return with_commas(sentences)


def _modules(memory: Memory) -> Shown | None:
    """Modules, like ones counted, and the places that are left."""
    modules = [module for module in memory.modules or () if module.size_bytes]
    if not modules:
        return None
    kinds = Counter((module.size_bytes, module.kind, module.set_mt_s) for module in modules)
    sentences: list[Shown | None] = []
    for (size, kind, speed), count in kinds.items():
        name = f"{count} x {show_bytes(size or 0)} {kind or ''}".strip()
        sentences.append(
            name if speed is None else say("{what} at {speed} MT/s", what=name, speed=f"{speed:.0f}")
        )
    empty = len(memory.modules or ()) - len(modules)
    sentences.append(say("{count} slots empty", count=empty) if empty else None)
    return with_commas(sentences)


def _swap(memory: Memory) -> Shown | None:
    if memory.swap_total_bytes is None:
        return None
    if not memory.swap_total_bytes:
        return say("no swap")
    used = show_bytes(memory.swap_used_bytes or 0)
    return say("swap {size}, {used} used", size=show_bytes(memory.swap_total_bytes), used=used)


def _disk(disk: Disk) -> Shown:
    link = f"PCIe {disk.gen} x{disk.lanes}" if disk.gen and disk.lanes else None
    size = None if disk.size_bytes is None else show_bytes(disk.size_bytes)
    return with_commas((disk.model, worded("disk")(disk.kind or ""), size, link)) or disk.name


def _ports(ports: list[Port]) -> list[Shown]:
    """Ports that differ in nothing but their names, in one line."""
    kinds: dict[Shown, list[str]] = {}
    for port in ports:
        rate = None if not port.bytes_per_s else f"{port.bytes_per_s * _BITS / GIGA:g} Gbit/s"
        lanes = f"x{port.lanes}" if port.lanes else None
        words = (worded("port")(port.kind), lanes, port.driver, rate, worded("port")(port.state or ""))
        kinds.setdefault(with_commas(words) or "?", []).append(port.name)
    return [say("{what}: {why}", what=_named(names), why=kind) for kind, names in kinds.items()]


def _named(names: list[str]) -> str:
    if len(names) <= _FEW_NAMES:
        return ", ".join(names)
    return f"{names[0]} ... {names[-1]} ({len(names)})"


def _driver(software: Software) -> Shown | None:
    sentences: list[Shown | None] = [
        software.driver or software.kernel_driver,
        None
        if software.driver_cuda is None
        else say("supports CUDA <= {version}", version=software.driver_cuda),
        as_sentence(software.driver_error or "") or None,
        None if software.nccl is None else f"NCCL {software.nccl}",
        None if software.fabric_manager is None else f"fabric manager {software.fabric_manager}",
    ]
    return with_commas(sentences)


def _frameworks(software: Software) -> list[Shown]:
    sentences: list[Shown] = []
    for python in software.pythons:
        names = ", ".join(f"{framework.name} {framework.version or '?'}" for framework in python.frameworks)
        if names:
            sentences.append(say("Python {version}: {names}", version=python.version or "?", names=names))
    return sentences


def _containers(software: Software) -> Shown | None:
    sentences: list[Shown | None] = [
        None if software.docker is None else f"Docker {software.docker}",
        None
        if software.container_toolkit is None
        else f"NVIDIA Container Toolkit {software.container_toolkit}",
    ]
    return with_commas(sentences)


def _events(events: tuple[Event, ...]) -> str | None:
    """Faults of each kind, and the codes that drivers gave."""
    kinds = Counter(event.kind for event in events)
    codes: dict[str, list[str]] = {}
    for event in events:
        if event.code is not None:
            codes.setdefault(event.kind, []).append(str(event.code))
    return ", ".join(_kind(kind, count, codes=codes.get(kind, [])) for kind, count in kinds.items()) or None


def _kind(kind: str, count: int, *, codes: list[str]) -> str:
    text = ", ".join(dict.fromkeys(codes))
    return f"{count} {kind} ({text})" if text else f"{count} {kind}"


def _sensor(machine: Machine, place: int) -> Shown:
    sensor = (machine.sensors or ())[place]
    unit = {"volt": "V", "temperature": "°C", "fan": "/min", "power": "W", "current": "A"}.get(
        sensor.kind, ""
    )
    value = "" if sensor.value is None else f" {sensor.value:g} {unit}".rstrip()
    return f"{sensor.name}:{value} {sensor.status or ''}".rstrip()
