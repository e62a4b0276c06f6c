"""Which versions go together: an engine or framework, torch, CUDA, Python, on these chips and this driver."""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rigright.base.errors import AskError, RigError, maybe
from rigright.base.everyday import words_of
from rigright.base.page import Shown
from rigright.base.record import Inner, derived
from rigright.base.words import Sentence, say
from rigright.facts.chips import Chip
from rigright.facts.drivers import newest_branch
from rigright.facts.engines import find_engine
from rigright.facts.software import (
    Capability,
    EngineNeeds,
    TensorFlow,
    TorchBuild,
    Version,
    cuda_releases,
    driver_for,
    driver_of_chip,
    engine_installs,
    engine_needs,
    glibc_floor,
    greatest_cuda,
    pythons_of,
    runs_cuda,
    tensorflow_releases,
    torch_builds,
    torch_indexes,
    version_of,
    written,
)
from rigright.verbs.machine_words import machine_in

WINDOWS, MACOS = "windows", "macos"  # systems that /etc/os-release does not name


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The machine that software is chosen for; None is not known."""

    shown: Inner[Sentence | str]  # "2x GeForce RTX 4090"
    vendors: Inner[tuple[str, ...]] = ()
    capabilities: Inner[tuple[tuple[tuple[int, int], str], ...]] = ()  # compute capability -> a chip of it
    chips: Inner[tuple[Chip, ...]] = ()  # each kind once
    embedded: Inner[bool] = False  # a module with a system of its own: Jetson
    cards: Inner[int] = 1
    switched: Inner[bool] = False  # its cards sit behind NVSwitches
    racked: Inner[bool] = False  # one tray of a rack whose cards share one NVLink domain
    os_id: str | None = None  # of the system: "ubuntu"
    os_version: str | None = None  # "24.04"
    os_name: Inner[str | None] = None
    arch: str | None = None
    virtual: str | None = None
    container: str | None = None
    driver: Inner[str | None] = None  # loaded now
    open_kernel: Inner[bool | None] = None
    secure_boot: Inner[bool | None] = None
    seen: Inner[bool] = False  # a machine that was read, not one that was named
    by_root: Inner[bool] = False  # who asks is root on it already

    @property
    def capability_names(self) -> tuple[str, ...]:
        """Compute capabilities of the cards: "9.0"."""
        return tuple(".".join(map(str, capability)) for capability, _ in self.capabilities)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """One set that goes together."""

    name: str  # what it is: `vllm`, `torch` ...
    version: str
    torch: str | None = None  # version of PyTorch
    build: str | None = None
    index: str | None = None  # the wheel index to take torch from; None: the package index itself
    pythons: str | None = None  # "3.10-3.14"
    cuda: str | None = None  # version that it is built for
    least_driver: str | None = None  # that it runs with
    pip: tuple[str, ...] = ()  # packages, as pip takes them
    image: str | None = None  # of a container
    installer: str | None = None  # what installs it, where pip does not: "brew", "winget"
    toolkit: Inner[bool] = False
    source: str = ""
    as_of: str = ""
    confidence: str = ""
    notes: Inner[str | None] = None
    least_glibc: Inner[tuple[int, ...] | None] = None  # the least that its wheels install on
    no_kernels_for: str | None = None  # a chip that its CUDA has no kernels for

    @derived
    def glibc(self) -> str | None:
        """The oldest C library that its wheels install on."""
        return None if self.least_glibc is None else ".".join(map(str, self.least_glibc))


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupStep:
    """One step: what it does, why, and its commands; without commands it is done by hand."""

    title: Sentence  # what it does
    why: Sentence  # what for
    commands: tuple[str, ...] = ()  # none: it is done by hand
    as_root: bool = False  # whether it needs root
    disturbs: bool = False  # whether it stops work that runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What was asked for, as a Python of the machine has it."""

    name: str
    version: str
    build: str | None
    python: str  # its path


