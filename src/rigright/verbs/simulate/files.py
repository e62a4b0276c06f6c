"""Writes what became of each request: its first and last token on the clock of the load."""

from __future__ import annotations

import csv
import io
from itertools import repeat
from math import isfinite

import numpy as np

from rigright.base.files import safe_cell, save_text
from rigright.sim.load import Trace
from rigright.sim.tally import Moments

HEADER = ("request", "first_token_s", "last_token_s")


def _requests_csv(trace: Trace | None, moments: Moments) -> str:
    """One line a request, in the order of the file; empty where it was not served."""
    count = len(moments.first_s) if trace is None else len(trace.names)
    places = slice(None) if trace is None else trace.places
    by_row = np.full((2, count), np.nan)
    by_row[:, places] = moments.first_s, moments.last_s
    names = repeat(None) if trace is None else trace.names
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(HEADER)
    table.writerows(
        (str(row) if name is None else safe_cell(name), _moment(by_row[0, row]), _moment(by_row[1, row]))
        for row, name in zip(range(count), names, strict=False)
    )
    return out.getvalue()


def _moment(value: float) -> str:
    return f"{value:.6f}" if isfinite(value) else ""


def write_requests(asked: str, *, trace: Trace | None, moments: Moments) -> None:
    """Write the table."""
    save_text(asked, _requests_csv(trace, moments))
