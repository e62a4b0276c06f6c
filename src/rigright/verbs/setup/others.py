"""`setup` away from NVIDIA's cards on Linux: other makers' cards, Windows, what a system itself installs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rigright.base.words import Sentence, in_both, say
from rigright.facts.drivers import ARM, DriverPackages, MakerPackages, maker_way
from rigright.facts.engines import engines_of
from rigright.facts.launching import programs
from rigright.facts.software import engine_installs, engine_needs, torch_indexes
from rigright.verbs.setup import steps
from rigright.verbs.setup.choice import (
    MACOS,
    TORCH,
    WINDOWS,
    Pick,
    SetUp,
    SetupStep,
    Target,
    builds,
    python_for,
)
from rigright.verbs.setup.target import IN_WINDOWS

NEWEST = "latest"
_WINDOWS_PLACE = "$HOME\\envs\\{name}"  # of an environment, in PowerShell's words


def on_jetson(target: Target) -> SetUp:
    """NVIDIA's own system for its modules: driver, CUDA and wheels come together."""
    sentence = say(
        "software for {machine} comes with NVIDIA JetPack; its versions are unknown",
        machine=target.shown,
    )
    return SetUp(system=target, pick=None, unknown=(sentence,))


def without_nvidia(target: Target, name: str, *, ways: tuple[DriverPackages, ...]) -> SetUp:
    """Other makers: what the tables tell, and what they do not."""
    if not target.vendors:
        unknown = (say("no GPU found; give one, for example --on 4090"),)
        return SetUp(system=target, pick=None, unknown=unknown)
    ready = _by_itself(target, name)
    if ready is not None:
        return ready
    made = ", ".join(sorted({chip.vendor for chip in target.chips}) or target.vendors)
    if target.os_id == WINDOWS:
        sentence = say(
            "requirements of {name} on {vendor} GPUs on Windows are unknown", name=name, vendor=made
        )
        return SetUp(system=target, pick=None, unknown=(sentence,))
    image = _image(target, name)
    pick = _other_torch(target.vendors[0])
    if name != TORCH:
        pick = image if image is not None else _with(pick, name)
    if pick is None:
        sentence = say("requirements of {name} on {vendor} GPUs are unknown", name=name, vendor=made)
        return SetUp(system=target, pick=None, unknown=(sentence, *_instead(target)))
    python = python_for(pick.pythons, system=None)
    manager = ways[0].manager if ways else None
    system = ways[0].python_of(target.os_version or "") if ways else None
    way = _way(target)
    done = (
        *(() if way is None else _driver(way)),
        *steps.image_steps(pick),
        *steps.python_steps(pick, python, system=system, manager=manager),
        *steps.verify_steps(pick, target.vendors),
    )
    chips = say(
        "unknown which GPUs the {index} wheels support: verify before use",
        index=pick.build,
    )
    driver = say("driver packages (amdgpu, ROCm; Intel) are unknown: see the vendor's guide")
    lacks = way is None and not (target.seen and target.driver)
    unknown = (
        *((chips,) if pick.index else ()),
        *((driver,) if lacks and (pick.index or pick.image) else ()),
    )
    return SetUp(system=target, pick=pick, python=python, steps=done, unknown=unknown)


def _by_itself(target: Target, name: str) -> SetUp | None:
    """What the system's own manager or the maker's script installs: one command."""
    system = target.os_id if target.os_id in {WINDOWS, MACOS} else "linux"
    system = MACOS if target.vendors == ("apple",) else system
    row = next(
        (
            engine_install
            for engine_install in engine_installs()
            if engine_install.name == name
            and system in engine_install.systems
            and {*target.vendors} <= {*engine_install.vendors}
        ),
        None,
    )
    if row is None:
        return None
    pick = Pick(
        name=name, version=NEWEST, installer=row.command.split()[0], source=row.source,
        as_of=row.as_of, confidence=row.confidence,
    )  # fmt: skip
    way = _way(target) if system == "linux" else None
    step = SetupStep(
        title=say("{name} {version}", name=name, version=NEWEST),
        why=in_both(row.notes, row.notes_zh, values={}),
        commands=(row.command,),
    )
    done = (*(() if way is None else _driver(way)), step, *steps.verify_steps(pick, target.vendors))
    return SetUp(system=target, pick=pick, steps=done)


