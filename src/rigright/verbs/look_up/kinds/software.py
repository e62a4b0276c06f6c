"""Software: CUDA, PyTorch and TensorFlow that go together, engines, weight formats, errors of the driver.

Words of `software` may name a product ("torch", "cuda"), a version ("2.9", "cu128"), a driver
("driver 550.54") and a chip ("4090"): what is shown then runs on both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rigright.base.errors import AskError, maybe
from rigright.base.words import say
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine, engines, find_engine
from rigright.facts.faults import Xid, xids
from rigright.facts.find import find_chip
from rigright.facts.formats import Format, GgufMix, find_format, formats, mixes
from rigright.facts.software import (
    Capability,
    Cuda,
    TensorFlow,
    TorchBuild,
    Version,
    cuda_releases,
    driver_for,
    driver_of_chip,
    tensorflow_releases,
    torch_builds,
    version_of,
    written,
)
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery, fields_of

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


def _find_software(asked: LookUpQuery) -> tuple[Release, ...]:
    words = asked.text.casefold().split()
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
        raise AskError(say('no software in the table matches "{text}"', text=asked.text))
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
        kernels = " ".join(map(written, build.capabilities)) + (" +PTX" if build.ptx else "")
        own = {"build": build.build, "python": build.python, "capabilities": kernels, "notes": build.notes}
        yield _release(build, "PyTorch", version=build.torch, cuda=build.cuda, **own), build.runs_on
    for row in tensorflow_releases():
        own = {"python": row.python, "notes": f"cuDNN {row.cudnn}; pip install {row.pip}"}
        made = _release(row, "TensorFlow", version=row.tensorflow, cuda=version_of(row.cuda), **own)
        yield made, lambda _: False  # its wheels' chips are in no table
    for kit in cuda_releases():
        own = {"capabilities": f"{written(kit.cc_min)}-{written(kit.cc_max)}", "notes": kit.notes}
        yield _release(kit, "CUDA", version=kit.cuda, cuda=kit.version, **own), kit.runs_on


def _release(
    row: TorchBuild | TensorFlow | Cuda, product: str, *, version: str, cuda: Version, **own: str | None
) -> Release:
    """A row of a table as a release."""
    least = row.least_driver if isinstance(row, Cuda) else driver_for(cuda)
    usual = dict.fromkeys(("build", "capabilities", "python", "notes"))
    return Release(
        product=product, version=version, cuda=written(cuda), least_driver=written(least),
        source=row.source, as_of=row.as_of, confidence=row.confidence, **usual | own,
    )  # fmt: skip


SOFTWARE = ListingKind(
    record=Release,
    title=say("Compatible software"),
    fields=fields_of("software"),
    records=lambda _: tuple(release for release, _ in _candidates()),
    find=_find_software,
    notes=lambda _asked, _kept: (
        say("driver: minimum on Linux; newer ones also work"),
        say("compute capability: included kernels; +PTX also runs on newer GPUs"),
    ),
)


def _steps(steps: tuple[tuple[float, int], ...] | None) -> str | None:
    """Defaults by the size of the card: "2048; from 70 GiB 8192"."""
    if steps is None:
        return None
    first, *others = steps
    return "; ".join([str(first[1]), *(f">= {least:g} GiB: {value}" for least, value in others)])


def budget_tok(engine: Engine) -> str | None:
    """How many tokens it takes in a step by default, and from which size of the card on."""
    return _steps(engine.budget_tok)


def max_seqs(engine: Engine) -> str | None:
    """How many sequences it takes by default, and from which size of the card on."""
    return _steps(engine.max_seqs)


def before(engine: Engine) -> tuple[str, ...]:
    """Older versions that the tables know too."""
    return tuple(row["version"] for row in engine.before)


ENGINES = ListingKind(
    record=Engine,
    title=say("Serving engines"),
    fields=fields_of("engines", laws={"budget_tok": budget_tok, "max_seqs": max_seqs, "before": before}),
    records=lambda _: tuple(engines().values()),
    find=lambda asked: (find_engine(asked.text),),
)


def _formats() -> tuple[Format | GgufMix, ...]:
    """Formats and mixes, the best quality first."""
    every: tuple[Format | GgufMix, ...] = (*formats().values(), *mixes().values())
    return tuple(sorted(every, key=lambda form: (form.loss_rank, -form.bits_per_weight)))


def _find_formats(asked: LookUpQuery) -> tuple[Format | GgufMix, ...]:
    exact, words = _exact(asked.text), asked.text.lower().split()
    near = tuple(
        form for form in _formats() if all(word in f"{form.id} {form.label}".lower() for word in words)
    )
    return near if near and exact is None else (exact or find_format(asked.text),)


def _exact(name: str) -> Format | GgufMix | None:
    return maybe(lambda: find_format(name))


FORMATS = ListingKind(
    record=Format | GgufMix,
    title=say("Weight formats, best quality first"),
    fields=fields_of("formats"),
    records=lambda _: _formats(),
    find=_find_formats,
    named=lambda asked: _exact(asked.text),
    notes=lambda _asked, _kept: (
        say("quality rank: by measured quality loss; 0 is lossless, equal ranks are equivalent"),
    ),
)


_MOST_DIGITS = 6  # of a code


def _find_xids(asked: LookUpQuery) -> tuple[Xid, ...]:
    """By codes; words of the meaning are looked for by the list."""
    codes = [word.lower().removeprefix("xid") for word in asked.words]
    if not all(code.isdecimal() and len(code) <= _MOST_DIGITS for code in codes):
        return ()
    missing = [code for code in codes if int(code) not in xids()]
    if missing:
        raise AskError(say("XID {codes}: unused or unknown", codes=", ".join(missing)))
    return tuple(xids()[int(code)] for code in codes)


def _named_xid(asked: LookUpQuery) -> Xid | None:
    """The code of "xid 79" or "Xid79"; a bare number names a code only where nothing else bears it."""
    code = "".join(asked.words).lower().replace(" ", "").removeprefix("xid")
    return xids().get(int(code)) if code.isdecimal() and len(code) <= _MOST_DIGITS else None


XIDS = ListingKind(
    record=Xid,
    title=say("XID codes of the NVIDIA driver"),
    fields=fields_of("xids"),
    records=lambda _: tuple(xids().values()),
    find=_find_xids,
    named=_named_xid,
)
