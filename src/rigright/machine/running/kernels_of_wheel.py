"""The chips a PyTorch wheel has kernels for, as its library was told when it was built.

The list that `torch.cuda.get_arch_list()` answers with is one string in libtorch_python.so. It is looked for
in the file, so nothing has to be imported and no GPU is woken.
"""

from __future__ import annotations

import re

from rigright.base.units import MIB
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


def rocm_archs_of(world: World, folder: str) -> tuple[str, ...] | None:
    """The same of a ROCm wheel: its rocBLAS has files for the chips that the wheel was built for."""
    names = world.names(f"{folder}/{ROCM_KERNELS}")
    return tuple(sorted({match[0] for name in names for match in _GFX.finditer(name)})) or None
