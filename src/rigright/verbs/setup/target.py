"""The machine that software is chosen for, and how its system installs NVIDIA's driver and toolkit."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import replace

from rigright.base.errors import AskError
from rigright.base.everyday import words_of
from rigright.base.words import say
from rigright.doctor.examine import case_of
from rigright.doctor.stack import capabilities, driver
from rigright.doctor.wires import bus_cards
from rigright.facts.chips import Chip
from rigright.facts.chips import chips as every_chip
from rigright.facts.drivers import (
    OPEN_FROM,
    OPEN_KERNEL,
    OPEN_ONLY_FROM,
    DriverPackages,
    SystemRelease,
    branch_of,
    branches,
    driver_packages,
    packages_for,
    release_of,
)
from rigright.facts.fabrics import fabric_of
from rigright.facts.nodes import find_node
from rigright.facts.software import version_of, written
from rigright.machine.record import Machine
from rigright.verbs.probe import probe
from rigright.verbs.seen.here import is_place
from rigright.verbs.setup.choice import MACOS, WINDOWS, Pick, Target

MOST_KINDS = 8
WSL = "wsl"
_OS = re.compile(r"\s*([a-z]+(?:[ -][a-z]+)*)[\s:-]*(\d+(?:\.\d+)?)?\s*\Z", re.IGNORECASE)
OF_WSL = "2"
_ARM_FORMS = {"superchip", "superchip board", "module/SoC"}  # of NVIDIA: with its own Arm processor
_EMBEDDED = "embedded"
_WITH_SWITCHES = 8  # cards, from which a box of such chips has them


def look(on: str | None, from_file: str | None) -> Machine | None:
    """The machine that is looked at; None where cards are named."""
    place = from_file if from_file is not None else on if on is not None and is_place(on) else None
    return None if on is not None and place is None else probe(place if place != "here" else None)


def target_of(on: str | None, machine: Machine | None, *, os_asked: str | None) -> Target:
    """What is known of the machine; an asked system goes before the one that was read."""
    target = _named(on or "") if machine is None else _seen(machine)
    if os_asked is None:
        return target
    os_id, version = _system(os_asked)
    virtual = "wsl2" if os_id == WSL else None
    return replace(target, os_id=os_id, os_version=version, os_name=os_asked, virtual=virtual)


def _named(on: str) -> Target:
    """Cards as people name them: nothing is known of the system."""
    node = find_node(on)
    chips = {card.chip.id: card.chip for card in node.cards}
    with_own = any(chip.vendor == "NVIDIA" and chip.form in _ARM_FORMS for chip in chips.values())
    return Target(
        shown=node.shown,
        vendors=tuple(sorted({chip.vendor.lower() for chip in chips.values()})),
        capabilities=_of_chips(list(chips.values())),
        chips=tuple(chips.values()),
        embedded=_is_embedded(chips.values()),
        cards=node.n_cards // node.n_nodes,
        switched=any(_has_switches(chip, node.n_cards // node.n_nodes) for chip in chips.values()),
        racked=any(_is_racked(chip) for chip in chips.values()),
        arch="aarch64" if with_own else None,  # the processor that the chips come with; None: any
    )


def _is_embedded(chips: Iterable[Chip]) -> bool:
    return any(chip.vendor == "NVIDIA" and chip.segment == _EMBEDDED for chip in chips)


def _of_chips(chips: list[Chip]) -> tuple[tuple[tuple[int, int], str], ...]:
    names: dict[tuple[int, int], str] = {}
    for chip in chips:
        if chip.compute_capability is not None:
            names.setdefault(chip.compute_capability, chip.name)
    return tuple(sorted(names.items()))


def _has_switches(chip: Chip, count: int) -> bool:
    return fabric_of(chip).kind == "switch" and count >= _WITH_SWITCHES


def _is_racked(chip: Chip) -> bool:
    """Whether cards of other trays are behind the same switches: GB200 and later."""
    return (
        chip.vendor == "NVIDIA"
        and chip.form in _ARM_FORMS
        and (chip.compute_capability or (0, 0)) >= OPEN_ONLY_FROM
    ) and fabric_of(chip).kind == "switch"


def _seen(machine: Machine) -> Target:
    """A machine that was read."""
    case = case_of(machine)
    system = machine.system
    bus = [] if machine.devices else _on_bus(machine)  # without a driver nothing else shows them
    chips = bus or [chip for chip in case.chips if chip is not None]
    vendors = {chip.vendor.lower() for chip in bus} or {device.vendor for device in machine.devices}
    texts = [chip.name if chip else device.name for device, chip in case.pairs]
    names = [name for name in texts if name]  # a card that is lost has none
    kinds = {name: names.count(name) for name in names}
    return Target(
        shown=", ".join(f"{count}x {name}" for name, count in list(kinds.items())[:MOST_KINDS])
        or (bus_cards(machine) if bus else "")
        or say("this machine"),
        vendors=tuple(sorted(vendors)),
        chips=tuple(dict.fromkeys(chips)),
        capabilities=_of_chips(bus) or tuple(sorted(capabilities(case).items())),
        embedded=_is_embedded(chips),
        cards=len(machine.devices) or len(bus) or 1,
        switched=any(_has_switches(chip, len(machine.devices) or len(bus)) for chip in chips),
        racked=any(_is_racked(chip) for chip in chips),
        os_id=system.os_id,
        os_version=system.os_version,
        os_name=system.os_name,
        arch=system.arch or machine.cpu.arch,
        virtual=system.virtual,
        container=system.container,
        driver=driver(case),
        open_kernel=machine.software.open_kernel,
        secure_boot=system.secure_boot,
        seen=True,
        by_root=machine.typed_by_root,
    )


def _on_bus(machine: Machine) -> list[Chip]:
    """What the bus shows, by its numbers; chips that share one are of one kind for drivers."""
    known = {number: chip for chip in reversed(tuple(every_chip())) for number in chip.pci_ids}
    return [known[device.id] for device in machine.pci or () if device.id in known]


def _system(asked: str) -> tuple[str, str | None]:
    """A system as people name it: "ubuntu 24.04", "debian12", "rocky 9"."""
    match = _OS.match(asked)
    name = " ".join(match[1].lower().replace("-", " ").split()) if match else ""
    os_id = words_of("system").get(name, name.replace(" ", "-"))
    known = sorted({text for row in driver_packages() for text in row.os} | {WINDOWS, MACOS})
    if match is None or os_id not in known:
        raise AskError(say('unknown system "{asked}"; known: {known}', asked=asked, known=", ".join(known)))
    version = re.sub(r"\A(\d\d)(04|10)\Z", r"\1.\2", match[2] or "") or None  # ubuntu2204
    return os_id, OF_WSL if os_id == WSL else version


IN_WINDOWS = ("wsl1", "wsl2")


def ways_of(target: Target) -> tuple[DriverPackages, ...]:
    """How this system installs things; none where the table does not hold it."""
    if target.os_id is None:
        return ()
    ways = packages_for(target.os_id, target.os_version, arch=target.arch)
    if target.virtual in IN_WINDOWS and target.os_id != WSL:  # its toolkit comes from a place of its own
        return (
            *ways[:1],
            *(packages_for(WSL, OF_WSL, arch=target.arch) if any("ubuntu" in way.os for way in ways) else ()),
        )
    return ways


def takes_open(target: Target) -> bool:
    """Whether its driver comes with open kernel modules: they ask for newer chips, and for a newer kernel."""
    chips = [capability for capability, _ in target.capabilities] or [OPEN_FROM]
    release = release_of(target.os_id, target.os_version)
    is_old = release is not None and release.kernel < OPEN_KERNEL
    return min(chips) >= OPEN_FROM and not (is_old and max(chips) < OPEN_ONLY_FROM)


def python_here(target: Target, ways: tuple[DriverPackages, ...]) -> str | None:
    """The Python of the system that its packages bring, else the one it came with."""
    brought = ways[0].python_of(target.os_version or "") if ways else None
    release = release_of(target.os_id, target.os_version)
    return brought or (written(release.python) if release is not None else None)


def driver_way(target: Target, ways: tuple[DriverPackages, ...], *, is_open: bool) -> DriverPackages | None:
    """The first way whose branch knows these chips and whose packages are known."""
    oldest = min((capability for capability, _ in target.capabilities), default=OPEN_FROM)
    fit = (way for way in ways if way.driver(is_open=is_open) and branches()[way.branch].cc_min <= oldest)
    return next(fit, None)


def installs_on(pick: Pick, release: SystemRelease | None) -> bool:
    """Whether pip takes its wheels on a system: they name the least glibc."""
    return release is None or pick.least_glibc is None or pick.least_glibc <= release.glibc


def is_enough(target: Target, pick: Pick) -> bool:
    """Whether the driver of now runs a set."""
    have = target.driver
    return have is not None and (
        pick.least_driver is None or version_of(have) >= version_of(pick.least_driver)
    )


def may_stay(target: Target) -> bool:
    """Whether the driver of now is of the right kind, knows the chips, and still gets fixes."""
    if target.driver is None:
        return False
    chips = [capability for capability, _ in target.capabilities] or [OPEN_FROM]
    wrong_kind = min(chips) < OPEN_FROM if target.open_kernel else max(chips) >= OPEN_ONLY_FROM
    if target.open_kernel is not None and wrong_kind:
        return False
    branch = branch_of(written(version_of(target.driver)[:2]))
    if branch is None or branch.branch != version_of(target.driver)[0]:
        return True
    return branch.cc_min <= min(chips) and not branch.has_ended(time.strftime("%Y-%m-%d"))


def stays(target: Target, pick: Pick) -> bool:
    """Whether the driver of now serves a set, and may stay."""
    return is_enough(target, pick) and may_stay(target)
