"""The page of `probe`: the cards, how they reach each other, what stands around them, what was not seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rigright.base import telling
from rigright.base.page import (
    Commands,
    Line,
    Page,
    Part,
    Points,
    Shown,
    Table,
    Tone,
    facts,
    grouped,
    known,
    number,
    prose,
    records,
    table,
)
from rigright.base.units import show_bytes, to_gib
from rigright.base.words import Sentence, say, with_commas, worded
from rigright.doctor.wires import bus_cards
from rigright.facts.faults import slowdowns
from rigright.machine.device import Device
from rigright.machine.host import Path
from rigright.machine.record import Machine, free_bytes, total_bytes
from rigright.report import readings
from rigright.report.named import machine_name, of_origin, understood
from rigright.report.pages.probe_host import host_rows
from rigright.report.typed import of_host, typed

if TYPE_CHECKING:
    from rigright.machine.bundle import Bundled

_MOST_UNSEEN = 8
_MOST_IN_MATRIX = 16


def page(
    machine: Machine, *, everything: bool = False, saved: str | None = None, bundled: Bundled | None = None
) -> Page:
    """The page for people."""
    return Page.of(
        machine_name(machine),
        _verdict(machine),
        _cards(machine),
        _downshifted(machine),
        _slices(machine),
        _reach(machine) if machine.paths and len(machine.devices) <= _MOST_IN_MATRIX else None,
        facts(host_rows(machine, everything=everything)),
        _unseen(machine, everything=everything),
        Points.of(understood(machine)),
        Line.good(say("saved to {file}", file=saved)),
        None if bundled is None else _bundled(bundled),
        Commands.next(_next(machine)),
    )


def _cards(machine: Machine) -> Table:
    """A row a card; a name that all share stands above them."""
    names = {device.name for device in machine.devices} - {None}
    alike = len(machine.devices) > 1 and len(names) == 1
    return records(
        machine.devices,
        (
            (number("#"), lambda device: str(device.index)),
            (prose(say("card")), None if alike else _name),
            (number(say("free GiB")), lambda device: _gib(free_bytes(device, machine))),
            (number(say("all GiB")), lambda device: _gib(total_bytes(device, machine))),
            ("PCIe", _link),
            (number("W"), _power),
            (number("°C"), lambda device: known(device.thermal.gpu_c, "{:.0f}".format)),
            (number(say("busy")), lambda device: known(device.busy_share, "{:.0%}".format)),
            (prose(say("state")), lambda device: _state_of(device)[0]),
        ),
        title=f"{len(machine.devices)}x {names.pop()}" if alike else None,
        tone=lambda device: _state_of(device)[1],
    )


def _verdict(machine: Machine) -> Line:
    """What a program would find, in one line."""
    gone = [device for device in machine.devices if device.state != "ok"]
    if gone:
        text = ", ".join(f"gpu {device.index}" for device in gone)
        count, every = len(gone), len(machine.devices)
        return Line.bad(
            say("{count} of {all} GPUs do not respond: {which}", count=count, all=every, which=text)
        )
    if not machine.devices:
        return _none(machine)
    sizes = {
        "free": [free_bytes(device, machine) for device in machine.devices],
        "all": [total_bytes(device, machine) for device in machine.devices],
    }
    if any(None in each for each in sizes.values()):
        return Line.warn(say("memory of some GPUs not reported"))
    fields = {name: show_bytes(sum(size or 0.0 for size in each)) for name, each in sizes.items()}
    if any(device.unified_memory for device in machine.devices):
        return Line.good(say("{free} of {all} free, shared by CPU and GPU", **fields))
    return Line.good(say("GPU memory: {free} of {all} free", **fields))


def _none(machine: Machine) -> Line:
    """No driver shows a card: whether the bus holds some, whether anything was asked of drivers at all."""
    text = bus_cards(machine)
    if text and machine.system.kernel is not None:
        return Line.warn(say("no driver for GPUs on the bus: {cards}", cards=text))
    if text:
        return Line(text=say("on the bus: {cards}; driver not queried", cards=text))
    if machine.events is not None and machine.system.kernel is None:
        return Line(text=say("{count} faults in the kernel log", count=len(machine.events)))
    live = say("everything runs on the CPU; see `rigright doctor`")
    return Line.warn(say("no GPU found") if machine.is_capture else live)


def _name(device: Device) -> str:
    return (device.name or device.pci_id or device.vendor).removeprefix("NVIDIA ")


def _power(device: Device) -> str | None:
    draw, limit = (known(watts, "{:.0f}".format) for watts in (device.power.draw_w, device.power.limit_w))
    return draw if limit is None else f"{draw or '?'}/{limit}"


def _gib(size_bytes: float | None) -> str:
    return "?" if size_bytes is None else f"{to_gib(size_bytes):.1f}"


def _link(device: Device) -> str:
    """Now, and behind a slash the most where that is more: "1/4 x16"."""
    pcie = device.pcie
    if not pcie.gen or not pcie.lanes:
        return ""
    gen, lanes = (
        f"{now}" if most is None or most <= now else f"{now}/{most}"
        for now, most in ((pcie.gen, pcie.gen_max), (pcie.lanes, pcie.lanes_max))
    )
    return f"{gen} x{lanes}"


def _downshifted(machine: Machine) -> Iterator[Part]:
    """How to read a link that runs below what it can."""
    if any("/" in _link(device) for device in machine.devices):
        yield Line.dim(
            say("PCIe: generation and lanes, current/max.; idle GPUs lower the generation, not the lanes")
        )


def _slices(machine: Machine) -> Points:
    """MIG instances, or the parts of AMD's cards: a line a card."""
    items = []
    for device in machine.devices:
        kinds = Counter(item.profile or _gib(item.mem_total_bytes) + " GiB" for item in device.slices)
        text = ", ".join(f"{count}x {kind}" for kind, count in kinds.items())
        items.append(say("card {index}: {slices}", index=device.index, slices=text or None))
    amd = all(device.vendor == "amd" for device in machine.devices if device.slices)
    return Points.of(items, title=say("GPU partitions") if amd else say("MIG instances"))


