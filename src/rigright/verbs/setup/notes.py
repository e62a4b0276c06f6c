"""What `setup` says beside the steps: what is worth knowing, and what no table tells."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.facts.drivers import (
    ARM,
    OPEN_FROM,
    OPEN_KERNEL,
    OPEN_ONLY_FROM,
    Branch,
    DriverPackages,
    SystemRelease,
    last_branch,
    release_of,
)
from rigright.facts.software import Capability, version_of, written
from rigright.verbs.setup import steps
from rigright.verbs.setup.choice import Installed, Pick, Target, picks
from rigright.verbs.setup.target import IN_WINDOWS, driver_way, installs_on, stays, takes_open

_CUDA_ON_ARM = (2, 11)  # metadata of the package index's wheels for aarch64, read 2026-11-22


def notes_of(
    target: Target,
    pick: Pick | None,
    *,
    chips: tuple[Capability, ...],
    branch: Branch | None,
    way: DriverPackages | None,
) -> Iterator[Sentence]:
    """What is worth knowing of a set."""
    if pick is None:
        return
    newest, fit = next(picks(pick.name, ()), None), next(picks(pick.name, chips), None)
    if newest is not None and fit is not None and newest.version != fit.version:
        name = next(name for chip, name in target.capabilities if chip == min(chips))
        yield say(
            "{name} {newest} has no kernels for {chip}; {version} is the newest known release "
"that has",
            name=pick.name, newest=newest.version, chip=name, version=fit.version,
        )  # fmt: skip
    if target.driver is not None and stays(target, pick):
        yield say(
            "keep driver {driver}: it supports CUDA {cuda}", driver=target.driver, cuda=pick.cuda or "?"
        )
    elif branch is not None and branch.kind == "long term":
        yield say(
            "of the driver branches that support these GPUs, {branch} is supported longest",
            branch=branch.branch,
        )
    if way is not None and not stays(target, pick) and target.virtual not in IN_WINDOWS:
        yield from _of_packages(target, way, chips=chips)
    if pick.no_kernels_for is not None:
        yield say(
            "it then compiles PTX at first start, for half an hour, or stops with "
            "CUDA_ERROR_INVALID_PTX; torch and jax have kernels for this GPU"
        )
    if branch is not None:
        yield from _of_kernel(target, chips=chips)
    if pick.cuda and not pick.toolkit:
        yield say("the wheels ship their own CUDA libraries: no toolkit needed")


def _of_kernel(target: Target, *, chips: tuple[Capability, ...]) -> Iterator[Sentence]:
    """What a kernel means that is too old for the open module."""
    release = release_of(target.os_id, target.os_version)
    if release is None or release.kernel >= OPEN_KERNEL or min(chips, default=OPEN_FROM) < OPEN_FROM:
        return
    needs: dict[str, object] = {
        "least": written(OPEN_KERNEL),
        "kernel": written(release.kernel),
        "system": target.os_name or target.os_id,
    }
    if takes_open(target):
        yield say(
            "these GPUs need the open kernel module, which needs kernel {least} or newer; {system} has "
            "{kernel}: upgrade the system first",
            **needs,
        )
    else:
        yield say(
            "the open kernel module needs kernel {least} or newer; {system} has {kernel}: use the "
            "proprietary one",
            **needs,
        )


def _of_packages(target: Target, way: DriverPackages, *, chips: tuple[Capability, ...]) -> Iterator[Sentence]:
    """What is worth knowing of the driver's packages before they are installed."""
    if way.worth is not None:
        yield way.worth
    builds = steps.signs_itself(way)
    if target.secure_boot and not builds:
        yield say("the distribution signs these modules: Secure Boot may stay on")
    elif target.secure_boot is None and builds:
        yield say(
            "if `mokutil --sb-state` reports Secure Boot on, enrol the module's key before you restart: "
            "sudo mokutil --import {key}",
            key=steps.key_of(way),
        )
    if target.switched and not target.racked and chips and max(chips) >= OPEN_ONLY_FROM:
        yield say("NVSwitches of this generation also need NVIDIA's nvlsm and the ib_umad module")


