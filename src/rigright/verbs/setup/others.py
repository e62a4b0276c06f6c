"""`setup` for cards that are not NVIDIA's: what the tables tell, and what they do not."""

from __future__ import annotations

from rigright.base.words import say
from rigright.facts.drivers import DriverPackages
from rigright.facts.engine_needs import torch_indexes
from rigright.report.set_up import Pick, SetUp, Target
from rigright.verbs.setup import steps
from rigright.verbs.setup.choice import TORCH, builds, python_for

NEWEST = "latest"


def on_jetson(target: Target) -> SetUp:
    """NVIDIA's own system for its modules: driver, CUDA and wheels come together."""
    told = say(
        "what runs on {machine} comes with NVIDIA's JetPack, whose versions are in no table",
        machine=target.shown,
    )
    return SetUp(target=target, pick=None, unknown=(told,))


def without_nvidia(target: Target, name: str, *, ways: tuple[DriverPackages, ...]) -> SetUp:
    """Other makers: what the tables tell, and what they do not."""
    if not target.vendors:
        unknown = (say("no accelerator was found; name one, for example --on 4090"),)
        return SetUp(target=target, pick=None, unknown=unknown)
    if name != TORCH:
        made = ", ".join(target.vendors)
        return SetUp(
            target=target,
            pick=None,
            unknown=(say("what {name} needs on cards of {vendor} is in no table", name=name, vendor=made),),
        )
    pick = _other_torch(target.vendors[0])
    if pick is None:
        return SetUp(
            target=target,
            pick=None,
            unknown=(say("which build of torch fits {machine} is in no table", machine=target.shown),),
        )
    python = python_for(pick.python, system=None)
    manager = ways[0].manager if ways else None
    system = ways[0].python_of(target.os_version or "") if ways else None
    done = (
        *steps.python_steps(pick, python, system=system, manager=manager),
        *steps.verify_steps(pick, target.vendors),
    )
    chips = say(
        "which chips the wheels of {index} have kernels for is in no table: verify before you rely on it",
        index=pick.build,
    )
    driver = say("the packages of the driver (amdgpu, ROCm; Intel's) are in no table: see the maker's guide")
    return SetUp(
        target=target, pick=pick, python=python, steps=done, unknown=(chips, driver) if pick.index else ()
    )


def _other_torch(vendor: str) -> Pick | None:
    """PyTorch for AMD and Intel by their index, for Apple from the package index."""
    kind = {"amd": "rocm", "intel": "xpu"}.get(vendor)
    if vendor == "apple":
        newest = builds(())[0]  # of the package index; its wheels for Apple's chips are the plain ones
        return Pick(
            name=TORCH,
            version=newest.torch,
            torch=newest.torch,
            build="mps",
            python=newest.python,
            pip=(f"torch=={newest.torch}.*", "torchvision"),
            source=newest.source,
            as_of=newest.as_of,
            confidence="med",
        )
    index = next(
        (one for one in torch_indexes().values() if one.kind == kind and one.confidence != "low"), None
    )
    if index is None:
        return None
    release = index.torch_to
    wanted = f"torch=={release}.*" if release else "torch"
    return Pick(
        name=TORCH,
        version=release or NEWEST,
        torch=release,
        build=index.name,
        index=index.url,
        python=next((one.python for one in builds(()) if one.torch == release), builds(())[0].python),
        pip=(wanted, "torchvision"),
        source=index.source,
        as_of=index.as_of,
        confidence=index.confidence,
        notes=index.notes,
    )
