"""Ramp and tail of a run that ends: what a benchmark shows that a service never does.

All of its first round start together and have half of each other's prompts before them; at its end the
longest answers are alone with the weights. Answers lie between all alike and exponential: nothing is fitted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rigright.base.record import dataclass
from rigright.demand import Numbers, Traffic

EULER = 0.5772  # longest of n exponential answers over their mean: ln n + this
EMPTIER, LEAST = 1 - np.log(2), 1e-9  # of what company adds to a token, what answers miss while all end
FEWER = (0.0, 0.25, 0.5, 0.75, 1.0)
SIMPSON = (1 / 12, 1 / 3, 1 / 6, 1 / 3, 1 / 12)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ramp:
    """The part of a run that is not steady."""

    first: Numbers  # share of its requests that start together; as many end together
    spread: Numbers  # of answers, 0 to 1
    outputs: Numbers

    def queue(self, beyond: Numbers) -> Numbers:
        """The wait for a slot over an endless loop's, where a share of the load is `beyond` slots."""
        return 1 - self.first * (1 - beyond / 2)

    def prompts(self, admitted: Numbers, *, passes: Numbers) -> Numbers:
        """What others' prompts add to a token, over a steady loop; `admitted` is a share of the load.

        Those admitted together take so many `passes`. A short answer has fewer, and all of them hold prompts.
        """
        later = 1 - 1 / np.maximum(passes, 1)  # nobody waits for the first pass
        passes = np.maximum(passes / self.outputs, LEAST)
        alike = np.where(passes < 1, 0.5, (1 - 0.5 / passes) / passes)
        decay = np.exp(-passes)
        integral = (
            decay * (np.log1p(1 / passes) + np.log1p(2 / passes) / 2) / 2
        )  # exponential: between bounds
        unlike = passes + decay - 1 + passes**2 / 2 * integral + (1 - (passes + 1) * decay) / 2
        met = alike + self.spread**2 * (unlike / passes**2 - alike)
        return 1 - self.first * admitted * (1 - met * later)

    def token_s(self, full_s: Numbers, *, alone_s: Numbers) -> Numbers:
        """A pass of next tokens on average: of the last round each has less and less company."""
        return full_s - self.first * self.spread * EMPTIER * np.maximum(full_s - alone_s, 0)

    def tail_s(self, running: Numbers, *, fewer_s: Sequence[Numbers]) -> Numbers:
        """What the end takes longer than its tokens would among others, with ever fewer at work.

        `fewer_s`: a token with one at work, with all, and at the powers of their number between (`FEWER`).
        """
        mean_s = sum(weight * time for weight, time in zip(SIMPSON, fewer_s, strict=True))
        longest_s = np.log(np.maximum(running, 1)) * mean_s + EULER * fewer_s[0] - fewer_s[-1]
        return self.spread * self.outputs * np.maximum(longest_s, 0)


def ramp_of(traffic: Traffic, *, load: Numbers, usual: Numbers) -> Ramp:
    """The ramp of such a run; `usual`: the share that starts together where nobody says how many came."""
    share: Numbers = 0.0
    if traffic.requests is not None:
        share = np.minimum(load / traffic.requests, 1.0)
        share = np.where(np.isnan(share), usual, share)
    spread = 0.0 if traffic.output_spread is None else np.minimum(traffic.output_spread, 1.0)
    return Ramp(first=share, spread=spread, outputs=np.maximum(traffic.output_tok, 1))
