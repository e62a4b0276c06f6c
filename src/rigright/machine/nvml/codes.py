"""What the driver's numbers mean: its errors as sentences, its other codes as our words."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType

from rigright.base.loader import rows
from rigright.base.units import KILO
from rigright.base.words import Sentence, say

NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, NOT_LOADED, NO_LIBRARY, NO_SUCH_CALL = 3, 4, 6, 9, 12, 13
LOST, RESET_REQUIRED, MISMATCH, UNKNOWN = 15, 16, 18, 999
HUNG = -2  # ours: the call never came back
DIED = -3  # ours: the call took the process down
SLOW = -4  # ours: there was no time left for it

_WHY = {
    NOT_SUPPORTED: say("not reported by the driver for this device"),
    NO_PERMISSION: say("no permission: the driver does not show it to this user"),
    NOT_LOADED: say("the kernel's nvidia module is not loaded"),
    NO_LIBRARY: say("the driver's library (libnvidia-ml) is not installed"),
    NO_SUCH_CALL: say("this driver is too old to report it"),
    LOST: say("the device is lost: it fell off the bus"),
    RESET_REQUIRED: say("the device must be reset first"),
    MISMATCH: say("driver library and kernel module have different versions"),
    HUNG: say("the driver did not answer the query"),
    SLOW: say("the driver is too slow: no time left to query it"),
    DIED: say("querying it crashed the process"),
}

HANGS = say("NVIDIA's driver hangs: it did not answer in time")
ENDED = say("NVIDIA's driver library crashed the querying process")
NO_BINDING = say("the Python package nvidia-ml-py is not installed")

BRANDS = MappingProxyType(
    {
        1: "Quadro", 2: "Tesla", 3: "NVS", 4: "GRID", 5: "GeForce", 6: "Titan", 12: "Quadro RTX",
        13: "NVIDIA RTX", 14: "NVIDIA", 15: "GeForce RTX", 16: "Titan RTX",
    }
)  # fmt: skip
COMPUTE_MODES = ("default", "exclusive thread", "prohibited", "exclusive process")
FABRIC_STATES = ("not supported", "not started", "in progress", "completed")
FABRIC_HEALTH = (None, "healthy", "unhealthy", "limited capacity")
RECOVERIES = (
    *("none", "gpu reset", "node reboot", "drain p2p", "drain and reset"),
    *("recover imex", "bus reset", "system reboot"),
)
LEVELS = MappingProxyType({0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"})
PEER_KINDS = MappingProxyType({0: "gpu", 1: "cpu", 2: "switch"})


def why(code: int) -> Sentence:
    """A code of the driver as a sentence."""
    return _WHY.get(code) or say("driver error {code}", code=code)


def as_sentence(kept: str) -> Sentence | str:
    """What a record keeps as English text, as the sentence it was, so that any language can tell it."""
    return next(
        (sentence for sentence in (*_WHY.values(), HANGS, ENDED, NO_BINDING) if str(sentence) == kept), kept
    )


def word(words: tuple[str | None, ...] | Mapping[int, str], code: object) -> str | None:
    """The word for a number; None where we know none."""
    if not isinstance(code, int):
        return None
    if isinstance(words, tuple):
        return words[code] if 0 <= code < len(words) else None
    return words.get(code)


@cache
def _slowdowns() -> tuple[tuple[int, str], ...]:
    return tuple((int(bit, 16), word) for bit, word in rows("slowdowns.csv", "bit", "word"))


def slowed_by(bits: object) -> tuple[str, ...] | None:
    """The reasons that a set of bits holds."""
    return _reasons(bits) if isinstance(bits, int) else None


@lru_cache(256)
def _reasons(bits: int) -> tuple[str, ...]:
    return tuple(sorted(name for bit, name in _slowdowns() if bits & bit))


def cuda_version(number: object) -> str | None:
    """12040 -> "12.4"."""
    if not isinstance(number, int) or number <= 0:
        return None
    major, minor = divmod(number, int(KILO))
    return f"{major}.{minor // 10}"
