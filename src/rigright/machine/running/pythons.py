"""Every Python that matters and what is installed in it: read from its folders, nothing is imported."""

from __future__ import annotations

import configparser
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from rigright.machine.running.frameworks import frameworks
from rigright.machine.system import Package, Python
from rigright.machine.values import without_login
from rigright.machine.world import World

_NAMES = ("index-url", "extra-index-url", "find-links", "no-index")


def index(world: World, python: str) -> str | None:
    """Every setting of pip on where to look, as its options are written; None where it has none."""
    fields = dict(_settings(world, python))
    return " ".join(f"--{name} {value}" for name, value in sorted(fields.items())) or None


def _settings(world: World, python: str) -> Iterator[tuple[str, str]]:
    """Names and values, the last to speak wins: the system, the user, the environment, variables."""
    home = world.env.get("HOME", "/root")
    prefix = python.rpartition("/bin/")[0]
    for file in (
        "/etc/pip.conf",
        f"{home}/.pip/pip.conf",
        f"{home}/.config/pip/pip.conf",
        f"{prefix}/pip.conf",
    ):
        yield from _of_file(world.text(file) or "")
    for name in _NAMES:
        value = world.env.get("PIP_" + name.upper().replace("-", "_"))
        if value:
            yield name, without_login(" ".join(value.split()))


def _of_file(text: str) -> Iterator[tuple[str, str]]:
    reader = configparser.RawConfigParser(strict=False)
    try:
        reader.read_string(text)
    except configparser.Error:
        return
    for section in reader.sections():
        for name, value in reader.items(section):
            bare = name.replace("_", "-")
            if bare in _NAMES and value:
                yield bare, without_login(" ".join(value.split()))


SYSTEM = "/usr/bin/python3"
_PREFIXES = (  # beginnings of the names of packages that matter here
    "torch", "pytorch", "tensorflow", "tf-", "keras", "jax", "triton", "nvidia-", "pynvml", "nvitop",
    "gpustat", "py3nvml", "gputil", "cupy", "cuda-", "vllm", "sglang", "sgl-", "flashinfer",
    "flash-attn", "xformers", "bitsandbytes", "deepspeed", "transformers", "accelerate", "peft", "trl",
    "datasets", "optimum", "auto-gptq", "autoawq", "gptqmodel", "llama-cpp-python", "ctransformers",
    "exllama", "tensorrt", "onnxruntime", "apex", "transformer-engine", "megatron", "lmdeploy", "ray",
    "numpy", "pillow", "opencv-python", "diffusers", "mxnet", "horovod", "fairscale", "lightning",
    "mamba-ssm", "causal-conv1d", "safetensors", "huggingface", "tokenizers", "unsloth", "rigright",
    "pip", "amdsmi", "pyrsmi", "rocm", "hip-python", "intel-extension",
)  # fmt: skip
_FOLDER = re.compile(r"(?P<name>[A-Za-z0-9][\w.~+-]*?)-(?P<version>\d[\w.+!~]*)\.(?:dist|egg)-info")
_PYTHON_FOLDER = re.compile(r"python3\.\d{1,2}")
_MOST_ENVIRONMENTS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonFolders:
    """One Python by its folders."""

    path: str
    kind: str
    version: str | None
    folders: tuple[str, ...]  # where packages lie, the first found first


def pythons(world: World) -> tuple[Python, ...]:
    """Each Python once: the one that is active first."""
    result: dict[tuple[str, ...], Python] = {}
    for place in _places(world):
        if place.folders and place.folders not in result and len(result) < _MOST_ENVIRONMENTS:
            result[place.folders] = _read(world, place)
    return tuple(result.values())


def _places(world: World) -> Iterator[PythonFolders]:
    for name, kind in (("VIRTUAL_ENV", "venv"), ("CONDA_PREFIX", "conda")):
        prefix = world.env.get(name)
        if prefix:
            yield from _of_prefix(world, prefix, kind=kind)
    if world.is_own:
        kind = "system" if sys.prefix == sys.base_prefix else "venv"
        kind = "conda" if world.has(f"{sys.prefix}/conda-meta") else kind
        if sys.prefix != "/usr":
            yield from _of_prefix(world, sys.prefix, kind=kind)
    yield from _of_system(world)
    for prefix in ("/opt/conda", "/opt/venv", "/app/.venv", "/workspace/.venv"):
        yield from _of_prefix(world, prefix, kind="conda" if prefix.endswith("conda") else "venv")


def _of_prefix(world: World, prefix: str, *, kind: str) -> Iterator[PythonFolders]:
    """A Python with a folder of its own: a venv, conda, or one built from source."""
    names = [name for name in world.names(f"{prefix}/lib") if _PYTHON_FOLDER.fullmatch(name)]
    folders = [f"{prefix}/lib/{name}/site-packages" for name in names]
    if not folders:
        return
    settings = world.text(f"{prefix}/pyvenv.cfg") or ""
    fields = dict(line.partition("=")[::2] for line in settings.splitlines())
    given = {key.strip(): value.strip() for key, value in fields.items()}
    version = given.get("version") or given.get("version_info") or names[-1].removeprefix("python")
    if given.get("include-system-site-packages") == "true":
        folders += _system_folders(world, names[-1])
    yield PythonFolders(path=f"{prefix}/bin/python", kind=kind, version=version, folders=tuple(folders))


def _of_system(world: World) -> Iterator[PythonFolders]:
    link = world.link(SYSTEM)
    if link is None:
        return
    name = link.rpartition("/")[2]
    if not _PYTHON_FOLDER.fullmatch(name):
        return
    version = name.removeprefix("python")
    yield PythonFolders(
        path=SYSTEM, kind="system", version=version, folders=tuple(_system_folders(world, name))
    )


def _system_folders(world: World, name: str) -> list[str]:
    """Folders of a system's Python, those of the user first: they hide the system's."""
    home = world.env.get("HOME", "/root")
    folders = (
        f"{home}/.local/lib/{name}/site-packages",
        f"/usr/local/lib/{name}/dist-packages",
        "/usr/lib/python3/dist-packages",
        f"/usr/local/lib/{name}/site-packages",
        f"/usr/lib64/{name}/site-packages",
        f"/usr/lib/{name}/site-packages",
    )
    return [folder for folder in folders if world.names(folder)]


def _read(world: World, place: PythonFolders) -> Python:
    # what is installed, the first found first; one that stands twice is told twice
    packages_found: list[Package] = []
    for folder in place.folders:
        for name in world.names(folder):
            match = _FOLDER.fullmatch(name)
            if match is None:
                continue
            own = re.sub(r"[-_.]+", "-", match["name"]).lower()
            if own.startswith(_PREFIXES):
                packages_found.append(Package(name=own, version=match["version"].partition("-py3")[0]))
    packages = tuple(packages_found)
    known = {package.name: package.version for package in reversed(packages)}
    return Python(
        path=place.path,
        version=place.version,
        kind=place.kind,
        pip=known.get("pip"),
        packages=packages,
        frameworks=frameworks(world, place.folders, packages=packages),
        index=index(world, place.path),
    )
