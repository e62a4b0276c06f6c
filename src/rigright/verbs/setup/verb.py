"""Chooses the software for a machine and a wish, and tells the steps that install it. It changes nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rigright.base.errors import AskError
from rigright.base.files import save_text
from rigright.base.words import Sentence, say
from rigright.doctor.examine import case_of, examine
from rigright.doctor.record import Finding
from rigright.facts.drivers import (
    OPEN_FROM,
    OPEN_ONLY_FROM,
    Branch,
    DriverPackages,
    branches,
    newest_branch,
    release_of,
)
from rigright.facts.software import Capability, engine_needs
from rigright.machine.record import Machine
from rigright.machine.system import Python
from rigright.verbs.doctor import wanted_of
from rigright.verbs.setup import steps
from rigright.verbs.setup.choice import (
    MACOS,
    TORCH,
    WINDOWS,
    Installed,
    Pick,
    SetUp,
    SetupStep,
    Target,
    asked_cuda,
    asked_version,
    find_name,
    for_cuda,
    is_known,
    nearest,
    of_version,
    picks,
    python_for,
    toolkit_for,
)
from rigright.verbs.setup.notes import glibc_notes, newer, notes_of, unknown_of, without_package
from rigright.verbs.setup.others import on_jetson, on_windows, without_nvidia
from rigright.verbs.setup.target import (
    IN_WINDOWS,
    driver_way,
    installs_on,
    is_enough,
    look,
    may_stay,
    python_here,
    stays,
    takes_open,
    target_of,
    ways_of,
)

CHECKS = ("driver", "software")  # groups of doctor's, for what is there already
_SILENT = say("these GPUs are on the PCI bus but have no driver; `rigright doctor` shows why")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupWish:
    """What is asked."""

    on: str | None = None
    from_file: str | None = None
    system: str | None = None  # "ubuntu 24.04"
    wanted: str | None = None  # a plan's file, or the name of an engine
    framework: str | None = None


def setup(wish: SetupWish | None = None) -> SetUp:
    """What goes together, and how to install it."""
    wish = wish or SetupWish()
    asked = _asked(wish)
    name = TORCH if asked is None else find_name(asked)
    machine = look(_machine(wish), wish.from_file)
    target = target_of(_machine(wish), machine, os_asked=wish.system)
    if target.embedded:
        return on_jetson(target)
    if "nvidia" not in target.vendors:
        return without_nvidia(target, name, ways=ways_of(target))
    chips = tuple(capability for capability, _ in target.capabilities)
    _refuse_mixed(target)
    every = list(picks(name, chips))
    version, cuda = asked_version(asked), asked_cuda(asked)
    results = every if cuda is None else for_cuda(every, cuda)
    wanted = results if version is None else of_version(results, version)
    instead = None if version is None or wanted else _instead(target, name, version=version)
    if cuda is not None and not any(f"{pick.cuda}.".startswith(f"{cuda}.") for pick in results):
        instead = say("no build of {name} for CUDA {cuda} is known", name=name, cuda=cuda)
    wanted = wanted or nearest(results, version or "")
    release = release_of(target.os_id, target.os_version)
    pick = next((item for item in wanted if installs_on(item, release)), None)
    pick = pick or next((item for item in results if installs_on(item, release)), None)
    too_old = tuple(glibc_notes(wanted, pick, release=release))
    if pick is None and wanted and wanted[0].image is not None:  # an image brings a C library of its own
        pick = replace(wanted[0], pip=())
    elif pick is None and too_old:
        return SetUp(system=target, pick=None, unknown=too_old)
    silent = machine is not None and not machine.devices
    may = not silent and may_stay(target)
    have = _installed(machine, name, version=version) if machine and may else None
    if have is not None:
        return SetUp(system=target, pick=pick, already=have, notes=tuple(newer(have, pick)))
    if target.os_id in {MACOS, WINDOWS}:
        return _elsewhere(target, name, pick=pick)
    result = _answer(target, name, pick=pick, chips=chips)
    notes = (*((_SILENT,) if silent else ()), *too_old, *result.notes)
    contained = wanted[0] if too_old and wanted[0] is not pick else None
    planned = wish.wanted is not None and _is_plan(wish.wanted)
    split = wanted_of(str(wish.wanted)).tp if planned else 1 << (max(1, target.cards).bit_length() - 1)
    if version is not None and pick is not None and pick not in wanted:
        instead = next(iter(too_old), instead)
    return replace(result, notes=notes, contained=contained, split_over=split, instead=instead)


def _elsewhere(target: Target, name: str, *, pick: Pick | None) -> SetUp:
    """Systems that are no Linux."""
    if target.os_id == MACOS:
        return SetUp(system=target, pick=None, unknown=(say("NVIDIA has no driver for macOS"),))
    return on_windows(target, name, pick=pick)


def _refuse_mixed(target: Target) -> None:
    """No kernel module drives both the oldest and the newest chips."""
    old = [name for chip, name in target.capabilities if chip < OPEN_FROM]
    new = [name for chip, name in target.capabilities if chip >= OPEN_ONLY_FROM]
    if old and new:
        raise AskError(
            say(
                "{old} needs the proprietary kernel module, {new} the open one: no single driver "
                "supports both",
                old=old[0],
                new=new[0],
            )
        )


def _asked(wish: SetupWish) -> str | None:
    """The engine or framework as it was asked for; a plan's comes with its version."""
    if wish.framework is not None or wish.wanted is None or not _is_plan(wish.wanted):
        return wish.framework or wish.wanted
    wanted = wanted_of(wish.wanted)
    return " ".join(text for text in (wanted.engine, wanted.engine_version) if text) or None