def glibc_notes(
    wanted: list[Pick], pick: Pick | None, *, release: SystemRelease | None
) -> Iterator[Sentence]:
    """Said where the set that was wanted does not install on this system's C library."""
    if not wanted or wanted[0] is pick or release is None or installs_on(wanted[0], release):
        return
    first = wanted[0]
    yield say(
        "{name} {version} needs glibc {floor}; {system} has {glibc}",
        name=first.name,
        version=first.version,
        floor=written(first.least_glibc or ()),
        system=f"{release.os[0] if len(release.os) == 1 else 'EL'} {release.version}",
        glibc=written(release.glibc),
    )
    if first.image is not None:
        yield say("in a container it runs: {image}", image=first.image)
    else:
        yield say("--docker writes a container that runs {version}", version=first.version)


def newer(installed: Installed, pick: Pick | None) -> Iterator[Sentence]:
    """Said where the tables hold a newer one than what is there."""
    if pick is not None and not f"{installed.version}.".startswith(f"{pick.version}."):
        yield say(
            'newest fitting version: {name} {version}; --framework "{name} {version}" shows how '
            "to install it",
            name=pick.name,
            version=pick.version,
        )


def unknown_of(
    target: Target, name: str, *, pick: Pick | None, ways: tuple[DriverPackages, ...]
) -> Iterator[Sentence]:
    """What could not be chosen, for this system."""
    if pick is None:
        chips = ", ".join(chip for _, chip in target.capabilities)
        yield say("no known version of {name} runs on {chips}", name=name, chips=chips or target.shown)
    if target.os_id is None:
        yield say('operating system unknown: pass for example --os "ubuntu 24.04" to get the driver packages')
    elif not ways and target.virtual not in IN_WINDOWS:
        text = target.os_name or target.os_id
        yield say(
            "driver packages for {system} ({arch}) are unknown",
            system=text,
            arch=target.arch or "x86_64",
        )
    if target.arch in ARM:
        yield _of_arm(target.arch, pick)


def _of_arm(arch: str | None, pick: Pick | None) -> Sentence:
    """The package index serves CUDA for this processor from one release of torch on."""
    if pick is None or pick.torch is None:
        return say("the wheel data is for x86-64; {arch} may differ", arch=arch)
    if pick.index is None and version_of(pick.torch) < _CUDA_ON_ARM:
        return say(
            "for {arch}, PyPI serves torch {torch} without CUDA: use PyTorch's own index",
            arch=arch,
            torch=pick.torch,
        )
    return say(
        "torch for {arch} is on the same index with the same CUDA; which GPUs it has kernels "
        "for is not known: verify",
        arch=arch,
    )


def without_package(
    target: Target, pick: Pick, *, ways: tuple[DriverPackages, ...], toolkit: str | None
) -> Iterator[Sentence]:
    """What the set needs and no package of the tables brings."""
    system = target.os_name or target.os_id or say("this system")
    way = driver_way(target, ways, is_open=takes_open(target))
    if ways and target.virtual not in IN_WINDOWS and not stays(target, pick):
        if way is None:
            yield _no_driver(target, system)
        elif target.switched and not way.fabric_packages:
            yield say("the fabric manager package on {system} is unknown", system=system)
    if toolkit is not None and steps.toolkit_way(ways, toolkit) is None:
        yield say(
            "building it needs CUDA toolkit {version}; its package for {system} is unknown",
            version=toolkit, system=system,
        )  # fmt: skip


def _no_driver(target: Target, system: str | Sentence) -> Sentence:
    chip, name = min(target.capabilities)
    last = last_branch(chip)
    if last is not None and not last.ended:
        return say("driver packages for {chip} on {system} are unknown", chip=name, system=system)
    return say(
        "no maintained driver branch supports {chip}; the last one was {branch}, with "
"unknown packages on {system}",
        chip=name, branch=last.branch if last else "?", system=system,
    )  # fmt: skip
