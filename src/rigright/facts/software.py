"""Software that goes together: drivers, CUDA toolkits, PyTorch and TensorFlow builds, chips.

NVIDIA's rules, which the functions here apply to the tables:
- a driver runs every CUDA toolkit whose least driver it reaches (backward compatibility);
- since CUDA 11 a driver runs every toolkit of its own major version from that version's first
  driver on (minor version compatibility);
- a kernel built for compute capability X.y runs on X.z with z >= y; PTX runs on anything newer.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Annotated, Literal

from rigright.base.errors import AskError
from rigright.base.loader import Readers, records
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say

Version = tuple[int, ...]
Capability = tuple[int, int]
WHEELS = "https://download.pytorch.org/whl"
_PYTHONS = re.compile(r"(\d{1,18})\.(\d{1,18})(?:-(\d{1,18})\.(\d{1,18}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuda:
    """One CUDA toolkit release."""

    cuda: str  # "12.9u1"
    driver_linux: Version  # the driver it came with
    driver_windows: Version | None
    driver_compat: Version  # the least driver with minor version compatibility
    gcc_min: int | None
    gcc_max: int | None
    cc_min: Capability
    cc_max: Capability
    source: str
    as_of: str
    confidence: str
    notes: str | None

    @property
    def version(self) -> Version:
        """Without the update: (12, 9)."""
        return version_of(self.cuda.partition("u")[0])

    @property
    def least_driver(self) -> Version:
        """The least Linux driver: its own, or an older one by minor version compatibility."""
        return min(self.driver_linux, self.driver_compat)

    def runs_on(self, capability: Capability) -> bool:
        """Whether it builds kernels for a chip of this compute capability."""
        return self.cc_min <= capability <= self.cc_max


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchBuild:
    """One PyTorch wheel for Linux on x86: a version built with one CUDA."""

    torch: str  # "2.9"
    build: str  # "cu128"
    python: str | None  # "3.10-3.14"
    capabilities: Annotated[tuple[Capability, ...], "cc"]  # what it has kernels for
    ptx: bool  # it also bears PTX of the newest, which newer chips translate
    source: str
    as_of: str
    confidence: str
    notes: str | None

    @property
    def cuda(self) -> Version:
        """The CUDA it is built with: cu128 -> (12, 8)."""
        digits = self.build.removeprefix("cu")
        return int(digits[:-1]), int(digits[-1])

    def runs_on(self, capability: Capability) -> bool:
        """Whether it has kernels a chip of this compute capability can run."""
        major, minor = capability
        built = any(has == major and at_most <= minor for has, at_most in self.capabilities)
        return built or (self.ptx and capability > max(self.capabilities))


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorFlow:
    """One TensorFlow release for GPUs."""

    tensorflow: str
    cuda: str
    cudnn: str
    cc_min: Capability  # the oldest chips its wheels have kernels for
    python: str
    pip: str
    source: str
    as_of: str
    confidence: str
    notes: str | None


@lru_cache(4096)
def version_of(text: str) -> Version:
    """The numbers of a version: 550.54.15 -> (550, 54, 15)."""
    parts = text.strip().split(".")
    if not all(part.isdecimal() and len(part) <= 6 for part in parts):
        raise AskError(say('cannot read "{text}" as a version; for example 550.54.15 or 12.8', text=text))
    return tuple(int(part) for part in parts)


def written(version: Version) -> str:
    """A version as people write it: (12, 8) -> 12.8; the third part of a driver has two digits."""
    return ".".join([*map(str, version[:2]), *(f"{part:02d}" for part in version[2:])])


def capability(text: str) -> Capability:
    """A compute capability as two numbers: 9.0 -> (9, 0)."""
    major, minor = version_of(text)
    return major, minor


NUMBERED: Readers = {"Version": version_of, "Capability": capability}  # how their cells are read


@cache
def cuda_releases() -> tuple[Cuda, ...]:
    """Every CUDA toolkit of the table, newest first."""
    return records("cuda.csv", Cuda, read=NUMBERED)


@cache
def torch_builds() -> tuple[TorchBuild, ...]:
    """Every PyTorch build of the table, newest first."""
    return records("torch.csv", TorchBuild, read=NUMBERED)


@cache
def tensorflow_releases() -> tuple[TensorFlow, ...]:
    """Every TensorFlow release of the table, newest first."""
    return records("tensorflow.csv", TensorFlow, read=NUMBERED)


def least_driver(cuda: str) -> Version:
    """The least Linux driver that runs programs built with a CUDA version that is in the table."""
    wanted = version_of(cuda.partition("u")[0])[:2]
    if wanted not in {release.version for release in cuda_releases()}:
        known = ", ".join(dict.fromkeys(release.cuda.partition("u")[0] for release in cuda_releases()))
        raise AskError(say('unknown CUDA version "{cuda}"; known: {known}', cuda=cuda, known=known))
    return driver_for(wanted)


@cache
def driver_for(cuda: Version) -> Version:
    """The least Linux driver for a CUDA version; an unlisted one asks for what the next does."""
    following = min(
        (release.version for release in cuda_releases() if release.version >= cuda),
        default=cuda_releases()[0].version,
    )
    return min(release.least_driver for release in cuda_releases() if release.version == following)


def driver_of_chip(capability: Capability) -> Version | None:
    """The first driver that knows chips of a compute capability: of the first CUDA that does."""
    knowing = [release.driver_linux for release in cuda_releases() if release.runs_on(capability)]
    return min(knowing, default=None)


def greatest_cuda(driver: str) -> Version | None:
    """The newest CUDA version a Linux driver was made for, as nvidia-smi shows it."""
    have = version_of(driver)
    return max((release.version for release in cuda_releases() if release.driver_linux <= have), default=None)


def runs_cuda(driver: str, cuda: Version) -> bool:
    """Whether a Linux driver runs programs built with a CUDA version."""
    return driver_for(cuda) <= version_of(driver)


def torch_for(capability: Capability, *, driver: str | None = None) -> tuple[TorchBuild, ...]:
    """The PyTorch builds with kernels for a chip, and that a driver runs on it where one is given."""
    known_from = driver_of_chip(capability)
    if driver is not None and known_from is not None and version_of(driver) < known_from:
        return ()
    return tuple(
        build
        for build in torch_builds()
        if build.runs_on(capability) and (driver is None or runs_cuda(driver, build.cuda))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineNeeds:
    """One version of an engine or library."""

    name: str
    version: str
    torch: str | None  # the release it pins, or the newest it was seen with
    build: str | None  # of torch, as the package index serves it
    python: str | None  # "3.11-3.14"
    cc_min: Capability | None
    cuda_min: Version | None  # the driver must speak it, or one of its major version
    pins: bool  # it runs with that torch alone
    toolkit: bool  # it builds kernels with nvcc
    pip: str | None
    image: str | None
    systems: tuple[str, ...] | None  # where pip finds it beside Linux: "windows", "macos"
    source: str
    as_of: str
    confidence: str
    notes: str | None

    def runs_on(self, capability: Capability) -> bool:
        """Whether its kernels run on a chip."""
        return self.cc_min is None or self.cc_min <= capability


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInstall:
    """What installs an engine where pip does not: a system's own manager, or the maker's script."""

    name: str
    systems: tuple[str, ...]
    vendors: tuple[str, ...]  # of the cards
    command: str
    notes: str
    notes_zh: str
    source: str
    as_of: str
    confidence: str


@cache
def engine_installs() -> tuple[EngineInstall, ...]:
    """Every row of the table."""
    return records("engine_installs.csv", EngineInstall, read=NUMBERED)


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchIndex:
    """One wheel index of PyTorch."""

    name: str  # "cu128", "rocm6.4", "cpu"
    kind: str
    torch_from: str | None
    torch_to: str | None
    source: str
    as_of: str
    confidence: str
    notes: str | None

    @property
    def url(self) -> str:
        """Where pip finds it."""
        return f"{WHEELS}/{self.name}"


@cache
def engine_needs() -> tuple[EngineNeeds, ...]:
    """Every version of the table, each engine's newest first."""
    return records("engine_needs.csv", EngineNeeds, read=NUMBERED)


