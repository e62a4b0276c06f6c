"""The steps that install a set on a machine: each with its reason, and commands that exist."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.facts.drivers import INSTALL, KEYRING, DriverPackages, branches
from rigright.facts.software import version_of
from rigright.verbs.setup.choice import Pick, SetupStep, Target

ENVIRONMENT = "~/envs/{name}"
LEAST_UV = (3, 8)  # of the Python that pip puts it into
_UV = ENVIRONMENT.format(name="uv")
_LLAMA = "~/llama.cpp"
_TOLD = "torch.__version__, torch.cuda.is_available(), torch.cuda.get_arch_list()"
_INTEL = "torch.__version__, torch.xpu.is_available()"
_APPLE = "torch.__version__, torch.backends.mps.is_available()"
_SEES = {  # what shows the cards, and computes on one: a list alone says nothing of kernels
    "tensorflow": "import tensorflow as tf; "
    "print(tf.config.list_physical_devices('GPU'), tf.reduce_sum(tf.ones(8)))",
    "jax": "import jax; print(jax.devices(), jax.numpy.ones(8).sum())",
}
_NVCC = "/usr/local/cuda/bin/nvcc"
_UBUNTU_KEY, _DKMS_KEY = "/var/lib/shim-signed/mok/MOK.der", "/var/lib/dkms/mok.pub"
_AKMODS_KEY = "/etc/pki/akmods/certs/public_key.der"
_TOOLKIT_KEY = "/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg"
_TOOLKIT = "https://nvidia.github.io/libnvidia-container"


def refresh() -> SetupStep:
    """What a fresh machine, or one of last month, needs before it installs anything."""
    return SetupStep(
        title=say("package lists"),
        why=say("stale lists name packages that no longer exist"),
        commands=("apt-get update",),
        as_root=True,
    )


def driver_steps(target: Target, way: DriverPackages, *, is_open: bool) -> Iterator[SetupStep]:
    """Headers, repositories, driver, switches' manager, key, restart."""
    signed = way.signed(is_open=is_open)
    if signed is not None:
        yield SetupStep(
            title=say("kernel modules, built and signed by the distribution"),
            why=say("they load under Secure Boot; if none exists for this kernel, the driver builds one"),
            commands=(f"{way.install((signed,))} || {way.install(way.headers)}",),
            as_root=True,
        )
    elif way.headers:
        yield SetupStep(
            title=say("kernel headers"),
            why=say(
                "DKMS builds the module for the running kernel; if its headers are gone from the "
                "repository, update the kernel first"
            ),
            commands=(way.install(way.headers),),
            as_root=True,
        )
    if way.before:
        yield SetupStep(
            title=say("third-party repository"),
            why=say("it holds the driver packages or their dependencies"),
            commands=(way.install(way.before),),
            as_root=True,
        )
    if way.repo:
        yield repository(target, way)
    kind = say("open") if is_open else say("proprietary")
    yield SetupStep(
        title=say("driver, branch {branch}, {kind} kernel module", branch=way.branch, kind=kind),
        why=say(
            "supported until {month}; these GPUs need or support the {kind} module",
            month=branches()[way.branch].ends or "?",
            kind=kind,
        ),
        commands=tuple(_driver(way, is_open=is_open)),
        as_root=True,
    )
    if target.racked and way.imex_packages:
        yield from _imex(way)
    elif target.switched and way.fabric_packages:
        yield SetupStep(
            title=say("fabric manager, same version as the driver"),
            why=say("without it NVLink stays down and CUDA fails with error 802"),
            commands=(way.install(way.fabric_packages), "systemctl enable nvidia-fabricmanager"),
            as_root=True,
        )
    enrols = bool(target.secure_boot) and signs_itself(way)
    if enrols:
        yield SetupStep(
            title=say("enrol the key that signs the module (MOK)"),
            why=say("Secure Boot refuses modules without a trusted signature; choose a one-time password"),
            commands=(way.install(("mokutil",)), f"mokutil --import {key_of(way)}"),
            as_root=True,
        )
    yield restart(enrols=enrols)


