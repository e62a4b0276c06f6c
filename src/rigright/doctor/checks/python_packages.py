"""Python packages: obsolete, duplicate or clashing ones, and wheel indexes that do not exist."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise
from rigright.doctor.record import CheckInput, Fine, Verdict, check
from rigright.doctor.stack import pip
from rigright.doctor.torch_fit import best_build, index_of
from rigright.facts.software import packages_gone, torch_indexes
from rigright.machine.system import Python

_CLASH = (
    ("pynvml", "nvidia-ml-py"),
    ("onnxruntime", "onnxruntime-gpu"),
    ("opencv-python", "opencv-python-headless"),
    ("tensorflow", "tensorflow-gpu"),
    ("tensorflow", "tensorflow-cpu"),
    ("cupy-cuda11x", "cupy-cuda12x"),
    ("cupy-cuda12x", "cupy-cuda13x"),
)
_HARMLESS_SINCE = {"pynvml": 12}  # from this version on it brings no files of the other
_OF_CUDA = re.compile(r"nvidia-cu(?:dnn|blas|da-runtime)-cu(\d{2})")
INDEX = re.compile(r"download\.pytorch\.org/whl/(?:nightly/|test/)?([\w.]+)")
_CUDA_INDEX = re.compile(r"cu(\d{2,3})")


@check(say("obsolete Python packages"))
def packages_outdated(case: CheckInput) -> Iterator[Verdict]:
    """Installed packages that are discontinued, renamed or empty stubs.

    `pynvml` is a deprecated wrapper around nvidia-ml-py; `tensorflow-gpu` is a stub since 2.12;
    torchtext and others get no more releases. They still install, and then fail in odd ways or shadow
    their replacement.

    Note; warning for those that break others (a stub, a wrapper that shadows the real module). Source:
    data/packages_gone.csv and each package's own page.
    """
    for python in case.machine.software.pythons:
        if python.packages is None:
            continue
        # conda's own PyTorch is called so there
        gone = {
            item.name: item.version
            for item in python.packages
            if item.name in packages_gone() and not (python.kind == "conda" and item.name == "pytorch")
        }
        for package, version in gone.items():
            row = packages_gone()[package]
            yield advise(
                "python_packages.outdated",
                severity="warning" if row.harms else "note",
                about=python.path,
                python=python.path,
                package=package,
                version=version,
                reason=row.reason,
                instead=row.instead,
            )
        if not gone:
            yield Fine(says=say("{count} packages checked", count=len(python.packages)), about=python.path)


@check(say("duplicate or clashing Python packages"))
def packages_twice(case: CheckInput) -> Iterator[Verdict]:
    """Packages installed twice, or next to others that write the same files.

    Two copies of one package are left by a broken update: which one an import loads is chance. pynvml
    ships files of nvidia-ml-py; onnxruntime and onnxruntime-gpu, the three OpenCVs, and cupy for two
    CUDA versions share one directory: the last one installed wins, and removing one breaks the other.
    NVIDIA libraries for CUDA 11, 12 and 13 side by side mean frameworks for different CUDA versions in
    one environment: large, and a source of clashes.

    Warning: same files. Note: mixed CUDA versions. Source: the packages' own file lists; PyPI pages
    (recalled).
    """
    for python in case.machine.software.pythons:
        findings = [*_twice(python), *_same_files(python), *_mixed(python)]
        yield from findings
        if not findings and python.packages:
            yield Fine(says=say("{count} packages checked", count=len(python.packages)), about=python.path)


def _twice(python: Python) -> Iterator[Verdict]:
    """Two versions of one package; of the system's Python, one that the user's own folder hides is a note."""
    versions: dict[str, list[str]] = {}
    for package in python.packages or ():
        versions.setdefault(package.name, []).append(package.version or "?")
    for name, texts in sorted(versions.items()):
        if len(texts) > 1:
            hides = python.kind == "system" and len(set(texts)) == len(texts)
            yield advise(
                "python_packages.twice",
                severity="note" if hides else "warning",
                about=python.path,
                python=python.path,
                package=name,
                versions=", ".join(texts),
            )


def _same_files(python: Python) -> Iterator[Verdict]:
    versions = {package.name: package.version for package in python.packages or ()}
    for first, second in _CLASH:
        release = (versions.get(first) or "").partition(".")[0]
        harmless = _HARMLESS_SINCE.get(first)
        is_harmless = harmless is not None and release.isdecimal() and int(release) >= harmless
        if first in versions and second in versions and not is_harmless:
            yield advise(
                "python_packages.same_files",
                about=python.path,
                python=python.path,
                first=first,
                first_version=versions[first],
                second=second,
                second_version=versions[second],
            )


def _mixed(python: Python) -> Iterator[Verdict]:
    cudas = sorted(
        {match[1] for package in python.packages or () if (match := _OF_CUDA.fullmatch(package.name))}
    )
    if len(cudas) > 1:
        shown = {"cudas": ", ".join(cudas), "names": ", ".join(f"cu{cuda}" for cuda in cudas)}
        yield advise("python_packages.mixed_cudas", shown, about=python.path, python=python.path)


@check(say("PyTorch wheel index of pip"))
def pip_index(case: CheckInput) -> Iterator[Verdict]:
    """Whether pip is configured with wheel indexes that exist.

    PyTorch has an index for each CUDA version it is built with, and for no other: cu122, which guides
    name, never existed. With a missing index pip only reports that it found no version, or silently
    takes the build from PyPI.

    Warning: a PyTorch index that is not in our table. Source: data/torch_indexes.csv.
    """
    known = torch_indexes()
    newest = max((int(match[1]) for name in known if (match := _CUDA_INDEX.fullmatch(name))), default=0)
    for python in case.machine.software.pythons:
        for name in dict.fromkeys(INDEX.findall(python.index or "")):
            if name in known or not _CUDA_INDEX.fullmatch(name):
                yield Fine(says=say("{index} exists", index=name), about=python.path)
                continue
            url = index_of(best_build(case))
            yield advise(
                "python_packages.index",
                confidence="maybe" if int(name[2:]) > newest else "sure",
                about=python.path,
                python=python.path,
                index=name,
                told=python.index,
                names=", ".join(list(known)[:6]),
                set_index=pip(python, f"config set global.extra-index-url {url}") if url else None,
            )