@cache
def torch_indexes() -> dict[str, TorchIndex]:
    """Every wheel index that exists, by name."""
    return {torch_index.name: torch_index for torch_index in records("torch_indexes.csv", TorchIndex)}


def pythons_of(cell: str | None) -> tuple[Version, Version] | None:
    """First and last Python of "3.10-3.14"; of several stretches the newest."""
    matches = [match for part in (cell or "").split(",") if (match := _PYTHONS.fullmatch(part.strip()))]
    if not matches:
        return None
    first = int(matches[-1][1]), int(matches[-1][2])
    last = (int(matches[-1][3]), int(matches[-1][4])) if matches[-1][3] else first
    return first, last


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelFloor:
    """The C library that wheels of a package ask for, from a version on."""

    name: str
    version: Version
    glibc: Version


@cache
def _floors() -> tuple[WheelFloor, ...]:
    return records("wheel_floors.csv", WheelFloor, read=NUMBERED)


def glibc_floor(name: str, version: str) -> Version | None:
    """The least glibc that a package's wheels install on; None where no table tells."""
    numbers = version_of(_numbers(version) or "0")
    known = [
        (wheel_floor.version, wheel_floor.glibc)
        for wheel_floor in _floors()
        if wheel_floor.name == name and wheel_floor.version <= numbers
    ]
    return max(known)[1] if known else None


def _numbers(version: str) -> str:
    """1.3.0rc24 -> 1.3.0."""
    parts: list[str] = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        parts.append(digits)
    return ".".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class GonePackage:
    """A Python package that is discontinued or renamed, which guides of old still spread."""

    name: str
    harms: bool
    reason: Sentence
    instead: str | None


@cache
def packages_gone() -> dict[str, GonePackage]:
    """Every one of them by its name."""
    return {gone_package.name: gone_package for gone_package in records("packages_gone.csv", GonePackage)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowVariable:
    """A variable that slows programs down where it has that value."""

    name: str
    value: str
    where: str  # it slows: "programs"; collectives of any "cards", or over "nvlink", "no_nvlink", "rdma"
    severity: Literal["note", "warning", "fault"]
    why: Sentence


@cache
def slowing_variables() -> tuple[SlowVariable, ...]:
    """Every one of them."""
    return records("slow_variables.csv", SlowVariable)
