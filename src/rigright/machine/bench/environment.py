"""Where the parts run: the Python that measures, the cards it sees, and what they are called.

That is rigright's own Python where it has PyTorch, else another one of this machine that has.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from rigright.base.bounded import bounded_json
from rigright.base.errors import AskError, MissingError, RigError
from rigright.base.patience import patience
from rigright.base.words import say
from rigright.machine.record import Machine

_CHOOSERS = {"nvidia": "CUDA_VISIBLE_DEVICES", "amd": "HIP_VISIBLE_DEVICES", "intel": "ZE_AFFINITY_MASK"}
_OLDEST, _OLDEST_TORCH = (3, 10), (2, 1)
PATIENCE_S = 10.0
_MOST_TRIED = 6
_ASK = (
    "import sys\n"
    "sys.path[:] = [one for one in sys.path if one]\n"  # nothing of the current folder
    "import json, importlib.metadata as m, importlib.util as u\n"
    "try: v = m.version('torch')\n"
    "except m.PackageNotFoundError: v = '' if u.find_spec('torch') else None\n"
    "print(json.dumps([sys.version_info[:2], v]))"
)


def torch_python(wish: str | None, machine: Machine, *, env: Mapping[str, str]) -> str | None:
    """The Python to measure with; one that was named must do, else None where there is none."""
    if wish is not None:
        if (why := _refusal(wish)) is not None:
            raise why
        return shutil.which(wish) or wish
    if importlib.util.find_spec("torch") is not None:
        return sys.executable
    others = list(dict.fromkeys(_others(machine, env)))[:_MOST_TRIED]
    return next((path for path in others if _refusal(path) is None), None)


def _refusal(wish: str) -> RigError | None:
    """Why the parts cannot run in a Python; None where they can. A version that cannot be read is tried."""
    answer = asked(shutil.which(wish) or wish)
    if answer is None:
        return AskError(say("{path} is not a working Python", path=wish))
    version, torch = answer
    if version < _OLDEST:
        shown = ".".join(map(str, version))
        return AskError(say("{path} is Python {version}; 3.10 or newer is needed", path=wish, version=shown))
    if torch is None:
        return MissingError(say("{path} has no PyTorch", path=wish))
    numbers = re.match(r"(\d{1,18})\.(\d{1,18})", torch)
    if numbers is not None and (int(numbers[1]), int(numbers[2])) < _OLDEST_TORCH:
        return AskError(say("{path} has PyTorch {version}; 2.1 or newer is needed", path=wish, version=torch))
    return None


def asked(path: str) -> tuple[tuple[int, int], str | None] | None:
    """Its version and that of its PyTorch (None: it has none); None where it is no Python that answers."""
    try:
        done = subprocess.run(
            [path, "-c", _ASK],
            capture_output=True,
            text=True,
            timeout=patience(PATIENCE_S),
            check=True,
            stdin=subprocess.DEVNULL,
        )
        (major, minor), torch = bounded_json(done.stdout)
        return (int(major), int(minor)), None if torch is None else str(torch)[:40]
    except (OSError, subprocess.SubprocessError, ValueError, TypeError):
        return None


def _others(machine: Machine, env: Mapping[str, str]) -> Iterator[str]:
    """Pythons that may have it: those the probe saw it in, an active environment, those on the path."""
    for python in machine.software.pythons:
        if any(framework.name == "torch" for framework in python.frameworks):
            yield python.path
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if env.get(variable):
            folder = Path(env[variable])
            yield str(folder / "Scripts" / "python.exe" if os.name == "nt" else folder / "bin" / "python")
    for name in ("python3", "python"):
        path = shutil.which(name)
        if path is not None:
            yield path


def chosen(text: str | None, machine: Machine) -> tuple[int, ...] | None:
    """Read "0,2" or "gpu 1"; None: all."""
    if text is None or text.strip().lower() in {"all", ""}:
        return None
    there = {device.index for device in machine.devices}
    numbers = []
    for word in text.lower().replace("gpu", "").split(","):
        number = word.strip()
        if not number.isdecimal():
            raise AskError(say('cannot read "{text}" as GPU numbers; for example 0,2', text=text))
        if there and int(number) not in there:
            known = ", ".join(map(str, sorted(there)))
            raise AskError(say("no GPU {number}; found {known}", number=number, known=known))
        numbers.append(int(number))
    return tuple(dict.fromkeys(numbers))


def environment(
    env: Mapping[str, str], wish: tuple[int, ...] | None, *, machine: Machine, cpus: int
) -> dict[str, str]:
    """The child's variables: cards in the order of the bus, only those wished for, all threads for NumPy."""
    fields = {**env, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        fields[name] = str(cpus)
    if wish is not None:
        vendor = next((device.vendor for device in machine.devices), "nvidia")
        fields[_CHOOSERS.get(vendor, _CHOOSERS["nvidia"])] = ",".join(map(str, wish))
    return fields


def names(env: Mapping[str, str], machine: Machine) -> tuple[str, ...]:
    """What each card of the child is called, in its order; what cannot be told keeps its own word."""
    for chooser in _CHOOSERS.values():
        if env.get(chooser):
            return tuple(_name(word.strip(), machine) for word in env[chooser].split(",") if word.strip())
    return tuple(f"gpu {device.index}" for device in sorted(machine.devices, key=lambda item: item.index))


def _name(word: str, machine: Machine) -> str:
    if word.isdecimal():
        return f"gpu {word}"
    known = (device.index for device in machine.devices if device.uuid and device.uuid.startswith(word))
    index = next(known, None)
    return f"gpu {word}" if index is None else f"gpu {index}"


def usable_cpus() -> tuple[int, ...]:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))
