"""Software that goes together: CUDA toolkits, PyTorch and TensorFlow builds, for a driver and a chip.

Words may name a product ("torch", "cuda"), a version ("2.9", "cu128"), a driver ("driver 550.54")
and a chip ("4090"): what is shown then runs on both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rigright.base.errors import AskError
from rigright.base.page import Shown
from rigright.base.words import say
from rigright.facts.chips import Chip
from rigright.facts.find import find_chip
from rigright.facts.software import (
    Capability,
    Cuda,
    TensorFlow,
    TorchBuild,
    cuda_releases,
    driver_for,
    driver_of_chip,
    tensorflow_releases,
    torch_builds,
    version_of,
    written,
)
from rigright.verbs.look_up.fields import doubt, field, provenance
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery
from rigright.verbs.look_up.words import doubt_notes, source_shown

_PRODUCTS = {
    "cuda": "CUDA",
    "torch": "PyTorch",
    "pytorch": "PyTorch",
    "tensorflow": "TensorFlow",
    "tf": "TensorFlow",
}
_DRIVER = ("driver", "驱动")
_SMALL_WORDS = ("with", "on", "for", *_DRIVER)
_VERSION = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,4})+(?:u[0-9])?|cu[0-9]{2,3}")
_FIRST_DRIVER = 300  # drivers are counted in hundreds; no toolkit or framework is


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One thing to install, and what it asks for."""

    product: str
    version: str
    build: str | None  # "cu128"
    cuda: str
    least_driver: str  # on Linux
    capabilities: str | None  # what it has kernels for
    python: str | None
    source: str
    as_of: str
    confidence: str
    notes: str | None


Candidate = tuple[Release, Callable[[Capability], bool]]


def _find(asked: LookUpQuery) -> tuple[Release, ...]:
    words = [word.casefold() for word in " ".join(asked.words).split()]
    products = {_PRODUCTS[word] for word in words if word in _PRODUCTS}
    drivers = [word for before, word in zip(["", *words], words, strict=False) if _is_driver(before, word)]
    versions = [word for word in words if _VERSION.fullmatch(word) and word not in drivers]
    known = {*_PRODUCTS, *_SMALL_WORDS, *drivers, *versions}
    chip = " ".join(word for word in words if word not in known)
    capability = _capability_of(find_chip(chip)) if chip else None
    releases = tuple(
        release
        for release in (_on(*candidate, capability=capability) for candidate in _candidates())
        if release is not None
        and (not products or release.product in products)
        and all(word in {release.version, release.build, release.cuda} for word in versions)
        and all(version_of(release.least_driver) <= version_of(driver) for driver in drivers)
    )
    if not releases:
        raise AskError(say('no software in the table matches "{text}"', text=" ".join(asked.words)))
    return releases


def _on(
    release: Release, runs_on: Callable[[Capability], bool], *, capability: Capability | None
) -> Release | None:
    """The release with the driver that it and the chip both need, or None where it has no kernels for it."""
    if capability is None:
        return release
    if not runs_on(capability):
        return None
    driver = max(version_of(release.least_driver), driver_of_chip(capability) or (0,))
    return replace(release, least_driver=written(driver))


def _is_driver(before: str, word: str) -> bool:
    first = word.partition(".")[0]
    counts = first.isdecimal() and int(first[:6]) >= _FIRST_DRIVER
    return before in _DRIVER or bool(_VERSION.fullmatch(word) and counts)


def _capability_of(chip: Chip) -> Capability:
    if chip.compute_capability is None:
        raise AskError(say("{chip} does not run CUDA; these tables cover CUDA software only", chip=chip.name))
    return chip.compute_capability


def _candidates() -> Iterator[Candidate]:
    """Every release of the tables, and whether it runs on a chip."""
    for build in torch_builds():
        yield _torch(build), build.runs_on
    for framework in tensorflow_releases():
        yield _tensorflow(framework), lambda _: False  # its wheels' chips are in no table
    for toolkit in cuda_releases():
        yield _cuda(toolkit), toolkit.runs_on


def _torch(build: TorchBuild) -> Release:
    return Release(
        product="PyTorch",
        version=build.torch,
        build=build.build,
        cuda=written(build.cuda),
        least_driver=written(driver_for(build.cuda)),
        capabilities=" ".join(map(written, build.capabilities)) + (" +PTX" if build.ptx else ""),
        python=build.python,
        source=build.source,
        as_of=build.as_of,
        confidence=build.confidence,
        notes=build.notes,
    )


def _tensorflow(release: TensorFlow) -> Release:
    return Release(
        product="TensorFlow",
        version=release.tensorflow,
        build=None,
        cuda=release.cuda,
        least_driver=written(driver_for(version_of(release.cuda))),
        capabilities=None,
        python=release.python,
        source=release.source,
        as_of=release.as_of,
        confidence=release.confidence,
        notes=f"cuDNN {release.cudnn}; pip install {release.pip}",
    )


def _cuda(release: Cuda) -> Release:
    return Release(
        product="CUDA",
        version=release.cuda,
        build=None,
        cuda=written(release.version),
        least_driver=written(release.least_driver),
        capabilities=f"{written(release.cc_min)}-{written(release.cc_max)}",
        python=None,
        source=release.source,
        as_of=release.as_of,
        confidence=release.confidence,
        notes=release.notes,
    )


def _notes(_asked: LookUpQuery, kept: tuple[Release, ...]) -> tuple[Shown, ...]:
    return (
        say("driver: minimum on Linux; newer ones also work"),
        say("compute capability: included kernels; +PTX also runs on newer GPUs"),
        *doubt_notes(kept),
    )


KIND = ListingKind(
    record=Release,
    summary=say("CUDA, PyTorch, TensorFlow: required drivers and supported GPUs"),
    title=say("Compatible software"),
    fields=(
        field("product", say("product"), listed=True),
        field("version", say("version"), listed=True),
        field("build", say("build"), listed=True),
        doubt(),
        field("cuda", say("CUDA"), listed=True),
        field("least_driver", say("driver"), "driver", listed=True),
        field("capabilities", say("compute capability"), "cc", listed=True, flexible=True),
        field("python", say("Python"), listed=True),
        *provenance(),
    ),
    find=_find,
    notes=_notes,
    sources=source_shown,
)