def key_of(way: DriverPackages) -> str:
    """The key that a module was signed with where it was built."""
    if any(name.startswith("akmod") for name in way.closed_packages) and not way.open_packages:
        return _AKMODS_KEY
    return _UBUNTU_KEY if "ubuntu" in way.os else _DKMS_KEY


def _imex(way: DriverPackages) -> Iterator[SetupStep]:
    """What a rack of one NVLink domain needs on each tray; its switches are managed on switch trays."""
    yield SetupStep(
        title=say("IMEX, in the driver's version"),
        why=say(
            "lets GPUs of different trays share memory over NVLink; without it NCCL falls back to the network"
        ),
        commands=(way.install(way.imex_packages), "systemctl enable nvidia-imex"),
        as_root=True,
    )
    yield SetupStep(
        title=say("list the trays in /etc/nvidia-imex/nodes_config.cfg"),
        why=say(
            "one IP address a line, the same file on every tray; then `nvidia-imex-ctl -N` shows them READY"
        ),
    )


def signs_itself(way: DriverPackages) -> bool:
    """Whether the machine builds and signs the module, which distributions else do for it."""
    return bool(way.headers and not way.signed_modules and (way.repo or way.before))


def restart(*, enrols: bool = False) -> SetupStep:
    """A new kernel module needs it."""
    new = say("loads the new kernel module in place of the old one or nouveau")
    asked = say("at boot the MOK manager opens: Enroll MOK, Continue, Yes, then that password")
    return SetupStep(
        title=say("reboot"),
        why=asked if enrols else new,
        commands=("systemctl reboot",),
        as_root=True,
        disturbs=True,
    )


def _driver(way: DriverPackages, *, is_open: bool) -> Iterator[str]:
    packages = way.driver(is_open=is_open)
    if way.keeps == "stream":
        yield f"dnf module enable -y nvidia-driver:{way.branch}-{'open' if is_open else 'dkms'}"
    if way.keeps == "lock":
        if way.manager == "dnf":  # the other one has it among the plugins that its repository needed
            yield way.install(("python3-dnf-plugin-versionlock",))
        yield f"dnf versionlock add '*nvidia*{way.branch}*'"
    pins = [name for name in packages if "pinning" in name]
    if pins:
        yield way.install(tuple(pins))
    yield way.install(tuple(name for name in packages if name not in pins))


def repository(target: Target, way: DriverPackages) -> SetupStep:
    """NVIDIA's own repository for a distribution."""
    url = way.repo_url(target.os_version, target.arch)
    name = way.repo_name(target.os_version) or ""
    file = f"{url}/cuda-{name}.repo"
    lines = {
        "apt": (f"curl -fsSLO {url}/{KEYRING}", f"dpkg -i {KEYRING}", "apt-get update"),
        "dnf": ("dnf install -y dnf-plugins-core", f"dnf config-manager --add-repo {file}"),
        "dnf5": ("dnf install -y dnf5-plugins", f"dnf config-manager addrepo --from-repofile={file}"),
        "zypper": (
            f"zypper addrepo --refresh {url} {'nvidia' if '://' in name else 'cuda'}",
            "zypper --gpg-auto-import-keys refresh",
        ),
    }
    return SetupStep(
        title=say(
            "NVIDIA's package repository for {repo}",
            repo=f"{target.os_id} {target.os_version or ''}".strip() if "://" in name else name,
        ),
        why=say("the distribution's packages are too old or lack the toolkit"),
        commands=lines[way.manager],
        as_root=True,
    )


def toolkit_way(ways: tuple[DriverPackages, ...], version: str) -> DriverPackages | None:
    """The repository that holds a CUDA toolkit, where one does."""
    return next(
        (driver_packages for driver_packages in ways if driver_packages.toolkit_package(version)), None
    )