@dataclass(frozen=True, slots=True, kw_only=True)
class SetUp:
    """The answer."""

    system: Target
    pick: Pick | None  # None: nothing in the tables fits
    instead: Sentence | None = None  # why it is not the version that was asked for
    already: Installed | None = None  # it is there and goes together: nothing is to be done
    without_new_driver: Pick | None = (
        None  # the newest set that the driver of now runs, where it is another one
    )
    driver_branch: int | None = None  # of the driver
    open_kernel: bool | None = None
    python: str | None = None  # the one to use
    toolkit: str | None = None  # CUDA toolkit to install, "13.0"
    steps: tuple[SetupStep, ...] = ()
    docker_steps: tuple[SetupStep, ...] = ()
    notes: tuple[Sentence, ...] = ()
    contained: Inner[Pick | None] = (
        None  # what a container runs, where the system's C library is too old for it
    )
    split_over: int | None = None  # how many cards the plan splits a model over
    unknown: tuple[Sentence, ...] = ()  # what no table tells

    @derived
    def machine(self) -> Shown:
        """What it is."""
        return self.system.shown

    @derived
    def vendors(self) -> tuple[str, ...]:
        """Who made the cards."""
        return self.system.vendors

    @derived
    def capabilities(self) -> tuple[str, ...]:
        """Compute capabilities of the cards."""
        return self.system.capability_names

    @derived
    def driver_now(self) -> str | None:
        """Loaded now."""
        return self.system.driver


TORCH, TENSORFLOW = "torch", "tensorflow"
_INSTALL = re.compile(r"\A(?:安装|装|配置|配|install(?:ing)?\Z)", re.IGNORECASE)
_BETWEEN = {"on", "for", "with", "and", "a", "the"}
_CUDA = re.compile(r"(?:\b(?:with|for|on)|[+,/])?\s*\b(?:cuda|cu)[ -]?(1[0-3])(?:\.?(\d))?\b", re.IGNORECASE)
_VERSION = re.compile(r"(?:==|\s)v?(\d[\w.]*)\s*\Z")
_RANKS = {"high": 0, "med": 1, "low": 2}
_LIKED_PYTHON = (3, 12)


def known_names() -> tuple[str, ...]:
    """All that can be set up."""
    needs, installs = (
        (engine_need.name for engine_need in engine_needs()),
        (engine_install.name for engine_install in engine_installs()),
    )
    return tuple(dict.fromkeys((TORCH, TENSORFLOW, *needs, *installs)))


def _bare_name(asked: str) -> str:
    """The name in a question such as "torch 2.9" or "vllm==0.19.1"."""
    word = _CUDA.sub("", asked).strip().lower() or TORCH
    match = _VERSION.search(word)
    return (word[: match.start()] if match else word).strip()


def asked_version(asked: str | None) -> str | None:
    """The version in such a question."""
    match = _VERSION.search(_CUDA.sub("", asked or ""))
    return match[1] if match else None


def asked_cuda(asked: str | None) -> str | None:
    """The CUDA in such a question: "torch cu124", "cuda 12.4"; alone it is asked of PyTorch."""
    match = _CUDA.search(asked or "")
    return None if match is None else ".".join(filter(None, match.groups()))


def for_cuda(picks: Sequence[Pick], cuda: str) -> list[Pick]:
    """The sets that are built for it; where there are none, those for the nearest."""
    able = [pick for pick in picks if f"{pick.cuda}.".startswith(f"{cuda}.")]
    known = [pick.cuda for pick in picks if pick.cuda is not None]
    if able or not known:
        return able
    return for_cuda(picks, min(known, key=lambda other: abs(_height(other) - _height(cuda))))


def _height(cuda: str) -> int:
    """Where a version stands among others: 124 for 12.4."""
    major, minor, *_ = (*_order(cuda), 0)
    return 10 * major + minor


def _is_of(release: str, version: str) -> bool:
    """Whether a release is of the version that was asked for: 2.14.0 of 2.14; a line, 2.9, of 2.9.1."""
    return f"{release}.".startswith(f"{version}.") or f"{version}.".startswith(f"{release}.")


def of_version(picks: Sequence[Pick], version: str) -> list[Pick]:
    """The sets of this version."""
    return [pick for pick in picks if _is_of(pick.version, version)]


