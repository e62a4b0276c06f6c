"""Which versions go together: an engine or framework, torch, CUDA, Python, on these chips and this driver."""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rigright.base.errors import AskError, RigError, maybe
from rigright.base.everyday import words_of
from rigright.base.words import say
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
from rigright.verbs.setup.set_up import Pick

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