def toolkit_steps(
    target: Target, ways: tuple[DriverPackages, ...], *, version: str, has_repo: DriverPackages | None
) -> Iterator[SetupStep]:
    """The CUDA toolkit, never the driver with it; its repository, where no step before has added it."""
    way = toolkit_way(ways, version)
    name = way.toolkit_package(version) if way else None
    if way is None or name is None:
        return
    if has_repo is None or way.repo != has_repo.repo:
        yield repository(target, way)
    yield SetupStep(
        title=say("CUDA toolkit {version}", version=version),
        why=say("its compiler builds the kernels; this package leaves the installed driver alone"),
        commands=(way.install((name,)),),
        as_root=True,
    )


def python_steps(
    pick: Pick, python: str | None, *, system: str | None, manager: str | None
) -> Iterator[SetupStep]:
    """An environment of its own, and the packages in it."""
    place = ENVIRONMENT.format(name=pick.name)
    if not pick.pip:
        return
    yield SetupStep(
        title=say("virtual environment with Python {python}", python=python or "3"),
        why=say("keeps its packages apart from the system and other frameworks"),
        commands=tuple(_environment(place, python, system=system, manager=manager)),
    )
    pip_found: list[str] = []
    pip = f"{place}/bin/pip install"
    torch, rest = in_two(pick)
    pip_found.extend(torch_line(pick, torch, pip=pip))
    if pick.name == "flash-attn":
        pip_found.append(f"{pip} ninja packaging wheel")
        pip_found.append(f"{pip} --no-build-isolation {' '.join(map(quoted, rest))}")
    elif rest:
        pip_found.append(f"{pip} {' '.join(map(quoted, rest))}")
    if pick.index is not None:
        why_index = say("from the {build} index, so that pip picks the right build", build=pick.build)
    else:
        why_index = say("from PyPI, which serves the right build")
    yield SetupStep(
        title=say("{name} {version}", name=pick.name, version=pick.version),
        why=why_index,
        commands=tuple(pip_found),
    )


def _environment(place: str, python: str | None, *, system: str | None, manager: str | None) -> Iterator[str]:
    """With the system's own Python where that is the one, else with one that uv brings."""
    if (
        system is not None and version_of(system) < LEAST_UV
    ):  # nor does the pip of such a Python take its wheels
        yield f"curl -LsSf https://astral.sh/uv/install.sh | UV_UNMANAGED_INSTALL={_UV}/bin sh"
        yield f"{_UV}/bin/uv venv --seed --python {python} {place}"
        return
    wanted = python if python is None or python == system else system
    package, name = _interpreter(manager, wanted)
    if package is not None and manager is not None:
        yield f"sudo {INSTALL[manager]} {package}"
    if python is None or python == system:
        yield f"{name} -m venv {place}"
        return
    yield f"{name} -m venv {_UV}"
    yield f"{_UV}/bin/pip install uv"
    yield f"{_UV}/bin/uv venv --seed --python {python} {place}"


def _interpreter(manager: str | None, python: str | None) -> tuple[str | None, str]:
    """The system's package of a Python, and what the Python is called."""
    if manager == "apt":
        return "python3-venv", "python3"
    if manager is None or python is None:
        return None, "python3"
    package = f"python{python}"
    return (package.replace(".", "") if manager == "zypper" else package), package


