"""What changes bring: time that a cause takes shrinks as the thing becomes faster, the rest stays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rigright.base.units import KILO
from rigright.build.record import Change, Worth

LEAST_GAIN = 1.02  # a change that brings less is not worth a line


def gain(shares: Mapping[str, float], helps: Mapping[str, float]) -> float:
    """How many times as fast the whole becomes: Amdahl's law over the causes' shares of time."""
    known = sum(shares.values())
    left = max(0.0, 1.0 - known) + sum(share / helps.get(cause, 1.0) for cause, share in shares.items())
    return 1.0 / left


def ranked(
    changes: Iterable[Change], shares: Mapping[str, float], *, full: frozenset[str] = frozenset()
) -> tuple[Worth, ...]:
    """Possible changes that bring something: free ones first, then by gain for the money.

    Of cards the best that drops in goes first. What takes more of a thing that is full brings nothing.
    """
    worths = [
        _worth(change, shares) for change in changes if change.possible and full.isdisjoint(change.takes)
    ]
    useful = [worth for worth in worths if worth.gain >= LEAST_GAIN]
    useful.sort(key=lambda worth: (worth.gain_per_kusd is not None, -(worth.gain_per_kusd or worth.gain)))
    cards = [worth for worth in useful if worth.change.kind == "cards"]
    dropping = next((worth for worth in cards if worth.change.drops_in), None)
    if dropping is None:
        return tuple(useful)
    place = useful.index(cards[0])
    useful.remove(dropping)
    return (*useful[:place], dropping, *useful[place:])


def _worth(change: Change, shares: Mapping[str, float]) -> Worth:
    whole = gain(shares, change.helps)
    usd = change.usd
    per_kusd = (whole - 1.0) / (usd.value / KILO) if usd is not None and usd.value > 0 else None
    return Worth(change=change, gain=whole, gain_per_kusd=per_kusd)
