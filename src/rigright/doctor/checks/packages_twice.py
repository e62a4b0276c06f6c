"""Whether packages are installed twice, or beside others that write the same files.

Two folders of one package are what a broken update leaves: which one an import finds is chance. pynvml
brings files of nvidia-ml-py; onnxruntime and onnxruntime-gpu, the three OpenCVs, cupy for two CUDAs write
into one folder: the last installed wins, and removing one breaks the other. NVIDIA's libraries for CUDA
11, 12 and 13 side by side mean frameworks with different CUDAs in one environment: large, and a source of
clashes.

Same files: warning. Mixed CUDAs: note. Source: the packages' own file lists; PyPI pages (recalled).
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step
from rigright.doctor.stack import pip
from rigright.machine.system import Python

TITLE = say("no package is there twice")
_CLASH = (
    ("pynvml", "nvidia-ml-py"),
    ("onnxruntime", "onnxruntime-gpu"),
    ("opencv-python", "opencv-python-headless"),
    ("tensorflow", "tensorflow-gpu"),
    ("tensorflow", "tensorflow-cpu"),
    ("cupy-cuda11x", "cupy-cuda12x"),
    ("cupy-cuda12x", "cupy-cuda13x"),
)
_HARMLESS_SINCE = {"pynvml": (12,)}  # from this version on it brings no files of the other
_CUDA = re.compile(r"nvidia-cu(?:dnn|blas|da-runtime)-cu(\d{2})")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each Python, or a finding for each pair."""
    for python in case.machine.software.pythons:
        # two versions of one package; a copy that the user's own folder hides counts too
        doubles: list[Finding] = []
        versions: dict[str, list[str]] = {}
        for package in python.packages or ():
            versions.setdefault(package.name, []).append(package.version or "?")
        counts = Counter({name: len(found) for name, found in versions.items()})
        for name in sorted(name for name, count in counts.items() if count > 1):
            shown = ", ".join(versions[name])
            if python.kind == "system" and len(set(versions[name])) == counts[name]:
                doubles.append(_twice(python, name, shown=shown, severe=False))
            else:
                doubles.append(_twice(python, name, shown=shown, severe=True))
        clashes: list[Finding] = []
        names = {one.name: one.version for one in python.packages or ()}
        for first, second in _CLASH:
            if first in names and second in names and not _is_harmless(first, names[first]):
                clashes.append(
                    Finding(
                        severity="warning",
                        title=say("{first} and {second} write the same files", first=first, second=second),
                        evidence=seen(
                            f"{first} {names[first]}, {second} {names[second]}", pip(python, "list")
                        ),
                        why=say("the last one installed wins, and removing either breaks the other"),
                        fix=(
                            step(say("remove both"), pip(python, f"uninstall -y {first} {second}")),
                            step(say("install the one that is meant"), pip(python, f"install {second}")),
                        ),
                        about=python.path,
                    )
                )
        found = [*doubles, *clashes, *_mixed(python)]
        yield from found
        if not found and python.packages:
            yield Fine(says=say("{count} packages looked at", count=len(python.packages)), about=python.path)


def _twice(python: Python, name: str, *, shown: str, severe: bool) -> Finding:
    return Finding(
        severity="warning" if severe else "note",
        title=say("{package} is installed twice: {versions}", package=name, versions=shown),
        evidence=seen(shown, pip(python, f"show -f {shlex.quote(name)}")),
        why=say("which one an import finds depends on the order of folders, not on pip's word"),
        fix=(
            step(
                say("remove it until pip knows of none, then install it once"),
                pip(python, f"uninstall -y {shlex.quote(name)}"),
            ),
            step(say("install it again"), pip(python, f"install {shlex.quote(name)}")),
        ),
        verify=pip(python, f"show {shlex.quote(name)}"),
        confidence="likely",
        about=python.path,
    )


def _is_harmless(name: str, version: str | None) -> bool:
    since = _HARMLESS_SINCE.get(name)
    first = (version or "").partition(".")[0]
    return since is not None and first.isdecimal() and int(first) >= since[0]


def _mixed(python: Python) -> Iterator[Finding]:
    cudas = sorted({match[1] for one in python.packages or () if (match := _CUDA.fullmatch(one.name))})
    if len(cudas) > 1:
        yield Finding(
            severity="note",
            title=say("libraries of CUDA {cudas} are in one environment", cudas=", ".join(cudas)),
            evidence=seen(", ".join(f"cu{one}" for one in cudas), pip(python, "list | grep nvidia-")),
            why=say(
                "frameworks with different CUDAs share one environment: several GiB, and libraries may clash"
            ),
            fix=(step(say("give each framework an environment of its own"), "python3 -m venv NAME"),),
            about=python.path,
        )
