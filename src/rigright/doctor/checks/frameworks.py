"""PyTorch and other frameworks: builds that fit the GPUs, the driver and Python."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering
from rigright.doctor.record import CheckInput, Fine, NotSeen, Verdict, check
from rigright.doctor.stack import (
    capabilities,
    driver,
    frameworks,
    is_contained,
    numbers,
    override_of,
    program,
    variable,
)
from rigright.doctor.torch_fit import has_kernels, reinstall, row_of
from rigright.facts.software import (
    TensorFlow,
    Version,
    driver_for,
    pythons_of,
    tensorflow_releases,
    written,
)
from rigright.machine.device import Device
from rigright.machine.system import Framework, Python

_BUILDS = {"nvidia": "cu", "amd": "rocm", "intel": "xpu"}
_COMPAT = re.compile(r"/cuda(?:-(\d{1,18})(?:\.\d+)?)?/compat\b")
KIN, _OF_KIN = ("gfx1031", "gfx1032", "gfx1034"), "gfx1030"
_NO_CARDS = {"", "-1", "NoDevFiles"}  # of CUDA_VISIBLE_DEVICES


@check(say("PyTorch sees the GPUs"))
def torch_blind(case: CheckInput) -> Iterator[Verdict]:
    """Whether a CUDA build of PyTorch finds the GPUs that the driver lists.

    `torch.cuda.is_available()` can return False although the driver works and the wheel fits:
    CUDA_VISIBLE_DEVICES is empty, /dev/nvidia-uvm is missing or its module broke during suspend, the
    container was started without GPUs, an NVSwitch baseboard waits for Fabric Manager (CUDA error 802), or
    another libcuda comes first on the library path. The CUDA error says which one; PyTorch hides it.

    Fault: it finds none. CPU-only builds and drivers that are too old have checks of their own. Source:
    PyTorch's collect_env, NVIDIA CUDA installation guide, NVIDIA fabric manager guide.
    """
    if not any(device.vendor == "nvidia" and device.state == "ok" for device in case.machine.devices):
        return
    have, hidden = numbers(driver(case)), variable(case, "CUDA_VISIBLE_DEVICES")
    is_wsl, is_inside = case.machine.system.virtual == "wsl2", is_contained(case)
    for python, torch in frameworks(case, "torch"):
        if torch.sees is None or not (torch.cuda or (torch.build or "").startswith("cu")):
            continue
        cuda = numbers(torch.cuda)
        if torch.sees:
            yield Fine(says=say("{count} GPUs found", count=torch.sees), about=python.path)
        elif have is None:
            yield NotSeen(
                why=say("PyTorch finds no GPU, and the driver version is unknown"),
                see="nvidia-smi --query-gpu=driver_version --format=csv",
                about=python.path,
            )
        elif cuda is None or have >= driver_for((*cuda, 0)[:2]):
            yield advise(
                "frameworks.blind",
                about=python.path,
                python=python.path,
                is_hidden=hidden is not None and hidden.strip() in _NO_CARDS,
                is_switched=any(
                    chip is not None and "NVSwitch" in (chip.link or "") for _, chip in case.pairs
                ),
                is_wsl=is_wsl,
                is_inside=is_inside and not is_wsl,
                is_plain=not is_inside and not is_wsl,
            )


@check(say("PyTorch build supports these GPUs"))
def torch_chip(case: CheckInput) -> Iterator[Verdict]:
    """Whether the installed PyTorch wheel has kernels for these GPUs.

    A wheel contains kernels for a list of compute capabilities. A kernel for X.y runs on X.z if z >= y, and
    PTX for the newest one is compiled for newer GPUs at load time. If nothing fits, every operation fails
    with "no kernel image is available for execution on the device". New wheels drop old GPUs (Volta since
    2.11, Maxwell and Pascal in all but cu126 builds), and old wheels lack new ones (Blackwell needs 2.7 with
    cu128).

    Fault: no kernels for a GPU. Source: the list in the wheel's own library where it can be read, else
    data/torch.csv.
    """
    for python, torch in frameworks(case, "torch"):
        if not (torch.build or "").startswith("cu"):
            continue
        row = row_of(torch)
        archs = torch.archs or (tuple(map(written, row.capabilities)) if row else ())
        for capability, chip in capabilities(case).items():
            runs = has_kernels(torch, capability)
            if runs is None:
                why = say("supported GPUs of this build are unknown")
                yield NotSeen(why=why, see=_list_archs(python), about=python.path)
            elif runs:
                says = say("torch {version} supports {chip}", version=torch.version, chip=chip)
                yield Fine(says=says, about=python.path)
            else:
                yield advise(
                    "frameworks.no_kernels",
                    confidence="sure" if torch.archs else "likely",
                    about=f"{python.path}, {chip}",
                    version=torch.version,
                    build=torch.build,
                    chip=chip,
                    capability=written(capability),
                    archs=" ".join(archs) or "?",
                    python=python.path,
                    reinstall=reinstall(case, python),
                )


@check(say("PyTorch ROCm build supports these GPUs"))
def torch_rocm(case: CheckInput) -> Iterator[Verdict]:
    """Whether the installed PyTorch ROCm wheel has kernels for these AMD GPUs.

    A ROCm wheel contains kernels for exact targets (gfx1100 is not gfx1101); nothing is compiled for others
    at load time. Without them every operation fails with "invalid device function", or rocBLAS aborts with
    "Cannot read TensileLibrary.dat". Official wheels leave out the smaller Radeons of a family (gfx1031,
    gfx1032), most integrated GPUs, and a new family until its ROCm release. Kernels for gfx1030 also run on
    gfx1031, gfx1032 and gfx1034, which have the same instructions: set HSA_OVERRIDE_GFX_VERSION=10.3.0.

    Fault: no kernels for a GPU. Source: the list in the wheel's own rocBLAS files; ROCm/rocBLAS#1339;
    pytorch/pytorch#164346.
    """
    cards = [
        device
        for device, chip in answering(case, vendor="amd")
        if device.isa and (chip is not None or not device.unified_memory)
    ]
    kinds = {card.isa or "": card for card in sorted(cards, key=lambda item: item.index, reverse=True)}
    for python, torch in frameworks(case, "torch"):
        if (torch.build or "").startswith("rocm"):
            for isa, device in sorted(kinds.items()):
                yield _of_rocm(python, torch, device=device, isa=override_of(case) or isa)


def _of_rocm(python: Python, torch: Framework, *, device: Device, isa: str) -> Verdict:
    about = f"{python.path}, {label(device)}"
    if torch.archs is None:
        return NotSeen(
            why=say("the build does not list its GPU targets"), see=_list_archs(python), about=about
        )
    if isa in torch.archs:
        return Fine(says=say("torch {version} supports {chip}", version=torch.version, chip=isa), about=about)
    has_kin = isa in KIN and _OF_KIN in torch.archs
    return advise(
        "frameworks.no_rocm_kernels_but_kin" if has_kin else "frameworks.no_rocm_kernels",
        about=about,
        version=torch.version,
        build=torch.build,
        chip=f"{device.name} ({isa})" if device.name else isa,
        archs=" ".join(torch.archs),
        python=python.path,
    )


def _list_archs(python: Python) -> str:
    return f'{program(python)} -c "import torch; print(torch.cuda.get_arch_list())"'


@check(say("PyTorch build matches the GPU vendor"))
def torch_cpu_only(case: CheckInput) -> Iterator[Verdict]:
    """Whether PyTorch is built for the GPUs of this machine (CUDA, ROCm, XPU).

    `pip install torch` installs a CPU-only build on Windows, on Arm before 2.9, from the `cpu` index, or from
    an incomplete mirror. Programs then run tens of times slower, without an error.

    Warning: a CPU-only build on a machine with GPUs, a CUDA build with AMD GPUs, or the reverse. Small
    integrated GPUs do not count. Source: PyTorch installation guide; data/torch_indexes.csv.
    """
    builds = tuple(
        _BUILDS[device.vendor]
        for device, chip in case.pairs
        if device.vendor in _BUILDS and (chip is not None or not device.unified_memory)
    )
    for python, torch in frameworks(case, "torch") if builds else ():
        build = torch.build or ""
        if build.startswith(builds) or not build:
            says = say("torch {version}, build {build}", version=torch.version, build=build or "?")
            yield Fine(says=says, about=python.path)
        else:
            yield advise(
                "frameworks.processor_only" if build.startswith("cpu") else "frameworks.other_cards",
                about=python.path,
                version=torch.version,
                build=build,
                python=python.path,
                reinstall=reinstall(case, python),
            )


@check(say("driver is new enough for every framework"))
def torch_driver(case: CheckInput) -> Iterator[Verdict]:
    """Whether the driver supports the CUDA version that each framework was built with.

    A framework's wheel brings its own CUDA libraries, so only the driver must be new enough. It supports its
    own CUDA version, every older one and, since CUDA 11, every minor version of the same major one. With an
    older driver PyTorch says "The NVIDIA driver on your system is too old" and falls back to the CPU. The
    toolkit in /usr/local/cuda does not matter. On datacenter GPUs NVIDIA's cuda-compat-X-Y package lets an
    older driver run a newer CUDA, if its folder is on LD_LIBRARY_PATH.

    Fault: too old. Minor versions of one major version are fine. Source: CUDA compatibility guide;
    data/cuda.csv.
    """
    have = numbers(driver(case))
    if have is None or case.machine.system.virtual == "wsl2":
        return
    for python in case.machine.software.pythons:
        for framework in python.frameworks:
            row = _tensorflow(framework)
            text = framework.cuda or (row.cuda if row else None)
            cuda = numbers(text)
            if cuda is None:
                continue
            needs = driver_for(cuda[:2] if len(cuda) > 1 else (cuda[0], 0))
            about = f"{framework.name} {framework.version}, {python.path}"
            shown = {"cuda": written(cuda[:2]), "needs": written(needs), "have": driver(case)}
            if have >= needs:
                yield Fine(
                    says=say("CUDA {cuda} needs driver {needs}; installed: {have}", **shown), about=about
                )
            elif (folder := _carried(case, cuda)) is not None:
                says = say(
                    "CUDA {cuda} through cuda-compat in {folder}",
                    cuda=written(cuda[:2]),
                    folder=folder,
                )
                yield Fine(says=says, about=about)
            else:
                carries = written(cuda[:2]) if _takes_package(case) and len(cuda) > 1 else None
                yield advise(
                    "frameworks.old_driver",
                    shown | {"cuda": text},
                    confidence="sure" if needs[0] > have[0] else "likely",
                    about=f"{framework.name}, {python.path}",
                    name=framework.name,
                    version=framework.version,
                    python=python.path,
                    reinstall=reinstall(case, python) if framework.name == "torch" else None,
                    carries=carries,
                    package=(carries or "").replace(".", "-"),
                )


def _tensorflow(framework: Framework) -> TensorFlow | None:
    """The row of the table for an installed TensorFlow."""
    wanted = (framework.version or "").split(".")[:2]
    rows = {tuple(row.tensorflow.split(".")[:2]): row for row in tensorflow_releases()}
    return rows.get((wanted[0], wanted[-1])) if framework.name == "tensorflow" else None


def _carried(case: CheckInput, cuda: Version) -> str | None:
    """The folder of the compatibility package that programs load, where these cards take it."""
    path = (variable(case, "LD_LIBRARY_PATH") or "").split(":")
    for folder in path if _takes_package(case) else ():
        match = _COMPAT.search(folder)
        if match and (match[1] is None or int(match[1]) == cuda[0]):
            return folder
    return None


def _takes_package(case: CheckInput) -> bool:
    """Whether all cards of NVIDIA's are datacentre ones, for which alone the package is."""
    segments = {chip.segment if chip else None for device, chip in case.pairs if device.vendor == "nvidia"}
    return segments == {"datacenter"}


@check(say("Python version supported by each framework"))
def torch_python(case: CheckInput) -> Iterator[Verdict]:
    """Whether each framework supports the Python version it is installed in.

    Wheels exist for certain Python versions. With any other, pip picks an old release, builds from source, or
    installs a CPU-only build. Advice such as "3.8 to 3.11" is outdated: torch 2.9 needs 3.10, 2.15 needs
    3.11.

    Warning: outside the range of the installed release. Source: data/torch.csv, data/tensorflow.csv.
    """
    for python in case.machine.software.pythons:
        have = numbers(python.version)
        for framework in python.frameworks:
            row = row_of(framework) if framework.name == "torch" else _tensorflow(framework)
            span = pythons_of(row.python) if row else None
            if have is None or row is None or span is None:
                continue
            about = f"{framework.name}, {python.path}"
            if span[0] <= have[:2] <= span[1]:
                says = say("Python {version}, wheels for {span}", version=python.version, span=row.python)
                yield Fine(says=says, about=about)
            else:
                yield advise(
                    "frameworks.no_wheels",
                    about=about,
                    name=framework.name,
                    version=framework.version,
                    span=row.python,
                    have=python.version,
                    python=python.path,
                )
