"""Processor and board: socket, chipset, firmware, how many; the cooler on it."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.build.judge import DOUBT, IMPOSSIBLE, BuildRule, Ruling, doubt, fine, impossible
from rigright.build.machine import Rig
from rigright.facts.shop.cpus import CpuFamily
from rigright.facts.shop.tables import Chipset, chipsets

MOUNTS = (  # sockets whose coolers go on each other
    {"AM4", "AM5"}, {"LGA1150", "LGA1151", "LGA1200"}, {"LGA1700", "LGA1851"},
    {"LGA2011", "LGA2011-3", "LGA2066"},
    {"sTR4", "sTRX4", "sWRX8", "SP3", "sTR5", "SP6"},
)  # fmt: skip
LARGE = MOUNTS[-1] | {"SP5", "LGA3647", "LGA4189", "LGA4677", "LGA4710", "LGA7529"}


def chipset_of(rig: Rig) -> Chipset | None:
    """The chipset of the board, where it is known."""
    return None if rig.board is None else chipsets().get((rig.board.chipset or "").casefold())


def family_of(rig: Rig) -> CpuFamily | None:
    """The family of the processor."""
    return None if rig.processor is None else rig.processor.family


def socket(rig: Rig) -> Iterator[Ruling]:
    """The processor goes into the board's socket."""
    family, board = family_of(rig), rig.board
    if family is None or board is None or rig.processor is None or board.socket is None:
        return
    if family.socket.casefold() != board.socket.casefold():
        yield impossible(
            "cpu board",
            say(
                "{cpu} is for socket {own}; {board} has {other}",
                cpu=rig.processor.name,
                own=family.socket,
                board=board.name,
                other=board.socket,
            ),
            do=say("use a board with {own}, or a CPU for {other}", own=family.socket, other=board.socket),
        )
    else:
        yield fine("cpu board", say("socket {own}", own=family.socket))


def firmware(rig: Rig) -> Iterator[Ruling]:
    """The chipset runs the processor, at once or after a BIOS update."""
    family, board, chipset = family_of(rig), rig.board, chipset_of(rig)
    if family is None or board is None or chipset is None or rig.processor is None:
        return
    if chipset.socket.casefold() != family.socket.casefold() or family.id in chipset.runs:
        return
    names = {"cpu": rig.processor.name, "board": board.name, "chipset": chipset.chipset.partition("-")[0]}
    if family.id not in (chipset.bios or frozenset()):
        yield impossible(
            "cpu board",
            say("{board}: chipset {chipset} does not support {cpu}", **names),
            do=say("same socket, other generation: use a board that supports {family}", family=family.name),
        )
    elif board.year is None or chipset.bios_from is None or board.year < chipset.bios_from:
        yield doubt(
            "cpu board",
            say("{board} needs a BIOS update before {cpu} starts", **names),
            do=say("ask the shop for the BIOS version, or use a board with BIOS flashback"),
        )


def several(rig: Rig) -> Iterator[Ruling]:
    """Several processors need a board with as many sockets and processors that work together."""
    family, board = family_of(rig), rig.board
    if rig.cpu_count < 2 or rig.processor is None:
        return
    names = {"count": rig.cpu_count, "cpu": rig.processor.name}
    single = "epyc" in rig.processor.name.casefold() and rig.processor.name.casefold().endswith("p")
    if family is not None and (family.max_cpus < rig.cpu_count or single):
        yield impossible(
            "cpu",
            say("{cpu} does not support {count} sockets", **names),
            do=say("use one CPU, or CPUs that support two sockets"),
        )
    if board is not None and board.cpus is not None and board.cpus < rig.cpu_count:
        yield impossible(
            "cpu board",
            say("{board} has {sockets} socket, not {count}", board=board.name, sockets=board.cpus, **names),
            do=say("use a board with {count} sockets", **names),
        )


def picture(rig: Rig) -> Iterator[Ruling]:
    """Something shows a picture while the system is set up, or the board can do without."""
    family = family_of(rig)
    if rig.processor is None or family is None or rig.processor.igpu is not False or rig.machine is not None:
        return
    if "xeon" in rig.processor.name.casefold():
        return  # such boards have a chip for it
    shows = any(not cards.chip.form.startswith("PCIe passive") for cards in rig.cards)
    if not shows and family.socket not in LARGE:
        yield doubt(
            "cpu gpu",
            say("no display output: {cpu} has no integrated graphics", cpu=rig.processor.name),
            do=say("use a CPU with integrated graphics, a small display card, or set it up over the network"),
        )


def cooler(rig: Rig) -> Iterator[Ruling]:
    """The cooler goes on the socket and carries the heat."""
    family, fan = family_of(rig), rig.cooler
    if family is None or fan is None or rig.processor is None:
        return
    names = {"cooler": fan.name, "cpu": rig.processor.name, "socket": family.socket}
    mounts = next((mount for mount in MOUNTS if family.socket in mount), {family.socket})
    if fan.sockets is not None and not fan.sockets & mounts:
        other_size = (family.socket in LARGE) != bool(fan.sockets & LARGE)
        yield Ruling(
            verdict=IMPOSSIBLE if other_size else DOUBT,
            parts=("cooler", "cpu"),
            reason=say("{cooler} is not made for {socket}", **names),
            do=say("use a cooler for {socket}", **names)
            if other_size
            else say("ask the vendor for a mounting kit for {socket}", **names),
        )
    power_w = rig.processor.power_w
    if fan.holds_w is not None and power_w is not None and power_w > fan.holds_w:
        yield doubt(
            "cooler cpu",
            say(
                "{cooler} handles about {holds} W; {cpu} needs {watts} W",
                holds=f"{fan.holds_w:.0f}",
                watts=f"{power_w:.0f}",
                **names,
            ),
            do=say("use a larger cooler"),
        )


RULES = (
    BuildRule(name="socket", judge=socket),
    BuildRule(name="firmware", judge=firmware),
    BuildRule(name="cpu-count", judge=several),
    BuildRule(name="display", judge=picture),
    BuildRule(name="cooler", judge=cooler),
)