def nearest(picks: Sequence[Pick], version: str) -> list[Pick]:
    """Where there is none: the first release after it and those beside it, else the newest."""
    later = [pick for pick in picks if _order(pick.version) > _order(version)]
    first = min(later, key=lambda pick: _order(pick.version), default=next(iter(picks), None))
    return [] if first is None else [pick for pick in picks if pick.version == first.version]


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d{1,6}", version)))


def is_known(name: str, version: str) -> bool:
    """Whether the tables hold such a version, whatever it runs on."""
    if name == TORCH:
        releases = [torch_build.torch for torch_build in torch_builds()]
    elif name == TENSORFLOW:
        releases = [tensor_flow.tensorflow for tensor_flow in tensorflow_releases()]
    else:
        releases = [engine_need.version for engine_need in engine_needs() if engine_need.name == name]
    return any(_is_of(release, version) for release in releases)


def find_name(asked: str) -> str:
    """An engine or framework by a loose name, with or without a version."""
    word = _bare_name(asked)
    name = words_of("software").get(word, word)
    if name in known_names():
        return name
    try:
        engine = find_engine(word).id
    except RigError:
        engine = ""
    if engine in known_names():
        return engine
    near = difflib.get_close_matches(name, known_names(), n=3) or known_names()
    raise AskError(
        say('no requirements known for "{asked}"; known: {known}', asked=asked, known=", ".join(near))
    )


def software_and_machine(words: Sequence[str]) -> tuple[str | None, str | None]:
    """A framework or engine and the GPUs for it, as one types them in any order: "vllm 5090", "5090"."""
    spoken = [_INSTALL.sub("", word) for text in words for word in text.split()]
    spoken = [word for word in spoken if word and word.lower() not in _BETWEEN]
    for end in range(1, len(spoken) + 1):
        for software, machine in ((spoken[:end], spoken[end:]), (spoken[-end:], spoken[:-end])):
            if _is_software(" ".join(software)) and (not machine or machine_in(machine) == machine):
                return " ".join(software), " ".join(machine) or None
    return None, " ".join(words) or None


def _is_software(text: str) -> bool:
    return maybe(lambda: bool(find_name(text))) or False


def picks(name: str, chips: tuple[Capability, ...], *, driver: str | None = None) -> Iterator[Pick]:
    """Sets with kernels for all chips, that the driver runs where one is given; newest first."""
    if name == TORCH:
        result: Iterator[Pick] = (_of_build(build) for build in builds(chips))
    elif name == TENSORFLOW:
        result = (
            _of_tensorflow(row) for row in tensorflow_releases() if all(row.cc_min <= chip for chip in chips)
        )
    else:
        rows = (row for row in engine_needs() if row.name == name and all(map(row.runs_on, chips)))
        result = (pick for row in rows for pick in _of_row(row, chips))
    for pick in result:
        if driver is None or pick.cuda is None or runs_cuda(driver, version_of(pick.cuda)):
            # with the least driver that its CUDA and the chips ask for
            asked = [driver_for(version_of(pick.cuda))] if pick.cuda else []
            asked += [first for chip in chips if (first := driver_of_chip(chip)) is not None]
            yield replace(
                pick,
                least_driver=written(max(asked)) if asked else None,
                least_glibc=_floor(pick),
                no_kernels_for=_lacking(pick, chips),
            )


def _floor(pick: Pick) -> Version | None:
    """The least glibc that its wheels, and torch's, install on."""
    if not pick.pip:
        return None
    numbers = [glibc_floor(pick.name, pick.version), glibc_floor(TORCH, pick.torch) if pick.torch else None]
    return max((item for item in numbers if item is not None), default=None)


def _lacking(pick: Pick, chips: tuple[Capability, ...]) -> str | None:
    """The capability that its CUDA is too old to build kernels for, where no list of kernels is known."""
    if pick.torch is not None or pick.cuda is None:
        return None
    known = [cuda for cuda in cuda_releases() if cuda.version == version_of(pick.cuda)]
    old = [chip for chip in chips if known and not any(cuda.runs_on(chip) for cuda in known)]
    return written(max(old)) if old else None


