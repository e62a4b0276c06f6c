"""One quantity sampled for as long as it takes, in a room that does not grow."""

from __future__ import annotations

MOST_BINS = 2048


class MeasuredSeries:
    """Values in bins of equal time; when the room is full two bins become one."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        self.peak = float("-inf")
        self.count = 0
        self._sum = 0.0
        self._stride = 1
        self._bins: list[tuple[float, float] | None] = []  # mean and peak; None: not observed
        self._open: list[float | None] = []

    def add(self, value: float | None) -> None:
        """Take one sample."""
        if value is not None:
            self.peak = max(self.peak, value)
            self.count += 1
            self._sum += value
        self._open.append(value)
        if len(self._open) >= self._stride:
            seen = [value for value in self._open if value is not None]
            self._bins.append((sum(seen) / len(seen), max(seen)) if seen else None)
            self._open = []
            if len(self._bins) >= MOST_BINS:
                pairs = zip(self._bins[::2], self._bins[1::2], strict=True)
                self._bins = [_merged(first, second) for first, second in pairs]
                self._stride *= 2

    @property
    def mean(self) -> float:
        """Of all samples."""
        return self._sum / self.count

    @property
    def median(self) -> float:
        """Of the bins' means: of all samples while there are few."""
        means = sorted(pair[0] for pair in self._all() if pair is not None)
        return (means[len(means) // 2] + means[(len(means) - 1) // 2]) / 2

    @property
    def highest(self) -> tuple[float | None, ...]:
        """The highest value of each bin, in order of time."""
        return tuple(None if pair is None else pair[1] for pair in self._all())

    def _all(self) -> list[tuple[float, float] | None]:
        seen = [value for value in self._open if value is not None]
        return [*self._bins, (sum(seen) / len(seen), max(seen))] if seen else self._bins


def _merged(
    first: tuple[float, float] | None, second: tuple[float, float] | None
) -> tuple[float, float] | None:
    if first is None or second is None:
        return first or second
    return (first[0] + second[0]) / 2, max(first[1], second[1])
