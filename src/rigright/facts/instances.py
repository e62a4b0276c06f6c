"""Machines of clouds by name that have no price here: instances, and slices of TPU pods."""

from __future__ import annotations

import re
from functools import cache

from rigright.base.tables import DATA, read_rows, text

_SLICE = re.compile(r"(?:(?:cloud )?tpu[ -]?)?(v4|v5p|v5e|v5litepod|v6e)-(\d{1,4})")
_NAMED = re.compile(  # as AWS, Azure, Oracle, Alibaba, Google and Tencent call what they rent
    r"(?:u-)?[a-z]\w{0,9}(?:-\w+)?\.(?:\d{0,3}x?large|metal)(?:-\w+)?|standard_\w+|[bv]m\.gpu[\w.-]*"
    r"|ecs\.[\w.-]+|[a-z]\d\w?-(?:high|mega|ultra|edge|max|standard)\w*-\d+\w*|[a-z]{2,6}\d\w*\.\w*large\d+"
)
_CORES = frozenset({"v4", "v5p"})  # whose slices are counted in cores, two a chip


@cache
def _instances() -> dict[str, str]:
    readers = dict.fromkeys(("instance", "machine"), text)
    rows = read_rows(DATA / "instances.csv", readers, required=tuple(readers))
    return {row["instance"].casefold(): row["machine"] for row in rows}


def machine_of(name: str) -> str | None:
    """The GPUs of an instance or of a slice, as they are typed: "8x h100 sxm", "4x tpu v5p"."""
    plain = " ".join(name.casefold().split())
    cut = _SLICE.fullmatch(plain)
    if cut is None:
        return _instances().get(plain)
    kind, count = cut[1].replace("v5litepod", "v5e"), int(cut[2])
    chips, odd = divmod(count, 2 if kind in _CORES else 1)
    return None if odd or not chips else f"{chips}x tpu {kind}"


def is_instance(name: str) -> bool:
    """Whether a name is written as clouds write those of instances."""
    return _NAMED.fullmatch(name.casefold().strip()) is not None
