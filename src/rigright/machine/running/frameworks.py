"""Frameworks as a Python has them, by the files they wrote when they were installed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.units import MIB
from rigright.machine.system import Framework, Package
from rigright.machine.world import World

LIBRARY = "torch/lib/libtorch_python.so"
ROCM_KERNELS = "torch/lib/rocblas/library"
_GFX = re.compile(r"gfx[0-9a-f]{3,4}(?![0-9a-f])")
_MOST_BYTES = 96 * MIB
_MOST_LIST = 400  # bytes of the list
_FIRST = b"sm_"
_LIST = re.compile(rb"(?:sm|compute)_\d{2,3}[af]?(?: (?:sm|compute)_\d{2,3}[af]?)*\0")


def archs_of(world: World, folder: str) -> tuple[str, ...] | None:
    """The list: ("sm_90", "compute_90"); None where the library holds none."""
    raw = world.raw(f"{folder}/{LIBRARY}", most=_MOST_BYTES) or b""
    # each string of the file that is such a list
    lists: list[str] = []
    at = raw.find(_FIRST)
    while at >= 0:
        match = _LIST.match(raw, at, at + _MOST_LIST)
        if match and raw[at - 1 : at] in {b"", b"\0"}:
            lists.append(match[0][:-1].decode())
        at = raw.find(_FIRST, match.end() if match else at + 1)
    longest = max(lists, key=len, default="")
    return tuple(longest.split()) or None


def _rocm_archs_of(world: World, folder: str) -> tuple[str, ...] | None:
    """The same of a ROCm wheel: its rocBLAS has files for the chips that the wheel was built for."""
    names = world.names(f"{folder}/{ROCM_KERNELS}")
    return tuple(sorted({match[0] for name in names for match in _GFX.finditer(name)})) or None


_TOLD = re.compile(
    r"^(?P<name>__version__|cuda|hip|git_version|debug)\b[^=\n]*=\s*(?P<value>.+?)\s*$", re.MULTILINE
)
_OTHERS = (
    "tensorflow", "jax", "vllm", "sglang", "flash-attn", "deepspeed", "xformers", "bitsandbytes",
    "tensorrt-llm", "onnxruntime-gpu", "cupy-cuda12x", "cupy-cuda13x", "llama-cpp-python",
    "transformer-engine", "lmdeploy",
)  # fmt: skip
_BUILD = re.compile(r"\+([a-z]+[\w.]*)")
_CUDNN = re.compile(r"nvidia-cudnn-cu\d+")
_JAX_CUDA = re.compile(r"jax-cuda(\d{1,18})-plugin")


def frameworks(
    world: World, folders: tuple[str, ...], *, packages: tuple[Package, ...]
) -> tuple[Framework, ...]:
    """Each framework once, as an import would find it."""
    versions = {package.name: package.version for package in reversed(packages)}
    torch = next(filter(None, (_torch(world, folder, versions=versions) for folder in folders)), None)
    others = [_other(name, versions) for name in _OTHERS if name in versions]
    return (*((torch,) if torch else ()), *others)


def _torch(world: World, folder: str, *, versions: dict[str, str | None]) -> Framework | None:
    text = world.text(f"{folder}/torch/version.py")
    if text is None:
        return None
    fields = {match["name"]: _bare(match["value"]) for match in _TOLD.finditer(text)}
    version = fields.get("__version__") or versions.get("torch")
    if version is None:
        return None
    build = _torch_build(version, cuda=fields.get("cuda"), hip=fields.get("hip"))
    # the chips it has kernels for
    if build.startswith("rocm"):
        archs = _rocm_archs_of(world, folder)
    else:
        archs = archs_of(world, folder) if build.startswith("cu") else None
    return Framework(
        name="torch",
        version=version.partition("+")[0],
        build=build,
        cuda=fields.get("cuda"),
        cudnn=next((result for name, result in versions.items() if _CUDNN.fullmatch(name)), None),
        archs=archs,
    )


def _bare(value: str) -> str | None:
    """A literal of version.py: None, or what stands between quotes."""
    text = value.strip().strip("'\"")
    return None if text == "None" else text


def _torch_build(version: str, *, cuda: str | None, hip: str | None) -> str:
    """The build as its index calls it: "cu128", "rocm6.4", "cpu"."""
    named = _BUILD.search(version)
    if named and named[1].startswith(("cu", "rocm", "cpu", "xpu")):
        return named[1]
    if hip:
        return "rocm" + ".".join(hip.split(".")[:2])
    return "cu" + "".join(cuda.split(".")[:2]) if cuda else "cpu"


def _other(name: str, versions: dict[str, str | None]) -> Framework:
    text = versions[name] or ""
    version, _, build = text.partition("+")
    return Framework(
        name=name,
        version=version or None,
        build=build or None,
        cuda=next(_cuda_of(name, build, versions=versions), None),
    )


def _cuda_of(name: str, build: str, *, versions: dict[str, str | None]) -> Iterator[str]:
    """The CUDA a framework is built with, where the names of its parts say it."""
    digits = re.search(r"cu(\d{2})(\d)", build)
    if digits:
        yield f"{digits[1]}.{digits[2]}"
    if name == "jax":
        yield from (match[1] for other in versions if (match := _JAX_CUDA.fullmatch(other)))
