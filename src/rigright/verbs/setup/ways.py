"""How a system installs NVIDIA's driver and toolkit, and whether the driver that is there may stay."""

from __future__ import annotations

import time

from rigright.facts.drivers import (
    OPEN_FROM,
    OPEN_KERNEL,
    OPEN_ONLY_FROM,
    DriverPackages,
    SystemRelease,
    branch_of,
    branches,
    packages_for,
    release_of,
)
from rigright.facts.software import version_of, written
from rigright.verbs.setup.set_up import Pick, Target
from rigright.verbs.setup.target import OF_WSL, WSL

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
