"""How long we wait for what may hang: one factor over all such waits."""

from __future__ import annotations

import os
from collections.abc import Mapping

NAME = "RIGRIGHT_PATIENCE"  # a factor: 2 waits twice as long for a driver, a command, a peer
MOST = 1000.0


def patience(wait_s: float, env: Mapping[str, str] | None = None) -> float:
    """A wait, times the factor that the environment sets now; where it sets no usable one, as it is."""
    try:
        factor = float((os.environ if env is None else env).get(NAME) or 1)
    except ValueError:
        return wait_s
    return wait_s * factor if 0 < factor <= MOST else wait_s
