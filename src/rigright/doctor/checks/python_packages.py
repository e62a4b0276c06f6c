"""Packages of each Python: none outdated, none twice, from indexes that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.advice import advise
from rigright.doctor.record import Case, Fine, Verdict, check
from rigright.doctor.stack import pip
from rigright.doctor.torch_fit import best_build, index_of
from rigright.facts.engine_needs import torch_indexes
from rigright.machine.system import Python

GONE: dict[str, tuple[bool, Sentence, str | None]] = {  # name -> it does harm, why, what to install instead
    "pynvml": (
        False,
        say("a deprecated shell around nvidia-ml-py that warns at each import"),
        "nvidia-ml-py",
    ),
    "py3nvml": (True, say("no release since 2021; its module clashes with nvidia-ml-py"), "nvidia-ml-py"),
    "gputil": (False, say("no release since 2018; reads nvidia-smi's text"), "nvidia-ml-py"),
    "tensorflow-gpu": (True, say("a stub since 2.12 that installs nothing"), "tensorflow[and-cuda]"),
    "tf-nightly-gpu": (
        True,
        say("no longer built; the plain package has GPU support"),
        "tf-nightly[and-cuda]",
    ),
    "torchtext": (False, say("no release since 0.18: it does not load beside newer torch"), None),
    "torchdata": (False, say("its pipes were removed in 0.10"), None),
    "apex": (False, say("its mixed precision is deprecated: torch.amp does it"), None),
    "fairscale": (False, say("not maintained; FSDP is in torch"), None),
    "horovod": (False, say("no release since 2023"), None),
    "mxnet": (False, say("retired in 2023"), None),
    "auto-gptq": (False, say("archived; GPTQModel took its place"), "gptqmodel"),
    "autoawq": (False, say("archived; llm-compressor took its place"), "llmcompressor"),
    "pytorch": (True, say("not PyTorch: a name kept from misuse"), "torch"),
    "ctransformers": (False, say("no release since 2023"), "llama-cpp-python"),
}
CLASH = (
    ("pynvml", "nvidia-ml-py"),
    ("onnxruntime", "onnxruntime-gpu"),
    ("opencv-python", "opencv-python-headless"),
    ("tensorflow", "tensorflow-gpu"),
    ("tensorflow", "tensorflow-cpu"),
    ("cupy-cuda11x", "cupy-cuda12x"),
    ("cupy-cuda12x", "cupy-cuda13x"),
)
HARMLESS_SINCE = {"pynvml": 12}  # from this version on it brings no files of the other
OF_CUDA = re.compile(r"nvidia-cu(?:dnn|blas|da-runtime)-cu(\d{2})")
INDEX = re.compile(r"download\.pytorch\.org/whl/(?:nightly/|test/)?([\w.]+)")
CUDA_INDEX = re.compile(r"cu(\d{2,3})")


@check(say("no package is outdated or a stub"))
def packages_outdated(case: Case) -> Iterator[Verdict]:
    """Whether packages are installed that are gone, renamed or only a stub.

    `pynvml` is a deprecated shell around nvidia-ml-py; `tensorflow-gpu` is a stub since 2.12; torchtext and
    others get no releases any more. They still install, and then fail in odd ways, or hide the package that
    replaced them.

    Each: note; those that break others (a stub, a shell that hides the real module): warning. Source:
    data/outdated.csv and the package's own pages, told in each row below.
    """
    for python in case.machine.software.pythons:
        if python.packages is None:
            continue
        # conda's own PyTorch is called so there
        gone = {
            one.name: one.version
            for one in python.packages
            if one.name in GONE and not (python.kind == "conda" and one.name == "pytorch")
        }
        for package, version in gone.items():
            harms, reason, instead = GONE[package]
            yield advise(
                "python_packages.outdated",
                severity="warning" if harms else "note",
                about=python.path,
                python=python.path,
                package=package,
                version=version,
                reason=reason,
                instead=instead,
            )
        if not gone:
            yield Fine(says=say("{count} packages looked at", count=len(python.packages)), about=python.path)


@check(say("no package is there twice"))
def packages_twice(case: Case) -> Iterator[Verdict]:
    """Whether packages are installed twice, or beside others that write the same files.

    Two folders of one package are what a broken update leaves: which one an import finds is chance. pynvml
    brings files of nvidia-ml-py; onnxruntime and onnxruntime-gpu, the three OpenCVs, cupy for two CUDAs
    write into one folder: the last installed wins, and removing one breaks the other. NVIDIA's libraries for
    CUDA 11, 12 and 13 side by side mean frameworks with different CUDAs in one environment: large, and a
    source of clashes.

    Same files: warning. Mixed CUDAs: note. Source: the packages' own file lists; PyPI pages (recalled).
    """
    for python in case.machine.software.pythons:
        found = [*_twice(python), *_same_files(python), *_mixed(python)]
        yield from found
        if not found and python.packages:
            yield Fine(says=say("{count} packages looked at", count=len(python.packages)), about=python.path)


def _twice(python: Python) -> Iterator[Verdict]:
    """Two versions of one package; of the system's Python, one that the user's own folder hides is a note."""
    versions: dict[str, list[str]] = {}
    for package in python.packages or ():
        versions.setdefault(package.name, []).append(package.version or "?")
    for name, found in sorted(versions.items()):
        if len(found) > 1:
            hides = python.kind == "system" and len(set(found)) == len(found)
            yield advise(
                "python_packages.twice",
                severity="note" if hides else "warning",
                about=python.path,
                python=python.path,
                package=name,
                versions=", ".join(found),
            )


def _same_files(python: Python) -> Iterator[Verdict]:
    versions = {one.name: one.version for one in python.packages or ()}
    for first, second in CLASH:
        release = (versions.get(first) or "").partition(".")[0]
        harmless = HARMLESS_SINCE.get(first)
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
    cudas = sorted({match[1] for one in python.packages or () if (match := OF_CUDA.fullmatch(one.name))})
    if len(cudas) > 1:
        shown = {"cudas": ", ".join(cudas), "names": ", ".join(f"cu{one}" for one in cudas)}
        yield advise("python_packages.mixed_cudas", shown, about=python.path, python=python.path)


@check(say("pip is told of wheel indexes that exist"))
def pip_index(case: Case) -> Iterator[Verdict]:
    """Whether pip is told of wheel indexes that exist.

    PyTorch has an index for each CUDA it is built with, and not for others: cu122, that guides name, never
    existed. pip says of a missing index only that it found no version, or silently takes the build of the
    main index.

    An index of PyTorch that our table does not hold: warning. Source: data/torch_indexes.csv.
    """
    known = torch_indexes()
    newest = max((int(match[1]) for name in known if (match := CUDA_INDEX.fullmatch(name))), default=0)
    for python in case.machine.software.pythons:
        for name in dict.fromkeys(INDEX.findall(python.index or "")):
            if name in known or not CUDA_INDEX.fullmatch(name):
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