def _instead(target: Target, name: str, *, version: str) -> Sentence:
    """Why the version that was asked for is not the one that is chosen."""
    if is_known(name, version):
        chips = ", ".join(chip for _, chip in target.capabilities)
        return say("{name} {version} does not run on {chips}", name=name, version=version, chips=chips)
    return say("no requirements known for {name} {version}", name=name, version=version)


def _is_plan(wanted: str) -> bool:
    return wanted.endswith(".json") or "/" in wanted or Path(wanted).is_file()


def _machine(wish: SetupWish) -> str | None:
    """The cards: those named, else those of the plan, else those here."""
    if wish.on is not None or wish.from_file is not None or wish.wanted is None or not _is_plan(wish.wanted):
        return wish.on
    chips = wanted_of(wish.wanted).chips
    return f"{len(chips)}x {chips[0]}" if chips else None


def _answer(target: Target, name: str, *, pick: Pick | None, chips: tuple[Capability, ...]) -> SetUp:
    ways = ways_of(target)
    is_open = takes_open(target)
    way = driver_way(target, ways, is_open=is_open)
    branch = branches()[way.branch] if way else _newest(chips)
    system = python_here(target, ways)
    python = python_for(pick.pythons, system=system) if pick else None
    toolkit = (
        toolkit_for(branch.branch if branch else None, chips, cuda=pick.cuda if pick.torch else None)
        if pick and pick.toolkit
        else None
    )
    return SetUp(
        system=target,
        pick=pick,
        without_new_driver=_kept(target, name, pick=pick, chips=chips),
        driver_branch=branch.branch if branch else None,
        open_kernel=is_open,
        python=python,
        toolkit=toolkit,
        steps=tuple(_steps(target, pick, ways=ways, python=python, toolkit=toolkit)) if pick else (),
        docker_steps=tuple(steps.docker_steps(pick, manager=ways[0].manager if ways else None)),
        notes=tuple(notes_of(target, pick, chips=chips, branch=branch, way=way)),
        unknown=(
            *unknown_of(target, name, pick=pick, ways=ways),
            *(without_package(target, pick, ways=ways, toolkit=toolkit) if pick else ()),
        ),
    )


