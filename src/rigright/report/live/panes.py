"""The panes of a live view below its cards: each is a head and rows that scroll."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from rigright.base.page import Tone
from rigright.base.units import GIGA, show_seconds
from rigright.base.words import Sentence, say, with_commas
from rigright.machine.device import Device
from rigright.machine.parts.network import BITS
from rigright.machine.parts.node_power import beside_cards
from rigright.machine.tick import Activity
from rigright.report.cells import pad, width, wrap
from rigright.report.draw.ink import mark, toned
from rigright.report.live import links, programs, words
from rigright.report.live.pieces import GridColumn, Words, cut_to, grid, line_of, told
from rigright.report.live.recent import Recent
from rigright.report.live.state import HELP, View
from rigright.report.screen import Screen
from rigright.verbs.watch.watched import MachineMoment

PROFILED = "dcgmi dmon -e 1002,1003,1004,1005"  # SMs, their warps, tensor cores, DRAM
SEVERITY: Mapping[str, Tone] = {"fault": "bad", "warning": "warn", "note": "dim"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """What a pane shows: heads that stay, and lines that scroll."""

    head: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)


def pane(recent: Recent, view: View, *, moment: MachineMoment, screen: Screen) -> Pane:
    """The pane that is chosen."""
    if view.pane == "programs":
        return _programs(moment, view, screen=screen)
    if view.pane == "cards":
        return _cards(recent, moment, screen=screen)
    if view.pane == "nvlink":
        found = links.rows(recent, moment.tick.devices, probed=_probed(moment))
        return _table(links.HEADS, found, none=say("no GPU here reports NVLink"), screen=screen)
    if view.pane == "events":
        return _events(recent, moment, screen=screen)
    return _PANES[view.pane](moment, screen)


def help_lines(screen: Screen) -> list[str]:
    """Every key and what it does."""
    keys = max(width(key) for key, _ in HELP) + 2
    found = []
    for key, said in HELP:
        first, *rest = wrap(told(said, screen), max(screen.width - keys, 8))
        found += [cut_to(pad(key, keys) + first, screen.width, screen=screen)]
        found += [cut_to(" " * keys + line, screen.width, screen=screen) for line in rest]
    return found


def _table(
    columns: tuple[GridColumn, ...], rows: list[tuple[Words, ...]], *, none: Sentence, screen: Screen
) -> Pane:
    """A grid, or a sentence where there is no row; its head stays either way."""
    head, *lines = grid(columns, rows, screen=screen)
    return Pane(head=[head], rows=lines or [line_of(none, screen, tone="dim")])


def _programs(moment: MachineMoment, view: View, *, screen: Screen) -> Pane:
    found = programs.rows(moment, view)
    head, *lines = programs.draw(found, screen=screen)
    if lines:
        return Pane(head=[head], rows=lines)
    none = say("no process uses GPU memory")
    if view.words:
        none = say('no program matches "{words}"', words=view.words)
    elif moment.tick.devices and all(one.programs is None for one in moment.tick.devices):
        none = say("the driver does not list programs")
    return Pane(head=[head], rows=[line_of(none, screen, tone="dim")])


def _cards(recent: Recent, moment: MachineMoment, *, screen: Screen) -> Pane:
    """Clocks, heat and what holds each card back, since when."""
    rows: list[tuple[Words, ...]] = []
    for one in moment.tick.devices:
        reasons = []
        for reason in one.slowed_by or ():
            if reason != "idle":
                since_s = moment.tick.at_s - recent.slowed_s.get((one.card, reason), moment.tick.at_s)
                reasons.append(
                    say("{reason} for {time}", reason=words.reason(reason), time=show_seconds(since_s))
                    if since_s >= 1
                    else words.reason(reason)
                )
        slowed = words.NONE if one.slowed_by is None else with_commas(reasons) or say("nothing")
        if one.state != "ok":
            slowed = words.state(one)[0]
        pcie = f"{one.pcie_gen} x{one.pcie_lanes}" if one.pcie_gen and one.pcie_lanes else words.NONE
        rows.append(
            (
                *(one.card, words.clock(one.sm_hz), words.celsius(one.gpu_c), words.celsius(one.mem_c)),
                *(words.share(one.mem_busy_share), words.share(one.fan_share), pcie),
                *(words.flow(one.pcie_rx_bytes_per_s), words.flow(one.pcie_tx_bytes_per_s), slowed),
            )
        )
    heads = (
        *(GridColumn(say("card"), 0, right=False, least=5), GridColumn(say("SM clock"), 2, least=8)),
        *(
            GridColumn("GPU", 1, least=6),
            GridColumn(say("mem temp"), 3, least=6),
            GridColumn(say("mem busy"), 7, least=6),
        ),
        *(GridColumn(say("fan"), 6, least=5), GridColumn("PCIe", 5, least=5)),
        *(GridColumn(say("PCIe in"), 8, least=10), GridColumn(say("PCIe out"), 9, least=10)),
        GridColumn(say("slowed by"), -1, right=False),
    )
    found = _table(heads, rows, none=say("no GPU listed by a driver"), screen=screen)
    cards = [one for one in moment.tick.devices if one.vendor == "nvidia" and one.state == "ok"]
    if moment.detail is not None and cards and all(one.activity is None for one in cards):
        said = say(
            "SM, tensor and DRAM activity: not available from this driver (Hopper and newer only); use DCGM"
        )
        lines = wrap(told(said, screen), screen.width)
        found.rows.extend(line_of(one, screen, tone="dim") for one in (*lines, f"$ {PROFILED}"))
    return found


def _ecc(moment: MachineMoment, screen: Screen) -> Pane:
    probed = _probed(moment)
    rows: list[tuple[Words, ...]] = []
    for one in moment.tick.devices:
        device = probed.get(one.card)
        ecc, retired = (None, None) if device is None else (device.ecc, device.retired)
        rows.append(
            (
                *(one.card, _count(one.ecc_corrected), _count(one.ecc_uncorrected)),
                *(_count(None if ecc is None else ecc.uncorrected_aggregate),),
                *(_count(None if retired is None else retired.rows_uncorrected), _yes(one.rows_pending)),
                _yes(one.rows_failed),
                words.NONE if one.recovery == "none" else one.recovery or words.NONE,
                _count(one.last_xid),
            )
        )
    heads = (
        *(GridColumn(say("card"), 0, right=False, least=5), GridColumn(say("corrected"), 3, least=9)),
        *(GridColumn(say("uncorrected"), 1, least=11), GridColumn(say("ever"), 5, least=5)),
        *(
            GridColumn(say("rows remapped"), 6),
            GridColumn(say("remap pending"), 4),
            GridColumn(say("remap failed"), 2),
        ),
        *(GridColumn(say("driver requests"), 7, right=False), GridColumn("XID", -1, right=False)),
    )
    return _table(heads, rows, none=say("no GPU listed by a driver"), screen=screen)


def _mig(moment: MachineMoment, screen: Screen) -> Pane:
    """Each MIG instance: its memory, what its parts did, and its programs."""
    probed = _probed(moment)
    rows: list[tuple[Words, ...]] = []
    for one in moment.tick.devices:
        device = probed.get(one.card)
        done = {each.gpu_instance: each for each in one.activity or ()}
        for part in one.slices or (() if device is None else device.slices):
            did = done.get(part.gpu_instance, Activity())
            inside = [each for each in one.programs or () if each.gpu_instance == part.gpu_instance]
            rows.append(
                (
                    *(one.card, str(part.gpu_instance), _count(part.compute_instance)),
                    *(part.profile or words.NONE, words.memory(part.mem_used_bytes, part.mem_total_bytes)),
                    *(words.share(did.sm_share), words.share(did.tensor_share), words.share(did.dram_share)),
                    ", ".join(f"{each.pid} {programs.short(each.name or '')}".strip() for each in inside)
                    or words.NONE,
                )
            )
    heads = (
        *(GridColumn(say("card"), 0, right=False, least=5), GridColumn("GI", 1, least=3)),
        *(GridColumn("CI", 7, least=3), GridColumn(say("profile"), 2, right=False, least=8)),
        *(GridColumn(say("GPU mem"), 3, least=14), GridColumn("SM", 4, least=5)),
        *(GridColumn(say("tensor"), 5, least=6), GridColumn("DRAM", 6, least=5)),
        GridColumn(say("programs"), -1, right=False),
    )
    waits = say("reading the machine ...") if _machine(moment) is None else say("no GPU has MIG instances")
    return _table(heads, rows, none=waits, screen=screen)


def _network(moment: MachineMoment, screen: Screen) -> Pane:
    ports = () if moment.detail is None else moment.detail.ports
    rows: list[tuple[Words, ...]] = [
        (
            *(one.name, one.kind, one.state or words.NONE, _line_rate(one.bytes_per_s)),
            *(words.flow(one.rx_bytes_per_s), words.flow(one.tx_bytes_per_s), _count(one.errors)),
            words.NONE if one.new_errors is None else f"+{one.new_errors}",
        )
        for one in ports
    ]
    heads = (
        *(
            GridColumn(say("port"), 0, right=False, least=8),
            GridColumn(say("kind"), 6, right=False, least=10),
        ),
        *(GridColumn(say("state"), 3, right=False, least=5), GridColumn(say("link rate"), 4, least=8)),
        *(GridColumn(say("received"), 1, least=11), GridColumn(say("sent"), 2, least=11)),
        *(GridColumn(say("errors"), 5, least=6), GridColumn(say("since start"), -1, right=False, least=3)),
    )
    return _table(heads, rows, none=say("no physical network port found"), screen=screen)


def _host(moment: MachineMoment, screen: Screen) -> Pane:
    tick = moment.tick.host
    more = (
        (say("disk busy {share}", share=words.share(tick.disk_busy_share)), tick.disk_busy_share),
        (say("swapping {flow}", flow=words.flow(tick.swap_bytes_per_s)), tick.swap_bytes_per_s),
        (say("CPU pressure {share}", share=words.share(tick.cpu_pressure)), tick.cpu_pressure),
        (say("I/O pressure {share}", share=words.share(tick.io_pressure)), tick.io_pressure),
    )
    told_ones = [*words.host(tick), *(said for said, value in more if value is not None)]
    if moment.power is not None:
        told_ones.insert(2, beside_cards(moment.power, (one.power_w for one in moment.tick.devices)))
    return Pane(rows=[line_of(one, screen) for one in told_ones])


def _findings(moment: MachineMoment, screen: Screen) -> Pane:
    """What the doctor found, the first to act on first, with why and the first step."""
    causes = None if moment.detail is None else moment.detail.causes
    if causes is None:
        return Pane(rows=[line_of(say("running checks ..."), screen, tone="dim")])
    rows: list[str] = []
    for cause in causes:
        tone = SEVERITY[cause.finding.severity]
        front = mark(tone, screen) or "- "
        rows.append(
            toned(
                cut_to(front + told(cause.finding.title, screen), screen.width, screen=screen),
                tone,
                screen=screen,
            )
        )
        for step in cause.finding.fix[:1]:
            lines = wrap(told(step.says, screen), max(screen.width - 4, 8))
            rows += [cut_to(f"    {line}", screen.width, screen=screen) for line in lines]
            if step.command:
                rows.append(cut_to(f"    $ {told(step.command, screen)}", screen.width, screen=screen))
    if not rows:
        rows = [line_of(say("nothing found; `rigright doctor --all` lists what was checked"), screen)]
    return Pane(rows=rows)


def _events(recent: Recent, moment: MachineMoment, *, screen: Screen) -> Pane:
    """The newest events first, then what cannot be done."""
    rows = []
    for at, event in reversed(recent.events):
        said, tone = words.event(event)
        rows.append(cut_to(f"{at}  {told(said, screen)}", screen.width, screen=screen))
        rows[-1] = toned(rows[-1], tone, screen=screen)
    rows += [line_of(note, screen, tone="warn") for note in moment.notes]
    return Pane(rows=rows or [line_of(say("no events since start"), screen, tone="dim")])


def _machine(moment: MachineMoment) -> object:
    return None if moment.detail is None else moment.detail.machine


def _probed(moment: MachineMoment) -> dict[str, Device]:
    """Cards as they were probed last, by the word that the view calls them."""
    machine = None if moment.detail is None else moment.detail.machine
    found: Iterable[Device] = () if machine is None else machine.devices
    return {f"{'gpu' if one.vendor == 'nvidia' else one.vendor}{one.index}": one for one in found}


def _count(number: int | None) -> str:
    return words.NONE if number is None else f"{number:,}"


def _yes(flag: bool | None) -> Words:  # noqa: FBT001 - a reading
    return words.NONE if flag is None else say("yes") if flag else say("no")


def _line_rate(bytes_per_s: float | None) -> str:
    return words.NONE if bytes_per_s is None else f"{bytes_per_s * BITS / GIGA:g} Gb/s"


_PANES: Mapping[str, Callable[[MachineMoment, Screen], Pane]] = {
    "ecc": _ecc,
    "mig": _mig,
    "network": _network,
    "host": _host,
    "findings": _findings,
}