def _reach(machine: Machine) -> Iterator[Part]:
    """How the cards reach each other: in a line where all pairs are alike."""
    kinds = sorted({path.kind for path in machine.paths or ()})
    if len(kinds) == 1:
        yield Line(text=say("all pairs: {kind}", kind=_meant(kinds[0])))
        return
    yield _matrix(machine)
    yield Line.dim(with_commas(_meant(kind) for kind in kinds) or "")


def _meant(kind: str) -> Shown:
    """What the driver's short word for a way means."""
    if kind.startswith("NV") and kind[2:].isdecimal():
        return say("{kind} ({count} NVLinks)", kind=kind, count=kind[2:])
    sentence = {
        "PIX": say("one PCIe switch"),
        "PXB": say("several PCIe switches"),
        "PHB": say("through the CPU"),
        "NODE": say("through the CPU, across PCIe roots"),
        "SYS": say("across CPU sockets"),
    }.get(kind)
    return kind if sentence is None else say("{kind} ({what})", kind=kind, what=sentence)


def _matrix(machine: Machine) -> Table:
    """How each pair of cards reaches each other."""
    indices = sorted({place for path in machine.paths or () for place in (path.a, path.b)})
    kinds = {(path.a, path.b): path for path in machine.paths or ()}
    rows = tuple((str(row), *(_cell(kinds, row, column=column) for column in indices)) for row in indices)
    heads = ("", *(str(index) for index in indices))
    return table(heads, rows, title=say("GPU topology"))


def _cell(kinds: dict[tuple[int, int], Path], row: int, *, column: int) -> str:
    path = kinds.get((row, column)) or kinds.get((column, row))
    if row == column:
        return "·"
    return "?" if path is None else path.kind


