"""Software that goes together: drivers, CUDA toolkits, PyTorch and TensorFlow builds, chips.

NVIDIA's rules, which the functions here apply to the tables:
- a driver runs every CUDA toolkit whose least driver it reaches (backward compatibility);
- since CUDA 11 a driver runs every toolkit of its own major version from that version's first
  driver on (minor version compatibility);
- a kernel built for compute capability X.y runs on X.z with z >= y; PTX runs on anything newer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

from rigright.base.errors import AskError
from rigright.base.tables import DATA, CellReader, read_rows, text, whole, yes
from rigright.base.words import say

Version = tuple[int, ...]
Capability = tuple[int, int]


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
    capabilities: tuple[Capability, ...]  # what it has kernels for
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
def version_of(said: str) -> Version:
    """The numbers of a version: 550.54.15 -> (550, 54, 15)."""
    parts = said.strip().split(".")
    if not all(part.isdecimal() and len(part) <= 6 for part in parts):
        raise AskError(say('cannot read "{text}" as a version; for example 550.54.15 or 12.8', text=said))
    return tuple(int(part) for part in parts)


def written(version: Version) -> str:
    """A version as people write it: (12, 8) -> 12.8; the third part of a driver has two digits."""
    return ".".join([*map(str, version[:2]), *(f"{part:02d}" for part in version[2:])])


def _capability(said: str) -> Capability:
    major, minor = version_of(said)
    return major, minor


_PROVENANCE = {"source": text, "as_of": text, "confidence": text, "notes": text}


@cache
def cuda_releases() -> tuple[Cuda, ...]:
    """Every CUDA toolkit of the table, newest first."""
    readers: dict[str, CellReader] = {
        "cuda": text,
        "driver_linux": version_of,
        "driver_windows": version_of,
        "driver_compat": version_of,
        "gcc_min": whole,
        "gcc_max": whole,
        "cc_min": _capability,
        "cc_max": _capability,
        **_PROVENANCE,
    }
    required = ("cuda", "driver_linux", "driver_compat", "cc_min", "cc_max", "source", "as_of", "confidence")
    return tuple(Cuda(**row) for row in read_rows(DATA / "cuda.csv", readers, required=required))


@cache
def torch_builds() -> tuple[TorchBuild, ...]:
    """Every PyTorch build of the table, newest first."""
    readers = {
        "torch": text,
        "build": text,
        "python": text,
        "cc": lambda cell: tuple(_capability(one) for one in cell.split()),
        "ptx": yes,
    } | _PROVENANCE
    required = ("torch", "build", "cc", "ptx", "source", "as_of", "confidence")
    rows = read_rows(DATA / "torch.csv", readers, required=required)
    return tuple(TorchBuild(capabilities=row.pop("cc"), **row) for row in rows)


@cache
def tensorflow_releases() -> tuple[TensorFlow, ...]:
    """Every TensorFlow release of the table, newest first."""
    words = dict.fromkeys(("tensorflow", "cuda", "cudnn", "python", "pip"), text)
    readers = words | {"cc_min": _capability} | _PROVENANCE
    required = tuple(column for column in readers if column != "notes")
    return tuple(TensorFlow(**row) for row in read_rows(DATA / "tensorflow.csv", readers, required=required))


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
