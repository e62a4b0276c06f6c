"""Memory: type, slots, size, registered or not, channels, speed."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import to_gib
from rigright.base.words import say
from rigright.build.judge import BuildRule, Ruling, doubt, impossible
from rigright.build.machine import Rig
from rigright.build.rules.processor import chipset_of, family_of

_FOUR_DDR5_MTS = 5200  # of four modules on two channels, what usually runs
_USUAL_SLOTS = {"ITX": 2}
_MOST_MODULE = {  # GiB of the largest module that is sold, unregistered and registered
    "DDR4": (32, 256), "DDR5": (64, 256), "DDR3": (16, 64),
}  # fmt: skip


def kind(rig: Rig) -> Iterator[Ruling]:
    """Board and processor take this type of memory."""
    types = {modules.type for modules in rig.modules if modules.type}
    if len(types) > 1:
        yield impossible(
            "ram",
            say("{types} cannot be mixed on one board", types=" + ".join(sorted(types))),
            do=say("use modules of one type"),
        )
        return
    family, chipset = family_of(rig), chipset_of(rig)
    takes = {rig.board.mem_type} if rig.board is not None and rig.board.mem_type else None
    if takes is None and chipset is not None:
        takes = set(chipset.mem)
    for mine in types:
        if takes is not None and mine not in takes and rig.board is not None:
            yield impossible(
                "ram board",
                say(
                    "{board} needs {takes}, not {mine}",
                    board=rig.board.name,
                    takes=" / ".join(sorted(takes)),
                    mine=mine,
                ),
                do=say("take {takes}", takes=" / ".join(sorted(takes))),
            )
        elif family is not None and mine not in family.mem and rig.processor is not None:
            yield impossible(
                "ram cpu",
                say(
                    "{cpu} needs {takes}, not {mine}",
                    cpu=rig.processor.name,
                    takes=" / ".join(sorted(family.mem)),
                    mine=mine,
                ),
                do=say("take {takes}", takes=" / ".join(sorted(family.mem))),
            )
    if any(modules.laptop for modules in rig.modules) and rig.board is not None:
        yield impossible(
            "ram board",
            say("SO-DIMM modules do not fit the DIMM slots of {board}", board=rig.board.name),
            do=say("use DIMMs"),
        )


def slots(rig: Rig) -> Iterator[Ruling]:
    """There is a slot for each module."""
    counts = [modules.count for modules in rig.modules]
    if rig.board is None or not counts or None in counts:
        return
    count = sum(number or 0 for number in counts)
    have = rig.board.mem_slots or _USUAL_SLOTS.get(rig.board.form or "")
    family = family_of(rig)
    if have is None and family is not None and family.modules == {"udimm"}:
        have = 4 if family.channels == 2 else 8
    if have is not None and count > have:
        yield impossible(
            "ram board",
            say("{count} modules, {have} slots on {board}", count=count, have=have, board=rig.board.name),
            do=say("use fewer, larger modules"),
        )


def modules(rig: Rig) -> Iterator[Ruling]:
    """Modules of the size exist, and make up what is stated."""
    family = family_of(rig)
    for module in rig.modules:
        largest = _MOST_MODULE.get(module.type or "")
        plain = module.registered is False or (family is not None and "rdimm" not in family.modules)
        if largest and module.each_bytes and to_gib(module.each_bytes) > largest[0 if plain else 1]:
            yield impossible(
                "ram",
                say(
                    "{size} GB {kind} modules do not exist for this socket",
                    kind=module.type,
                    size=f"{to_gib(module.each_bytes):.0f}",
                ),
                do=say("the largest are {size} GB", size=largest[0 if plain else 1]),
            )
        if (
            module.stated_bytes is not None
            and module.total_bytes
            and module.stated_bytes != module.total_bytes
        ):
            yield doubt(
                "ram",
                say(
                    "the list says {stated} GB and {count} modules of {each} GB",
                    stated=f"{to_gib(module.stated_bytes):.0f}",
                    count=module.count,
                    each=f"{to_gib(module.each_bytes or 0.0):.0f}",
                ),
                do=say("specify which one"),
            )


def size(rig: Rig) -> Iterator[Ruling]:
    """Processor and board address as much."""
    totals = [modules.total_bytes for modules in rig.modules]
    family = family_of(rig)
    if not totals or None in totals:
        return
    total = sum(item or 0.0 for item in totals)
    most = None if family is None else family.mem_max_bytes * rig.cpu_count
    value = None if rig.board is None else rig.board.mem_max_bytes
    if most is not None and total > most and rig.processor is not None:
        yield impossible(
            "ram cpu",
            say(
                "{total} GB of memory; {cpu} supports at most {most} GB",
                total=f"{to_gib(total):.0f}",
                most=f"{to_gib(most):.0f}",
                cpu=rig.processor.name,
            ),
            do=say("use less memory, or a server or workstation platform"),
        )
    elif value is not None and total > value and rig.board is not None:
        yield doubt(
            "ram board",
            say(
                "{total} GB of memory; {board} supports {most} GB",
                total=f"{to_gib(total):.0f}",
                most=f"{to_gib(value):.0f}",
                board=rig.board.name,
            ),
            do=say("check the board's memory support list: newer BIOS versions often allow more"),
        )


def registered(rig: Rig) -> Iterator[Ruling]:
    """Registered modules where the platform takes them, plain ones where it takes those."""
    family = family_of(rig)
    takes = None if family is None else set(family.modules)
    if rig.board is not None and rig.board.registered:
        takes = {"rdimm", "lrdimm"} if takes is None else takes - {"udimm"}
    if (
        takes is None
        and rig.board is not None
        and rig.board.socket in {"AM4", "AM5", "LGA1700", "LGA1851", "LGA1200"}
    ):
        takes = {"udimm"}
    if takes is None:
        return
    where = (
        rig.board.name if rig.board is not None else rig.processor.name if rig.processor is not None else ""
    )
    for modules in rig.modules:
        if modules.registered and not takes & {"rdimm", "lrdimm"}:
            yield impossible(
                "ram board",
                say("{where} does not support registered modules (RDIMM): use UDIMM", where=where),
                do=say("use UDIMM, with ECC if needed"),
            )
        elif modules.registered is False and "udimm" not in takes:
            yield impossible(
                "ram board",
                say("{where} does not support unbuffered modules (UDIMM): use RDIMM", where=where),
                do=say("use RDIMM"),
            )
        elif modules.reduced and "lrdimm" not in takes:
            yield doubt(
                "ram board", say("{where} does not list LRDIMM support", where=where), do=say("use RDIMM")
            )
    if len({module.registered for module in rig.modules if module.registered is not None}) > 1:
        yield impossible(
            "ram", say("registered and unbuffered modules cannot be mixed"), do=say("use modules of one type")
        )


def speed(rig: Rig) -> Iterator[Ruling]:
    """Four DDR5 modules on two channels run slower than two; unlike kits may not run at their speed."""
    family = family_of(rig)
    count = sum(modules.count or 0 for modules in rig.modules)
    fast = [modules.mts for modules in rig.modules if modules.mts and modules.type == "DDR5"]
    if family is not None and family.channels == 2 and count >= 4 and fast and min(fast) > _FOUR_DDR5_MTS:
        yield doubt(
            "ram",
            say(
                "four DDR5 modules on two channels rarely run at {mts} MT/s: expect 3600 to {most}",
                mts=min(fast),
                most=_FOUR_DDR5_MTS,
            ),
            do=say("two larger modules keep the speed"),
        )
    if len({(modules.each_bytes, modules.mts) for modules in rig.modules}) > 1:
        yield doubt(
            "ram",
            say("mixed memory kits may not run at their rated speed"),
            do=say("buy all modules as one kit"),
        )


RULES = (
    BuildRule(name="memory-type", judge=kind),
    BuildRule(name="memory-slots", judge=slots),
    BuildRule(name="memory-modules", judge=modules),
    BuildRule(name="memory-size", judge=size),
    BuildRule(name="memory-registered", judge=registered),
    BuildRule(name="memory-speed", judge=speed),
)
