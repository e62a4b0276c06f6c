"""Drivers: NVIDIA's branches, the packages of all makers that install them, and releases of systems."""

from __future__ import annotations

import re
from functools import cache

from rigright.base.loader import Readers, records
from rigright.base.record import dataclass
from rigright.base.words import Sentence
from rigright.facts.software import NUMBERED, Capability, Version, version_of

OPEN_FROM: Capability = (7, 5)  # Turing: open kernel modules need its system processor
OPEN_ONLY_FROM: Capability = (10, 0)  # Blackwell, and Grace machines, run on open modules alone
OPEN_KERNEL: Version = (4, 15)  # the least kernel of the open modules, README of 580.105.08
REPOS = "https://developer.download.nvidia.com/compute/cuda/repos"
INSTALL = {
    "apt": "apt-get install -y",
    "dnf": "dnf install -y",
    "dnf5": "dnf install -y",
    "zypper": "zypper --non-interactive install",
}
ARM = ("aarch64", "arm64")
X86 = (None, "x86_64", "amd64")
KEYRING = "cuda-keyring_1.1-1_all.deb"
_WORD = re.compile(r"(?:\$\([^()]*\)|\S)+")  # $(uname -r) is no end of a word


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One branch of the driver: 580 of 580.95.05."""

    branch: int
    kind: str  # "long term", "production", "new feature", "legacy"
    ends: str | None  # "2028-06"
    ended: bool  # no fixes any more, whether or not the month is known
    cc_min: Capability  # the oldest chips it knows
    source: str
    as_of: str
    confidence: str
    notes: str | None

    def has_ended(self, today: str) -> bool:
        """Whether it gets no more fixes on a day."""
        return self.ended if self.ends is None else self.ends < today[: len(self.ends)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverPackages:
    """How one distribution installs a branch."""

    os: tuple[str, ...]  # ids of /etc/os-release
    versions: tuple[str, ...] = ()  # none: it has no versions, it rolls
    archs: tuple[str, ...]  # "x86_64", "aarch64"
    manager: str  # "apt", "dnf", "dnf5", "zypper"
    branch: int
    keeps: str | None  # what holds the branch, where no package does: "stream", "lock"
    before: tuple[str, ...] = ()  # repositories' packages that the driver's packages lean on
    repo: str | None  # NVIDIA's repository for it, by name or address; None: the distribution's own
    open_packages: tuple[str, ...] = ()
    closed_packages: tuple[str, ...] = ()
    fabric_packages: tuple[str, ...] = ()
    imex_packages: tuple[str, ...] = ()  # what lets trays of a rack share memory over NVLink
    headers: tuple[str, ...] = ()
    signed_modules: (
        str | None
    )  # the distribution's own, built and signed for a kernel; {kind}: "580-server-open"
    toolkit_packages: str | None  # with {cuda} for "13-0"
    toolkit_from: Version | None  # the oldest toolkit of the repository
    worth: Sentence | None  # knowing before it is installed
    pythons: tuple[
        str, ...
    ] = ()  # the Python that comes with a version, or is its newest package: "24.04=3.12"
    source: str
    as_of: str
    confidence: str
    notes: str | None

    def repo_name(self, os_version: str | None) -> str | None:
        """What NVIDIA calls its repository for a version of the distribution."""
        names = _names(os_version)  # of the row and not of the machine: it becomes part of a line to type
        version = next((text for text in self.versions if text in names), "")
        return self.repo.format(version=version) if self.repo else None

    def repo_url(self, os_version: str | None, arch: str | None) -> str | None:
        """Where its repository lies."""
        name = self.repo_name(os_version)
        if name is None or "://" in name:
            return name
        return f"{REPOS}/{name}/{'sbsa' if arch in ARM else 'x86_64'}"

    def install(self, packages: tuple[str, ...]) -> str:
        """The line that installs packages of the system."""
        return f"{INSTALL[self.manager]} {' '.join(packages)}"

    def driver(self, *, is_open: bool) -> tuple[str, ...]:
        """The packages of the driver with one kind of kernel module; none: they are not known."""
        return self.open_packages if is_open else self.closed_packages

    def signed(self, *, is_open: bool) -> str | None:
        """The distribution's package of modules that are built and signed already."""
        named = self.driver(is_open=is_open)
        kind = named[0].removeprefix("nvidia-driver-") if named else ""
        return self.signed_modules.format(kind=kind) if self.signed_modules and kind else None

    def toolkit_package(self, version: str) -> str | None:
        """The package of a CUDA toolkit; None where the repository holds none of that age."""
        if self.toolkit_packages is None or version_of(version) < (self.toolkit_from or ()):
            return None
        return self.toolkit_packages.format(cuda="-".join(version.split(".")[:2]))

    def python_of(self, os_version: str) -> str | None:
        """The Python of a version of the distribution."""
        fields = dict(python.split("=") for python in self.pythons)
        return fields.get(os_version) or fields.get(os_version.partition(".")[0])