def _newest(chips: tuple[Capability, ...]) -> Branch | None:
    return newest_branch(min(chips), today=time.strftime("%Y-%m-%d")) if chips else None


def _kept(target: Target, name: str, *, pick: Pick | None, chips: tuple[Capability, ...]) -> Pick | None:
    """The newest set that runs without another driver."""
    if target.driver is None or pick is None or pick.least_driver is None or is_enough(target, pick):
        return None
    return next(picks(name, chips, driver=target.driver), None)


def _steps(
    target: Target, pick: Pick, *, ways: tuple[DriverPackages, ...], python: str | None, toolkit: str | None
) -> Iterator[SetupStep]:
    manager = ways[0].manager if ways else None
    system, is_open = python_here(target, ways), takes_open(target)
    way = None if stays(target, pick) else driver_way(target, ways, is_open=is_open)
    if manager == "apt":
        yield steps.refresh()
    if target.virtual in IN_WINDOWS:
        way = None
        yield SetupStep(
            title=say("driver on Windows: {driver} or newer", driver=pick.least_driver or "?"),
            why=say("WSL2 uses the Windows driver; a Linux driver installed inside breaks it"),
        )
        yield SetupStep(
            title=say("in PowerShell, `wsl --update` and `wsl --shutdown`"),
            why=say("CUDA needs a recent WSL kernel, which apt does not provide"),
        )
    elif target.container not in {None, "none"}:
        way = None
        yield SetupStep(
            title=say("driver on the host: {driver} or newer", driver=pick.least_driver or "?"),
            why=say("this is a container: it uses the host's driver and cannot change it"),
        )
    elif way is not None:
        yield from steps.driver_steps(target, way, is_open=is_open)
    if toolkit is not None:
        yield from steps.toolkit_steps(target, ways, version=toolkit, has_repo=way)
    yield from steps.python_steps(pick, python, system=system, manager=manager)
    yield from steps.build_steps(pick, manager=manager)
    if not pick.pip and pick.image is not None and pick.name != "llama.cpp":
        yield from steps.docker_steps(pick, manager=manager)
    yield from steps.verify_steps(pick, target.vendors)


def write_file(path: str, text: str) -> None:
    """Write what was asked for; a file that is there is left as it is."""
    if Path(path).exists():
        raise AskError(say("{file} already exists; use another file, or remove it first", file=path))
    save_text(path, text)


def _installed(machine: Machine, name: str, *, version: str | None) -> Installed | None:
    """What was asked for, where it is there and its driver, build and Python go together by the checks."""
    # each Python that has it, in the version that was asked for
    there: list[Installed] = []
    for python in machine.software.pythons:
        text, build = _version_in(python, name)
        if text is not None and (version is None or f"{text}.".startswith(f"{version}.")):
            there.append(Installed(name=name, version=text, build=build, python=python.path))
    if not there or (
        any(row.toolkit for row in engine_needs() if row.name == name) and not machine.software.toolkits
    ):
        return None
    findings = [
        finding
        for _, finding in examine(case_of(machine), CHECKS).findings
        if finding.severity in ("fault", "warning")
    ]
    pythons = [python.path for python in machine.software.pythons]
    return next(
        (item for item in there if not any(_concerns(item, each, pythons=pythons) for each in findings)), None
    )


def _version_in(python: Python, name: str) -> tuple[str | None, str | None]:
    for framework in python.frameworks:
        if framework.name == name and framework.problem is None:
            return framework.version, framework.build
    packed = (package.version for package in python.packages or () if package.name == name)
    return next(packed, None), None


def _concerns(present: Installed, finding: Finding, *, pythons: list[str]) -> bool:
    """Whether a finding is of the whole machine or of this very Python."""
    about = set((finding.about or "").split(", "))
    return present.python in about or about.isdisjoint(pythons)