def in_two(pick: Pick) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What pip installs: torch and its own, which have an index, and the rest."""
    torch = tuple(text for text in pick.pip if text.startswith("torch"))
    return torch, tuple(text for text in pick.pip if text not in torch)


def torch_line(pick: Pick, torch: tuple[str, ...], *, pip: str) -> tuple[str, ...]:
    """The line that installs torch from its index."""
    if not torch:
        return ()
    index = f" --index-url {pick.index}" if pick.index else ""
    return (f"{pip} {' '.join(map(quoted, torch))}{index}",)


def quoted(requirement: str) -> str:
    """A requirement that a shell leaves as it is."""
    return f"'{requirement}'" if any(sign in requirement for sign in "*[]<>") else requirement


def build_steps(pick: Pick, *, manager: str | None) -> Iterator[SetupStep]:
    """Engines that are built from their source, or that come as an image alone."""
    if pick.name == "llama.cpp":
        compiler = "build-essential" if manager == "apt" else "gcc-c++"
        yield SetupStep(
            title=say("build tools: git, CMake, a C++ compiler"),
            why=say("compiled locally for these GPUs"),
            commands=(f"{INSTALL[manager]} git cmake {compiler}",) if manager else (),
            as_root=True,
        )
        yield SetupStep(
            title=say("llama.cpp, built for CUDA"),
            why=say("its Linux releases include no CUDA build"),
            commands=(
                f"git clone https://github.com/ggml-org/llama.cpp {_LLAMA}",
                f"cmake -S {_LLAMA} -B {_LLAMA}/build -DGGML_CUDA=ON -DCMAKE_CUDA_COMPILER={_NVCC}",
                f"cmake --build {_LLAMA}/build --config Release -j",
            ),
        )


def docker_steps(pick: Pick | None, *, manager: str | None) -> Iterator[SetupStep]:
    """NVIDIA's container toolkit, and how the image is run."""
    source = f"{_TOOLKIT}/stable/deb/nvidia-container-toolkit.list"
    signed = f"sed 's#deb https://#deb [signed-by={_TOOLKIT_KEY}] https://#'"
    apt = (
        f"curl -fsSL {_TOOLKIT}/gpgkey | gpg --dearmor -o {_TOOLKIT_KEY}",
        f"curl -fsSL {source} | {signed} > /etc/apt/sources.list.d/nvidia-container-toolkit.list",
        "apt-get update",
        "apt-get install -y nvidia-container-toolkit",
    )
    repo = f"{_TOOLKIT}/stable/rpm/nvidia-container-toolkit.repo"
    dnf = (
        f"curl -fsSL {repo} -o /etc/yum.repos.d/nvidia-container-toolkit.repo",
        "dnf install -y nvidia-container-toolkit",
    )
    zypper = (
        f"zypper addrepo {repo}",
        "zypper --gpg-auto-import-keys --non-interactive install nvidia-container-toolkit",
    )
    yield SetupStep(
        title=say("NVIDIA's container toolkit"),
        why=say("lets Docker pass GPUs to containers; the driver stays on the host"),
        commands=(
            *{"apt": apt, "dnf": dnf, "dnf5": dnf, "zypper": zypper}.get(manager or "", ()),
            "nvidia-ctk runtime configure --runtime=docker",
            "systemctl restart docker",
        ),
        as_root=True,
        disturbs=True,
    )
    yield from image_steps(pick)


def image_steps(pick: Pick | None) -> Iterator[SetupStep]:
    """The image, where the engine comes as one."""
    if pick is not None and pick.image is not None:
        yield SetupStep(
            title=say("the engine's official image"),
            why=say("ships the engine and the libraries it was tested with"),
            commands=(f"docker pull {pick.image}",),
        )


def verify_steps(pick: Pick | None, vendors: tuple[str, ...]) -> Iterator[SetupStep]:
    """That it works is seen, not believed."""
    commands = ["nvidia-smi"] if "nvidia" in vendors else []
    doctor, bench = "rigright doctor", "rigright bench --quick"
    if pick is not None and pick.pip:
        place = ENVIRONMENT.format(name=pick.name)
        doctor = f"VIRTUAL_ENV={place} {doctor}"  # it looks into the environment that is active
        if pick.torch or pick.name == "torch":
            bench += f" --python {place}/bin/python"
            text = _APPLE if "apple" in vendors else _INTEL if vendors == ("intel",) else _TOLD
            commands.append(f'{place}/bin/python -c "import torch; print({text})"')
        elif pick.name in _SEES:
            commands.append(f'{place}/bin/python -c "{_SEES[pick.name]}"')
    yield SetupStep(
        title=say("verify"),
        why=say("doctor checks the installation against the same tables"),
        commands=(*commands, doctor, bench),
    )