def words_of(cell: str) -> tuple[str, ...]:
    """The words of a cell."""
    return tuple(_WORD.findall(cell))


_READ: Readers = {**NUMBERED, "tuple[str, ...]": words_of}


@cache
def branches() -> dict[int, Branch]:
    """Every branch of the table, newest first."""
    return {branch.branch: branch for branch in records("driver_branches.csv", Branch, read=_READ)}


def branch_of(driver: str) -> Branch | None:
    """The branch a driver belongs to: 580.95.05 -> 580; a beta of a branch is counted to the one before."""
    first = version_of(driver)[0]
    known = [branch for branch in branches() if branch <= first]
    return branches()[max(known)] if known else None


def newest_branch(capability: Capability, *, today: str) -> Branch | None:
    """The branch to install for a chip: long term before production, of equals the newest."""
    fit = [
        branch
        for branch in branches().values()
        if branch.cc_min <= capability and not branch.has_ended(today)
    ]
    kept = [branch for branch in fit if branch.kind == "long term"] or fit
    return max(kept, key=lambda branch: branch.branch, default=None)


def last_branch(capability: Capability) -> Branch | None:
    """The last branch that knows a chip."""
    return max(
        (branch for branch in branches().values() if branch.cc_min <= capability),
        key=lambda branch: branch.branch,
        default=None,
    )


@cache
def driver_packages() -> tuple[DriverPackages, ...]:
    """Every way of the table; a distribution's own packages before NVIDIA's repository."""
    return records("driver_packages.csv", DriverPackages, read=_READ)


def packages_for(
    os_id: str, os_version: str | None, *, arch: str | None = None
) -> tuple[DriverPackages, ...]:
    """The ways that fit a system and processor: 24.04 of Ubuntu, 9 of 9.4; without one, x86-64."""
    named = _names(os_version)
    machine = "aarch64" if arch in ARM else "x86_64" if arch in X86 else arch
    return tuple(
        driver_package
        for driver_package in driver_packages()
        if os_id in driver_package.os
        and machine in driver_package.archs
        and (not driver_package.versions or named & set(driver_package.versions))
    )


def _names(os_version: str | None) -> set[str | None]:
    """What a version of a system goes by: 9.4 is a 9 as well."""
    return {os_version, (os_version or "").partition(".")[0]}


@dataclass(frozen=True, slots=True, kw_only=True)
class MakerPackages:
    """What one version of a distribution installs for one maker's cards."""

    vendor: str  # "amd", "intel"
    os: str  # id of /etc/os-release
    versions: tuple[str, ...]
    release: str | None  # of the maker's software: "7.2.4"
    fetch: str | None  # a package that adds the maker's repository
    ppa: str | None  # or one of Ubuntu's personal archives
    headers: tuple[str, ...] = ()
    packages: tuple[str, ...]
    groups: tuple[str, ...]  # whose members may use the cards
    source: str
    as_of: str
    confidence: str
    notes: str | None


@cache
def maker_packages() -> tuple[MakerPackages, ...]:
    """Every way of the table."""
    return records("maker_packages.csv", MakerPackages, read=_READ)


def maker_way(vendor: str, *, os_id: str | None, os_version: str | None) -> MakerPackages | None:
    """The way that fits a system."""
    return next(
        (
            maker_package
            for maker_package in maker_packages()
            if maker_package.vendor == vendor
            and maker_package.os == os_id
            and os_version in maker_package.versions
        ),
        None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRelease:
    """One release of a distribution."""

    os: tuple[str, ...]  # ids of /etc/os-release
    version: str
    glibc: Version
    kernel: Version  # the one it came with
    python: Version  # what `python3` is there
    source: str
    as_of: str


@cache
def _releases() -> tuple[SystemRelease, ...]:
    return records("systems.csv", SystemRelease, read=_READ)


def release_of(os_id: str | None, os_version: str | None) -> SystemRelease | None:
    """The release of a system: 7 of 7.9."""
    names = {os_version, (os_version or "").partition(".")[0]}
    return next(
        (
            system_release
            for system_release in _releases()
            if os_id in system_release.os and system_release.version in names
        ),
        None,
    )
