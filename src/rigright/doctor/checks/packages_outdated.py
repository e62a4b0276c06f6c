"""Whether packages are installed that are gone, renamed or only a stub.

`pynvml` is a deprecated shell around nvidia-ml-py; `tensorflow-gpu` is a stub since 2.12; torchtext and
others get no releases any more. They still install, and then fail in odd ways, or hide the package that
replaced them.

Each: note; those that break others (a stub, a shell that hides the real module): warning. Source:
data/outdated.csv and the package's own pages, told in each row below.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step
from rigright.doctor.stack import pip

TITLE = say("no package is outdated or a stub")
_GONE: dict[str, tuple[bool, Sentence, str | None]] = {  # name -> it does harm, why, what to install instead
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


def check(case: Case) -> Iterator[Verdict]:
    """A finding for each such package; one good word for a Python without any."""
    for python in case.machine.software.pythons:
        if python.packages is None:
            continue
        # whether it is conda's own PyTorch, which is called so there
        gone = [
            one
            for one in python.packages
            if one.name in _GONE and not (python.kind == "conda" and one.name == "pytorch")
        ]
        for package in {one.name: one for one in gone}.values():
            harms, why, instead = _GONE[package.name]
            steps = [step(say("remove it"), pip(python, f"uninstall -y {shlex.quote(package.name)}"))]
            if instead:
                steps.append(step(say("install what took its place"), pip(python, f"install '{instead}'")))
            yield Finding(
                severity="warning" if harms else "note",
                title=say("{package} is outdated", package=package.name),
                evidence=seen(
                    f"{package.name} {package.version}", pip(python, f"show {shlex.quote(package.name)}")
                ),
                why=why,
                fix=tuple(steps),
                about=python.path,
            )
        if not gone:
            yield Fine(says=say("{count} packages looked at", count=len(python.packages)), about=python.path)
