"""Chooses the software for a machine and a wish, and tells the steps that install it. It changes nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rigright.base.errors import AskError
from rigright.base.files import save_text
from rigright.base.words import Sentence, say
from rigright.facts.drivers import (
    OPEN_FROM,
    OPEN_ONLY_FROM,
    Branch,
    DriverPackages,
    branch_of,
    branches,
    last_branch,
    newest_branch,
    packages_for,
)
from rigright.facts.software import Capability, version_of, written
from rigright.report.set_up import Pick, SetUp, SetupStep, Target
from rigright.verbs.doctor.wanted import wanted_of
from rigright.verbs.setup import steps
from rigright.verbs.setup.choice import TORCH, find_name, picks, python_for, toolkit_for
from rigright.verbs.setup.others import on_jetson, without_nvidia
from rigright.verbs.setup.target import target_of

_VERSION = re.compile(r"(?:==|\s)v?(\d[\w.]*)\s*\Z")


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
    target = target_of(_machine(wish), wish.from_file, os_asked=wish.system)
    if target.embedded:
        return on_jetson(target)
    if "nvidia" not in target.vendors:
        return without_nvidia(target, name, ways=_ways(target))
    chips = tuple(capability for capability, _ in target.capabilities)
    _refuse_mixed(target)
    pick = _chosen(list(picks(name, chips)), asked)
    result = _answer(target, name, pick=pick, chips=chips)
    other = None if pick is None or asked is None else _other_version(asked, pick)
    return result if other is None else replace(result, notes=(other, *result.notes))


def _asked(wish: SetupWish) -> str | None:
    """The engine or framework as it was asked for; a plan's comes with its version."""
    if wish.framework is not None or wish.wanted is None or not _is_plan(wish.wanted):
        return wish.framework or wish.wanted
    found = wanted_of(wish.wanted)
    return " ".join(one for one in (found.engine, found.engine_version) if one) or None


def _chosen(found: list[Pick], asked: str | None) -> Pick | None:
    """The version that was asked for where the tables hold it, else the newest."""
    version = _VERSION.search(asked or "")
    same = [one for one in found if version and one.version == version[1]]
    return next(iter(same or found), None)


def _other_version(asked: str, pick: Pick) -> Sentence | None:
    """Said where a version was asked for and the tables hold another."""
    version = _VERSION.search(asked)
    if version is None or pick.version == version[1] or pick.version.startswith(version[1] + "."):
        return None
    return say(
        "the plan or question names {asked}; our tables hold no set for it: this one is of {version}",
        asked=asked,
        version=pick.version,
    )


def _is_plan(wanted: str) -> bool:
    return wanted.endswith(".json") or "/" in wanted or Path(wanted).is_file()


def _machine(wish: SetupWish) -> str | None:
    """The cards: those named, else those of the plan, else those here."""
    if wish.on is not None or wish.from_file is not None or wish.wanted is None or not _is_plan(wish.wanted):
        return wish.on
    chips = wanted_of(wish.wanted).chips
    return f"{len(chips)}x {chips[0]}" if chips else None


def _refuse_mixed(target: Target) -> None:
    """No kernel module drives both the oldest and the newest chips."""
    old = [name for chip, name in target.capabilities if chip < OPEN_FROM]
    new = [name for chip, name in target.capabilities if chip >= OPEN_ONLY_FROM]
    if old and new:
        raise AskError(
            say(
                "{old} runs on the closed kernel module alone, {new} on the open one: no driver serves both",
                old=old[0],
                new=new[0],
            )
        )


def _answer(target: Target, name: str, *, pick: Pick | None, chips: tuple[Capability, ...]) -> SetUp:
    ways = _ways(target)
    branch = newest_branch(min(chips), today=time.strftime("%Y-%m-%d")) if chips else None
    is_open = min(chips, default=OPEN_FROM) >= OPEN_FROM
    system = ways[0].python_of(target.os_version or "") if ways else None
    python = python_for(pick.python, system=system) if pick else None
    toolkit = (
        toolkit_for(branch.branch if branch else None, chips, cuda=pick.cuda if pick.torch else None)
        if pick and pick.toolkit
        else None
    )
    manager = ways[0].manager if ways else None
    kept = _kept(target, name, pick=pick, chips=chips)
    return SetUp(
        target=target,
        pick=pick,
        kept=kept,
        branch=branch.branch if branch else None,
        open_kernel=is_open,
        python=python,
        toolkit=toolkit,
        steps=tuple(_steps(target, pick, ways=ways, python=python, toolkit=toolkit)) if pick else (),
        docker_steps=tuple(steps.docker_steps(pick, manager=manager)),
        notes=tuple(_notes(target, pick, chips=chips, branch=branch)),
        unknown=(
            *_unknown(target, name, pick=pick, ways=ways),
            *(_without_package(target, pick, ways=ways, toolkit=toolkit) if pick else ()),
        ),
    )


def _ways(target: Target) -> tuple[DriverPackages, ...]:
    """How this system installs things; none where the table does not hold it."""
    if (
        target.os_id is None
        or target.os_version is None
        or (target.arch or "x86_64") not in {"x86_64", "amd64"}
    ):
        return ()
    return packages_for(target.os_id, target.os_version)


def _drivers(target: Target, ways: tuple[DriverPackages, ...]) -> tuple[DriverPackages, ...]:
    """The ways whose branch knows these chips."""
    oldest = min(capability for capability, _ in target.capabilities) if target.capabilities else OPEN_FROM
    return tuple(way for way in ways if branches()[way.branch].cc_min <= oldest)