def builds(chips: tuple[Capability, ...]) -> list[TorchBuild]:
    """PyTorch builds with kernels for all chips: newest release first, of one release the surest."""
    releases = list(dict.fromkeys(build.torch for build in torch_builds()))
    fit = [build for build in torch_builds() if build.confidence != "low" and all(map(build.runs_on, chips))]
    return sorted(fit, key=lambda build: (releases.index(build.torch), _RANKS[build.confidence]))


def _of_build(build: TorchBuild) -> Pick:
    index = torch_indexes().get(build.build)
    return Pick(
        name=TORCH,
        version=build.torch,
        torch=build.torch,
        build=build.build,
        index=index.url if index else None,
        pythons=build.python,
        cuda=written(build.cuda),
        pip=(f"torch=={build.torch}.*", "torchvision"),
        source=build.source,
        as_of=build.as_of,
        confidence=build.confidence,
        notes=build.notes,
    )


def _of_tensorflow(row: TensorFlow) -> Pick:
    return Pick(
        name=TENSORFLOW, version=row.tensorflow, pythons=row.python, cuda=row.cuda, pip=(row.pip,),
        source=row.source, as_of=row.as_of, confidence=row.confidence, notes=row.notes,
    )  # fmt: skip


def _of_row(row: EngineNeeds, chips: tuple[Capability, ...]) -> Iterator[Pick]:
    """The set of one version; nothing where the torch it pins has no kernels for the chips."""
    torch = _torch_of(row, chips)
    if row.torch is not None and torch is None:
        return
    texts = tuple((row.pip or "").split())
    pip = texts if row.pins or torch is None or not texts else (f"torch=={torch.torch}.*", *texts)
    from_index = torch is not None and any(text.startswith("torch==") for text in pip)
    index = torch_indexes().get(torch.build) if torch and from_index else None
    own = written(row.cuda_min) if row.cuda_min else None
    yield Pick(
        name=row.name,
        version=row.version,
        torch=torch.torch if torch else None,
        build=torch.build if torch else None,
        index=index.url if index else None,
        pythons=row.python or (torch.python if torch else None),
        cuda=written(torch.cuda) if torch else own,
        pip=pip,
        image=row.image,
        toolkit=row.toolkit,
        source=row.source,
        as_of=row.as_of,
        confidence=row.confidence,
        notes=row.notes,
    )


def _torch_of(row: EngineNeeds, chips: tuple[Capability, ...]) -> TorchBuild | None:
    """The build it runs with: the one it pins, else the newest that fits.

    What is built on the spot is built with the toolkit of torch's CUDA: no newer one than the driver's.
    """
    if row.torch is None:
        return None
    if not row.pins:
        most = _newest_cuda(chips) if row.toolkit else None
        return next(
            (torch_build for torch_build in builds(chips) if most is None or torch_build.cuda <= most), None
        )
    fit = [build for build in torch_builds() if build.torch == row.torch and all(map(build.runs_on, chips))]
    return next((build for build in fit if build.build == row.build), None)


def _newest_cuda(chips: tuple[Capability, ...]) -> Version | None:
    """The CUDA of the driver that these chips get."""
    branch = newest_branch(min(chips), today=time.strftime("%Y-%m-%d")) if chips else None
    return greatest_cuda(f"{branch.branch}.999") if branch else None


def toolkit_for(branch: int | None, chips: tuple[Capability, ...], *, cuda: str | None) -> str | None:
    """The CUDA toolkit to build with: that of torch, else the newest of the driver that knows the chips."""
    if cuda is not None:
        return cuda
    most = greatest_cuda(f"{branch}.999") if branch is not None else None
    fit = [
        cuda_release
        for cuda_release in cuda_releases()
        if all(map(cuda_release.runs_on, chips)) and (most is None or cuda_release.version <= most)
    ]
    return written(fit[0].version) if fit else None


def python_for(text: str | None, *, system: str | None) -> str | None:
    """The Python to use: the system's own where it fits, else a middle one of the range."""
    span = pythons_of(text)
    if span is None:
        return system
    if system is not None and span[0] <= version_of(system)[:2] <= span[1]:
        return system
    liked = min(max(_LIKED_PYTHON, span[0]), span[1])
    return written(liked)
