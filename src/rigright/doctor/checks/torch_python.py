"""Whether each Python is one for which its framework has wheels.

Wheels are made for some Pythons. With another, pip finds an old release, builds from source, or brings
the build for the processor. The guides' "3.8 to 3.11" is long past: torch 2.9 needs 3.10, 2.15 needs
3.11.

Outside the range of the installed release: warning. Source: data/torch.csv, data/tensorflow.csv.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step
from rigright.doctor.stack import numbers, pip, program
from rigright.doctor.torch_fit import row_of
from rigright.facts.engine_needs import pythons_of
from rigright.facts.software import tensorflow_releases
from rigright.machine.system import Framework, Python

TITLE = say("each Python is one that its framework is made for")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each framework of the tables."""
    for python in case.machine.software.pythons:
        have = numbers(python.version)
        for framework in python.frameworks:
            told = _range(framework)
            span = pythons_of(told)
            if have is None or span is None:
                continue
            about = f"{framework.name}, {python.path}"
            if span[0] <= have[:2] <= span[1]:
                yield Fine(
                    says=say("Python {version}, wheels for {span}", version=python.version, span=told),
                    about=about,
                )
            else:
                yield _outside(python, framework, told=told or "")


def _range(framework: Framework) -> str | None:
    if framework.name == "torch":
        row = row_of(framework)
        return row.python if row else None
    wanted = (framework.version or "").split(".")[:2]
    rows = {tuple(row.tensorflow.split(".")[:2]): row.python for row in tensorflow_releases()}
    return rows.get((wanted[0], wanted[-1])) if framework.name == "tensorflow" else None


def _outside(python: Python, framework: Framework, *, told: str) -> Finding:
    show = f"{program(python)} --version; {pip(python, f'show {shlex.quote(framework.name)}')}"
    return Finding(
        severity="warning",
        title=say(
            "{name} {version} has wheels for Python {span}, this is {python}",
            name=framework.name,
            version=framework.version,
            span=told,
            python=python.version,
        ),
        evidence=seen(say("Python {version}", version=python.version), show),
        why=say("it was built in another way than the wheels that are tested; the next update may fail"),
        fix=(step(say("make an environment with a Python of that range"), "rigright setup --script"),),
        confidence="maybe",
        about=f"{framework.name}, {python.path}",
    )