def _kept(target: Target, name: str, *, pick: Pick | None, chips: tuple[Capability, ...]) -> Pick | None:
    """The newest set that runs without another driver."""
    if target.driver is None or pick is None or pick.least_driver is None or _is_enough(target, pick):
        return None
    return next(picks(name, chips, driver=target.driver), None)


def _is_enough(target: Target, pick: Pick) -> bool:
    have = target.driver
    return have is not None and (
        pick.least_driver is None or version_of(have) >= version_of(pick.least_driver)
    )


def _is_kept(target: Target, pick: Pick) -> bool:
    """Whether the driver stays: new enough, still mended, of the right kind."""
    if target.driver is None or not _is_enough(target, pick):
        return False
    chips = [capability for capability, _ in target.capabilities] or [OPEN_FROM]
    wrong_kind = min(chips) < OPEN_FROM if target.open_kernel else max(chips) >= OPEN_ONLY_FROM
    if target.open_kernel is not None and wrong_kind:
        return False
    branch = branch_of(written(version_of(target.driver)[:2]))
    if branch is None or branch.branch != version_of(target.driver)[0]:
        return True
    return branch.cc_min <= min(chips) and not branch.has_ended(time.strftime("%Y-%m-%d"))


def _steps(
    target: Target, pick: Pick, *, ways: tuple[DriverPackages, ...], python: str | None, toolkit: str | None
) -> Iterator[SetupStep]:
    manager = ways[0].manager if ways else None
    system = ways[0].python_of(target.os_version or "") if ways else None
    is_open = min((chip for chip, _ in target.capabilities), default=OPEN_FROM) >= OPEN_FROM
    if target.virtual in {"wsl1", "wsl2"}:
        yield _in_windows()
    elif target.container not in {None, "none"}:
        yield _on_host(pick)
    elif not _is_kept(target, pick) and (drivers := _drivers(target, ways)):
        yield from steps.driver_steps(target, drivers, is_open=is_open)
    if toolkit is not None:
        yield from steps.toolkit_steps(ways, toolkit)
    yield from steps.python_steps(pick, python, system=system, manager=manager)
    yield from steps.build_steps(pick, manager=manager)
    if not pick.pip and pick.image is not None and pick.name != "llama.cpp":
        yield from steps.docker_steps(pick, manager=manager)
    yield from steps.verify_steps(pick, target.vendors)


def _in_windows() -> SetupStep:
    return SetupStep(
        title=say("the driver, in Windows"),
        why=say("WSL2 uses the driver of Windows; a Linux driver inside hides it"),
    )


def _on_host(pick: Pick) -> SetupStep:
    return SetupStep(
        title=say("the driver, on the host: {driver} or newer", driver=pick.least_driver or "?"),
        why=say("this is a container: it uses the host's driver, and cannot change it"),
    )


def _notes(
    target: Target, pick: Pick | None, *, chips: tuple[Capability, ...], branch: Branch | None
) -> Iterator[Sentence]:
    if pick is None:
        return
    newest = next(picks(pick.name, ()), None)
    if newest is not None and newest.version != pick.version and chips:
        name = next(name for chip, name in target.capabilities if chip == min(chips))
        yield say(
            "{name} {newest} has no kernels for {chip}: {version} is the newest of our tables that has",
            name=pick.name, newest=newest.version, chip=name, version=pick.version,
        )  # fmt: skip
    if target.driver is not None and _is_kept(target, pick):
        yield say("driver {driver} stays: it runs CUDA {cuda}", driver=target.driver, cuda=pick.cuda or "?")
    elif branch is not None:
        yield say(
            "branch {branch} of the driver gets fixes longest of those that know these chips",
            branch=branch.branch,
        )
    if pick.cuda and not pick.toolkit:
        yield say("the packages bring their own CUDA libraries: no toolkit is needed")


def _unknown(
    target: Target, name: str, *, pick: Pick | None, ways: tuple[DriverPackages, ...]
) -> Iterator[Sentence]:
    if pick is None:
        chips = ", ".join(chip for _, chip in target.capabilities)
        yield say(
            "no version of {name} in our tables runs on {chips}", name=name, chips=chips or target.shown
        )
    if target.os_id is None:
        yield say(
            'the system is not known: name it, for example --os "ubuntu 24.04", for the driver\'s packages'
        )
    elif not ways and target.virtual not in {"wsl1", "wsl2"}:
        told = target.os_name or target.os_id
        yield say(
            "which packages hold the driver on {system} ({arch}) is in no table",
            system=told,
            arch=target.arch or "x86_64",
        )
    if (target.arch or "x86_64") not in {"x86_64", "amd64"}:
        yield say("our table of wheels is of x86-64; those for {arch} may differ", arch=target.arch)


def _without_package(
    target: Target, pick: Pick, *, ways: tuple[DriverPackages, ...], toolkit: str | None
) -> Iterator[Sentence]:
    """What the set needs and no package of the tables brings."""
    system = target.os_name or target.os_id
    if ways and not _is_kept(target, pick) and not _drivers(target, ways):
        chip, name = min(target.capabilities)
        last = last_branch(chip)
        yield say(
            "no branch of the driver that gets fixes knows {chip}; the last was {branch}: its packages on "
            "{system} are in no table",
            chip=name, branch=last.branch if last else "?", system=system,
        )  # fmt: skip
    if toolkit is not None and steps.toolkit_way(ways, toolkit) is None:
        yield say(
            "it needs the CUDA toolkit {version} to build with: its package for {system} is in no table",
            version=toolkit, system=system or say("this system"),
        )  # fmt: skip


def write_file(path: str, text: str) -> None:
    """Write what was asked for; a file that is there is left as it is."""
    if Path(path).exists():
        raise AskError(say("{file} is there already; name another file, or remove it first", file=path))
    save_text(path, text)
