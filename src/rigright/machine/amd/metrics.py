"""The table that AMD's firmware hands to the kernel, `gpu_metrics`: what holds a card back.

Of its many layouts one is read: 1.3, of Radeons and of the MI200, with its reasons in bits that mean the same
on every card. Source: the kernel's kgd_pp_interface.h and amdgpu_smu.h.
"""

from __future__ import annotations

FILE = "gpu_metrics"
MOST_BYTES = 4096
_LAYOUT = (1, 3)
_STATUS = slice(112, 120)
_ALL = (1 << 64) - 1  # all bits set: not stated
_WORDS = {  # first and last bit -> a word of data/slowdowns.csv
    (0, 7): "sw_power_cap",
    (16, 23): "sw_power_cap",  # currents: limits of the same kind
    (32, 45): "sw_thermal",
    (46, 47): "hw_slowdown",
    (56, 56): "sw_power_cap",
    (57, 57): "reliability",
}


def slowed_by(raw: bytes | None) -> tuple[str, ...] | None:
    """What holds the card back now; None where another layout, or nothing, tells it."""
    if raw is None or len(raw) < _STATUS.stop or tuple(raw[2:4]) != _LAYOUT:
        return None
    status = int.from_bytes(raw[_STATUS], "little")
    if status == _ALL:
        return None
    return tuple(sorted({word for (low, high), word in _WORDS.items() if _any(status, low, last=high)}))


def _any(status: int, first: int, *, last: int) -> bool:
    return bool(status >> first & ((1 << (last - first + 1)) - 1))
