"""What a replica did, stretch by stretch; of a long log only the sums that a tally needs are kept."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np

STRETCH = (
    "end_s",
    "took_s",
    "passes",
    "sequences",
    "used_blocks",
    "prompt_tok",
    "standing",
)  # a row of the log
FOLDED_ROWS = 2**16  # beyond so many the older ones are folded
THINNED = 16  # one in so many of those folded stays a point of the curves
MOST_GAPS = 2**18  # beyond so many kinds of gap they are told to a ten-thousandth
_ROUNDED_BITS = 10  # of a float's 23


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """What had been done by some moments: blocks of cache times seconds, tokens."""

    end_s: np.ndarray
    filled: np.ndarray
    made: np.ndarray


class Log:
    """The stretches of one replica."""

    def __init__(self) -> None:
        self.busy_s = self.alone_s = self.passes = self.most_blocks = 0.0  # alone: without prompts
        self.gap_s = self.longest_gap_s = 0.0  # of all tokens together
        self._rows = array("d")
        self._stood = 0.0  # sequences that stood still in the stretch before
        self._gaps: list[np.ndarray] = []  # how long, and of how many tokens
        self._points: list[np.ndarray] = [np.zeros((3, 0))]
        self._done = np.zeros((2, 1))  # filled and made so far

    def add(self, row: tuple[float, ...]) -> None:
        """One more stretch."""
        self._rows.extend(row)
        if len(self._rows) >= FOLDED_ROWS * len(STRETCH):
            self._fold(thinned=THINNED)

    def columns(self) -> dict[str, np.ndarray]:
        """The stretches that are not folded."""
        rows = np.array(self._rows).reshape(-1, len(STRETCH))
        return dict(zip(STRETCH, rows.T, strict=True))

    def gaps(self) -> tuple[np.ndarray, np.ndarray]:
        """Gaps between tokens as users see them, and how many tokens came after each."""
        self._fold()
        gaps, weights = np.concatenate([np.zeros((2, 0)), *self._gaps], axis=1)
        return gaps, weights

    def curves(self) -> Curves:
        """The cache and the tokens over time."""
        self._fold()
        end_s, filled, made = np.concatenate(self._points, axis=1)
        return Curves(end_s=end_s, filled=filled, made=made)

    def _fold(self, *, thinned: int = 1) -> None:
        """Sum up what is there; where more may come, up to the last pass that made tokens."""
        log = self.columns()
        count = len(log["end_s"])
        if not count:
            return
        making = np.flatnonzero(log["sequences"] > 0)
        if thinned > 1 and len(making) and making[-1] >= count // 2:
            count = int(making[-1]) + 1
        log = {name: column[:count] for name, column in log.items()}
        self._rows = self._rows[count * len(STRETCH) :]
        self.busy_s += float(log["took_s"].sum())
        self.alone_s += float(log["took_s"][log["prompt_tok"] == 0].sum())
        self.passes += float(log["passes"].sum())
        self.most_blocks = max(self.most_blocks, float(log["used_blocks"].max()))
        steps = np.stack([log["used_blocks"] * log["took_s"], log["sequences"] * log["passes"]])
        done = self._done + np.cumsum(steps, axis=1)
        self._done = done[:, -1:]
        points = np.concatenate([log["end_s"][None], done])
        self._points.append(points[:, ::-1][:, ::thinned][:, ::-1].copy())  # the last is always one of them
        gaps, weights = values = _gaps(log, self._stood)
        self._stood = float(log["standing"][-1])
        self.gap_s += float(gaps @ weights)
        self.longest_gap_s = max(self.longest_gap_s, float(gaps.max(initial=0.0)))
        self._gaps.append(values)
        if sum(kinds.shape[1] for kinds in self._gaps) > MOST_GAPS:
            self._gaps = [_rounded(*np.concatenate(self._gaps, axis=1))]


def _gaps(log: dict[str, np.ndarray], stood: float) -> np.ndarray:
    """A pass, and the passes of prompts alone before it; who stood still waited from then on."""
    makes, took, standing = log["sequences"] > 0, log["took_s"], log["standing"]
    each = np.where(makes, took / np.maximum(log["passes"], 1), 0.0)
    spent = np.cumsum(np.where(makes, 0.0, took))
    before = np.concatenate([[stood], standing[:-1]])  # who stood already in the pass before
    following = np.searchsorted(np.flatnonzero(makes), np.arange(len(makes)))
    rows = np.append(np.flatnonzero(makes), len(makes) - 1)[following]
    waited = np.where(makes, 0.0, spent[rows] - spent + took) + each[rows]
    weights = np.where(makes, log["sequences"] - before, np.maximum(standing - before, 0.0))
    more = np.where(makes, log["sequences"] * (log["passes"] - 1), 0.0)
    first, rest = weights > 0, more > 0
    return np.hstack([[waited[first], weights[first]], [each[rest], more[rest]]])


def _rounded(gaps: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Gaps that differ by less than anybody reads, as one."""
    half = np.uint32(1 << (_ROUNDED_BITS - 1))
    kinds = (gaps.astype(np.float32).view(np.uint32) + half) >> np.uint32(_ROUNDED_BITS)
    value, places = np.unique(kinds, return_inverse=True)
    values = (value << np.uint32(_ROUNDED_BITS)).view(np.float32).astype(float)
    return np.stack([values, np.bincount(places, weights=weights)])