def _unseen(machine: Machine, *, everything: bool) -> Points:
    """What could not be read, and what would show it."""
    kinds = grouped(((gap.why, gap.see), gap.what) for gap in machine.unseen)
    items: list[Shown] = [_blind(why, see, what=what, machine=machine) for (why, see), what in kinds.items()]
    if not everything and len(items) > _MOST_UNSEEN:
        left = say("and {count} more: --all", count=len(items) - _MOST_UNSEEN)
        items = [*items[:_MOST_UNSEEN], left]
    return Points.of(items, title=say("not observed"), tone="dim")


def _blind(why: Sentence, see: str | None, *, what: list[str], machine: Machine) -> Sentence:
    names = ", ".join(dict.fromkeys(what))
    if see is None:
        return say("{what}: {why}", what=names, why=why)
    if of_host(see, machine):
        return say("{what}: {why}; see `{see}` on the host", what=names, why=why, see=see)
    see = typed(see, by_root=machine.typed_by_root)
    return say("{what}: {why}; see `{see}`", what=names, why=why, see=see)


def _bundled(bundled: Bundled) -> Iterator[Part]:
    """What was written, and what was kept out of it."""
    fields = {"files": bundled.files, "commands": bundled.commands, "file": bundled.file}
    yield Line.good(say("{file}: {files} files and {commands} command outputs", **fields))
    text = ", ".join(f"{kind} {count}" for kind, count in bundled.kept_out)
    yield Line.dim(say("pseudonymised consistently: {kinds}", kinds=text or None))
    yield Line.dim(say("review it before sharing: `tar -tzf {file}`", file=bundled.file))


def _next(machine: Machine) -> tuple[str, ...]:
    """What to type after it."""
    there, on = of_origin(machine.origin), of_origin(machine.origin, flag="--on")
    doctor = f"rigright doctor{there}"
    if not machine.devices and (there or bus_cards(machine)):
        return (doctor,)
    if not machine.devices:
        return (doctor, "rigright bench --quick", "rigright fit --on 'rtx 4090'")
    return (doctor, f"rigright fit{on}", *(() if on else ("rigright bench --quick",)))


def _state_of(device: Device) -> tuple[Shown, Tone]:
    """What a person must know of it first."""
    if device.state != "ok":
        return readings.state(device.state)
    if (worst := _broken(device)) is not None:
        return worst, "bad"
    known = slowdowns()  # what binds nothing is a setting, or how a card idles
    slowed = [word for word in device.slowed_by or () if word not in known or known[word].binds]
    if slowed:
        return say("throttled: {reasons}", reasons=with_commas(map(readings.reason, slowed))), "warn"
    if device.mig or device.slices:
        count = len(device.slices)
        sentence = say("MIG, {count} instances", count=count) if device.mig else None
        return sentence or say("partitions: {count}", count=count), "plain"
    used = len(device.programs or ())
    if used:
        return say("{count} processes", count=used), "plain"
    return say("idle") if device.busy_share == 0 else worded("state")("ok"), "plain"


def _broken(device: Device) -> Sentence | None:
    """The worst that is wrong with it."""
    retired, ecc = device.retired, device.ecc
    if device.recovery not in {None, "none"}:
        return say("needs: {what}", what=device.recovery)
    if retired is not None and retired.rows_failed:
        return say("row remapping failed")
    if retired is not None and (retired.rows_pending or retired.pages_pending):
        return say("needs: {what}", what="gpu reset")
    if retired is not None and retired.pages_stuck:
        return say("bad memory pages still in use: {count}", count=retired.pages_stuck)
    errors = None if ecc is None else ecc.uncorrected_volatile
    return say("uncorrectable memory errors: {count}", count=errors) if errors else None


plain = telling.RecordPrinter(Machine, endless="inf")
