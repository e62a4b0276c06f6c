"""Which PyTorch build fits a machine, and whether the one that is there does."""

from __future__ import annotations

import re

from rigright.doctor.advice import advised_step
from rigright.doctor.record import CheckInput, Step
from rigright.doctor.stack import capabilities, driver, numbers
from rigright.facts.software import Capability, TorchBuild, torch_builds, torch_for, torch_indexes, written
from rigright.machine.system import Framework, Python

_ARCH = re.compile(r"(sm|compute)_(\d{1,2})(\d)[af]?")


def best_build(case: CheckInput) -> TorchBuild | None:
    """The newest build of the table that runs on every NVIDIA card here, with the driver that is here."""
    have = numbers(driver(case))
    known = [
        {
            (torch_build.torch, torch_build.build): torch_build
            for torch_build in torch_for(capability, driver=written(have) if have else None)
        }
        for capability in capabilities(case)
    ]
    shared = (
        [build for key, build in known[0].items() if all(key in other for other in known)] if known else []
    )
    return next((build for build in shared if build.confidence != "low"), None)


def index_of(build: TorchBuild | None) -> str | None:
    """The wheel index of a build, where it is known to exist."""
    torch_index = torch_indexes().get(build.build) if build else None
    return torch_index.url if torch_index else None


def reinstall(case: CheckInput, python: Python) -> Step:
    """A step that brings the build that fits, or the way to find it."""
    build = best_build(case)
    url = index_of(build)
    if build is None or url is None:
        return advised_step("which_torch")
    return advised_step("reinstall_torch", python=python.path, wheel=f"torch=={build.torch}.*", url=url)


def has_kernels(torch: Framework, capability: Capability) -> bool | None:
    """By the wheel's own list, else by the table; None where neither tells."""
    if torch.archs:
        pairs = [
            (match[1], (int(match[2]), int(match[3])))
            for arch in torch.archs
            if (match := _ARCH.fullmatch(arch))
        ]
        major, minor = capability
        built = any(kind == "sm" and has == major and at_most <= minor for kind, (has, at_most) in pairs)
        return built or any(kind == "compute" and has <= capability for kind, has in pairs)
    row = row_of(torch)
    return None if row is None else row.runs_on(capability)


def row_of(torch: Framework) -> TorchBuild | None:
    """The row of the table for an installed wheel."""
    release = ".".join((torch.version or "").split(".")[:2])
    return next(
        (
            torch_build
            for torch_build in torch_builds()
            if (torch_build.torch, torch_build.build) == (release, torch.build)
        ),
        None,
    )