def _image(target: Target, name: str) -> Pick | None:
    """The maker's own image for these cards, that a launch file would start."""
    program = programs().get(name)
    makers = {chip.vendor for chip in target.chips}
    if program is None or len(makers) != 1 or not all(name in engines_of(chip) for chip in target.chips):
        return None
    image = program.images.get(*makers)
    return None if image is None else Pick(name=name, version=program.version, image=image)


def _with(torch: Pick | None, name: str) -> Pick | None:
    """A library that takes any torch, beside the torch of these cards."""
    row = next((engine_need for engine_need in engine_needs() if engine_need.name == name), None)
    if (
        torch is None
        or row is None
        or row.torch is None
        or row.pins
        or row.toolkit
        or MACOS not in (row.systems or ())
    ):
        return None
    return replace(torch, name=name, version=row.version, pip=(*torch.pip[:1], *(row.pip or "").split()))


def _instead(target: Target) -> Iterator[Sentence]:
    """What is known to run on such cards."""
    names = {name for name in programs() if _image(target, name) is not None}
    names |= {TORCH} if _other_torch(target.vendors[0]) is not None else set()
    names |= {
        engine_install.name
        for engine_install in engine_installs()
        if {*target.vendors} <= {*engine_install.vendors}
    }
    if names:
        yield say("known on these GPUs: {names}", names=", ".join(sorted(names)))


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
        (
            torch_index
            for torch_index in torch_indexes().values()
            if torch_index.kind == kind and torch_index.confidence != "low"
        ),
        None,
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
        pythons=next(
            (torch_build.python for torch_build in builds(()) if torch_build.torch == release),
            builds(())[0].python,
        ),
        pip=(wanted, "torchvision"),
        source=index.source,
        as_of=index.as_of,
        confidence=index.confidence,
        notes=index.notes,
    )


def _has_packages(name: str) -> bool:
    """Whether pip finds it there."""
    rows = (row for row in engine_needs() if row.name == name)
    return name == TORCH or any(WINDOWS in (row.systems or ()) for row in rows)


def on_windows(target: Target, name: str, *, pick: Pick | None) -> SetUp:
    """What is known of native Windows, and the way to WSL2 for the rest."""
    ready = _by_itself(target, name)
    if ready is not None:
        return ready
    if not _has_packages(name):
        sentence = say("{name} has no packages for Windows itself: use WSL2, --os wsl", name=name)
        return SetUp(system=target, pick=None, unknown=(sentence,))
    if pick is None:
        sentence = say("no known version of {name} runs on {chips}", name=name, chips=target.shown)
        return SetUp(system=target, pick=None, unknown=(sentence,))
    python = python_for(pick.pythons, system=None) or "3"
    place = _WINDOWS_PLACE.format(name=pick.name)
    pip = f"& {place}\\Scripts\\python.exe -m pip install"
    torch, rest = steps.in_two(pick)
    return SetUp(
        system=target,
        pick=pick,
        python=python,
        steps=(
            SetupStep(
                title=say(
                    "driver from NVIDIA's download page: {driver} or newer",
                    driver=pick.least_driver or "?",
                ),
                why=say("the driver shipped with Windows may be older; no package manager provides it"),
            ),
            SetupStep(
                title=say("virtual environment with Python {python}", python=python),
                why=say("keeps its packages apart from the system and other frameworks"),
                commands=(
                    f"winget install --exact --id Python.Python.{python}",
                    f"py -{python} -m venv {place}",
                ),
            ),
            SetupStep(
                title=say("{name} {version}", name=pick.name, version=pick.version),
                why=say("PyPI's torch for Windows has no CUDA: this is PyTorch's own index"),
                commands=(
                    *steps.torch_line(pick, torch, pip=pip),
                    *((f"{pip} {' '.join(map(steps.quoted, rest))}",) if rest else ()),
                ),
            ),
            _verify_on_windows(pick),
        ),
        unknown=(say("the wheel data is for Linux; Windows may differ"),),
    )


def _verify_on_windows(pick: Pick) -> SetupStep:
    python = f"{_WINDOWS_PLACE.format(name=pick.name)}\\Scripts\\python.exe"
    text = "import torch; print(torch.__version__, torch.cuda.is_available(), torch.cuda.get_arch_list())"
    return SetupStep(
        title=say("verify"),
        why=say("doctor checks the installation against the same tables"),
        commands=("nvidia-smi", f'& {python} -c "{text}"', "rigright doctor"),
    )
