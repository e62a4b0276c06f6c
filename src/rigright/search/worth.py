"""What quality and speed are worth in money: the one exchange rate by which the first plan is chosen.

All are logarithms of a price. A step of quality that can be measured costs what people pay for it; the step
below 4 bit, where answers get worse for all to see, far more than the next larger card.
"""

from __future__ import annotations

import numpy as np

from rigright.demand import Numbers

RANKS = (0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11)  # of loss
COSTS = (0.0, 0.0, 0.03, 0.05, 0.1, 0.15, 0.22, 0.35, 0.9, 1.4, 2.0)
FASTER = 0.15  # of the price for each e times the output
SPENT = 0.15  # of a price within a budget that was named: it is there to be spent
SLOWER = 0.2  # for each halving of the speed that is enough for the work


def quality_cost(loss: Numbers) -> Numbers:
    """What the loss of weights and caches takes off the price of a plan."""
    return np.interp(loss, RANKS, COSTS)


def speed_worth(output: Numbers, *, told: bool) -> Numbers:
    """What more output is worth under one load; where the load is open, its price is that of a token."""
    return FASTER * np.log(np.maximum(output, 1e-9)) if told else np.zeros(len(output))
