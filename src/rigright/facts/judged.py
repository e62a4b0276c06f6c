"""From how many on errors of links and memory are many: the doctor and the alerts go by the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from rigright.base.tables import DATA, read_toml


@cache
def nvlink_errors() -> Mapping[str, int]:
    """Kind of error -> from how many on a link that counted so many is worth a look."""
    told = _judged()["nvlink_errors"]
    return dict.fromkeys(told["any"], 1) | dict.fromkeys(told["many"], int(told["times"]))


@cache
def pcie_replays() -> Mapping[int, float]:
    """Generation -> packets sent again, a minute and lane, that a sound link stays below."""
    told = _judged()["pcie_replays"]["a_minute_and_lane"]
    return {int(gen): float(most) for gen, most in told.items()}


@cache
def corrected_errors() -> int:
    """Corrected memory errors of a card since its reset, from which on it wears out."""
    return int(_judged()["corrected_errors"]["times"])


def _judged() -> dict[str, Any]:
    return read_toml(DATA / "judged.toml")
