"""A machine that is right as it is: what was asked for is there, and no check complains of it."""

from __future__ import annotations

from rigright.doctor.examine import case_of, examine
from rigright.doctor.record import Finding
from rigright.facts.software import engine_needs
from rigright.machine.record import Machine
from rigright.machine.system import Python
from rigright.verbs.setup.set_up import Installed

GROUPS = ("driver", "software")  # of the doctor's checks
_BAD = {"fault", "warning"}


def installed(machine: Machine, name: str, *, version: str | None) -> Installed | None:
    """What was asked for, where it is there and its driver, build and Python go together by the checks."""
    # each Python that has it, in the version that was asked for
    there_found: list[Installed] = []
    for python in machine.software.pythons:
        text, build = _version_in(python, name)
        if text is not None and (version is None or f"{text}.".startswith(f"{version}.")):
            there_found.append(Installed(name=name, version=text, build=build, python=python.path))
    there = list(there_found)
    if not there or (_builds(name) and not machine.software.toolkits):
        return None
    findings = [
        finding for _, finding in examine(case_of(machine), GROUPS).findings if finding.severity in _BAD
    ]
    pythons = [python.path for python in machine.software.pythons]
    return next(
        (item for item in there if not any(_concerns(item, each, pythons=pythons) for each in findings)), None
    )


def _version_in(python: Python, name: str) -> tuple[str | None, str | None]:
    for framework in python.frameworks:
        if framework.name == name and framework.problem is None:
            return framework.version, framework.build
    packed = (package.version for package in python.packages or () if package.name == name)
    return next(packed, None), None


def _builds(name: str) -> bool:
    """Whether it builds kernels when it runs."""
    return any(row.toolkit for row in engine_needs() if row.name == name)


def _concerns(installed: Installed, finding: Finding, *, pythons: list[str]) -> bool:
    """Whether a finding is of the whole machine or of this very Python."""
    about = set((finding.about or "").split(", "))
    return installed.python in about or about.isdisjoint(pythons)
