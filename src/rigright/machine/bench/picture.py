"""What preparing data is measured with: a picture as PNG packs it, with NumPy, and counts of workers."""

from __future__ import annotations

import zlib
from typing import Any

SIDE, CHANNELS = 512, 3


def packed(seed: int, side: int = SIDE) -> bytes:
    """A picture as PNG packs it: differences to the left neighbour, deflated."""
    import numpy as np

    source = np.random.default_rng(seed)
    across = np.linspace(0, 255, side)
    smooth = (across[None, :, None] + across[:, None, None] + source.integers(0, 24, (side, side, 3))) % 256
    rows = smooth.astype(np.uint8)
    differences = rows.copy()
    differences[:, 1:] -= rows[:, :-1]
    return zlib.compress(differences.tobytes(), 6)


def decoded(data: bytes, side: int = SIDE) -> Any:
    """Its pixels, by rows and columns."""
    import numpy as np

    differences = np.frombuffer(zlib.decompress(data), np.uint8).reshape(side, side, CHANNELS)
    return np.cumsum(differences, axis=1, dtype=np.uint8)


def prepared(data: bytes) -> Any:
    """What a network is fed: decoded, every second pixel, channels first, about zero."""
    pixels = decoded(data)[::2, ::2].transpose(2, 0, 1)
    return (pixels.astype("float32") / 255.0 - 0.45) / 0.225


def worker_counts(most: int) -> list[int]:
    """How many workers are tried: 1, 2, 4 ... and all."""
    return sorted({*(2**power for power in range(10) if 2**power < most), most})
