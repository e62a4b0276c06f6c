"""How to roll a change out over many machines: a few first, each wave proven before the next."""

from __future__ import annotations

import math

from rigright.verbs.upgrade.upgraded import Wave

_SHARES = (0.05, 0.25, 1.0)  # of the machines that have the change after each wave; one machine comes first


def waves(n_machines: int) -> tuple[Wave, ...]:
    """The canary, then waves that grow."""
    done, result = 0, []
    for total in (1, *(math.ceil(share * n_machines) for share in _SHARES)):
        if total > done:
            result.append(Wave(first=done + 1, last=total))
            done = total
    return tuple(result)
