"""`setup` for cards that are not NVIDIA's: what the tables tell, and what they do not."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.facts.drivers import ARM, DriverPackages, MakerPackages, maker_way
from rigright.facts.software import torch_indexes
from rigright.verbs.setup import steps
from rigright.verbs.setup.choice import TORCH, builds, python_for
from rigright.verbs.setup.set_up import WINDOWS, Pick, SetUp, SetupStep, Target
from rigright.verbs.setup.ways import IN_WINDOWS

NEWEST = "latest"


def on_jetson(target: Target) -> SetUp:
    """NVIDIA's own system for its modules: driver, CUDA and wheels come together."""
    told = say(
        "software for {machine} comes with NVIDIA JetPack; its versions are unknown",
        machine=target.shown,
    )
    return SetUp(system=target, pick=None, unknown=(told,))


def without_nvidia(target: Target, name: str, *, ways: tuple[DriverPackages, ...]) -> SetUp:
    """Other makers: what the tables tell, and what they do not."""
    if not target.vendors:
        unknown = (say("no GPU found; give one, for example --on 4090"),)
        return SetUp(system=target, pick=None, unknown=unknown)
    if target.os_id == WINDOWS:
        made = ", ".join(target.vendors)
        told = say("requirements of {name} on {vendor} GPUs on Windows are unknown", name=name, vendor=made)
        return SetUp(system=target, pick=None, unknown=(told,))
    if name != TORCH:
        made = ", ".join(target.vendors)
        return SetUp(
            system=target,
            pick=None,
            unknown=(say("requirements of {name} on {vendor} GPUs are unknown", name=name, vendor=made),),
        )
    pick = _other_torch(target.vendors[0])
    if pick is None:
        return SetUp(
            system=target,
            pick=None,
            unknown=(say("unknown which torch build fits {machine}", machine=target.shown),),
        )
    python = python_for(pick.pythons, system=None)
    manager = ways[0].manager if ways else None
    system = ways[0].python_of(target.os_version or "") if ways else None
    way = _way(target)
    done = (
        *(() if way is None else _driver(way)),
        *steps.python_steps(pick, python, system=system, manager=manager),
        *steps.verify_steps(pick, target.vendors),
    )
    chips = say(
        "unknown which GPUs the {index} wheels support: verify before use",
        index=pick.build,
    )
    driver = say("driver packages (amdgpu, ROCm; Intel) are unknown: see the vendor's guide")
    lacks = way is None and not (target.seen and target.driver)
    unknown = (chips, *((driver,) if lacks else ())) if pick.index else ()
    return SetUp(system=target, pick=pick, python=python, steps=done, unknown=unknown)


def _way(target: Target) -> MakerPackages | None:
    """How the driver comes; none where it is loaded, is the host's, or is in no table."""
    is_own = target.container in {None, "none"} and target.virtual not in IN_WINDOWS
    if not is_own or (target.seen and target.driver) or target.arch in ARM:
        return None
    return maker_way(target.vendors[0], os_id=target.os_id, os_version=target.os_version)


def _driver(way: MakerPackages) -> Iterator[SetupStep]:
    """The maker's repository, its packages, and who may use the cards."""
    install = "apt-get install -y"
    added: tuple[str, ...]
    if way.fetch:
        file = way.fetch.rpartition("/")[2]
        added = (f"curl -fsSLO {way.fetch}", f"{install} ./{file}", "apt-get update")
    else:
        added = (f"{install} software-properties-common", f"add-apt-repository -y {way.ppa}")
    yield SetupStep(
        title=say("the vendor's packages for {system}", system=f"{way.os} {' '.join(way.versions)}"),
        why=say("the distribution's packages are too old or lack the toolkit"),
        commands=added,
        as_root=True,
    )
    wanted = [f"{install} {' '.join(way.headers)}"] if way.headers else []
    yield SetupStep(
        title=say("driver"),
        why=say("the wheels ship the libraries; the driver stack comes from the system"),
        commands=(*wanted, f"{install} {' '.join(way.packages)}"),
        as_root=True,
    )
    yield SetupStep(
        title=say("permission to use the GPUs"),
        why=say(
            "the GPUs belong to groups {groups}; takes effect at the next login",
            groups=", ".join(way.groups),
        ),
        commands=(f"usermod -a -G {','.join(way.groups)} $LOGNAME",),
        as_root=True,
    )
    if way.headers:
        yield steps.restart()


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
            pythons=newest.python,
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
        pythons=next((one.python for one in builds(()) if one.torch == release), builds(())[0].python),
        pip=(wanted, "torchvision"),
        source=index.source,
        as_of=index.as_of,
        confidence=index.confidence,
        notes=index.notes,
    )
