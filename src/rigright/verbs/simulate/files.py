"""Writes what became of each request: its first and last token on the clock of the load."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from math import isfinite
from pathlib import Path

from rigright.base.errors import AskError
from rigright.base.files import safe_cell, write_whole
from rigright.base.words import say
from rigright.sim.tally import Moments
from rigright.sim.trace import Trace

HEADER = ("request", "first_token_s", "last_token_s")


def requests_csv(trace: Trace | None, moments: Moments) -> str:
    """One line a request, in the order of the file; empty where it was not served."""
    names: Sequence[str | None] = (None,) * len(moments.first_s) if trace is None else trace.names
    places = range(len(names)) if trace is None else trace.places.tolist()
    cells = [("", "")] * len(names)
    for place, first, last in zip(places, moments.first_s.tolist(), moments.last_s.tolist(), strict=True):
        cells[place] = _moment(first), _moment(last)
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(HEADER)
    table.writerows(
        (str(place) if name is None else safe_cell(name), *own)
        for place, (name, own) in enumerate(zip(names, cells, strict=True))
    )
    return out.getvalue()


def _moment(value: float) -> str:
    return f"{value:.6f}" if isfinite(value) else ""


def write_requests(asked: str, *, trace: Trace | None, moments: Moments) -> None:
    """Write the table; an error names the file."""
    try:
        write_whole(Path(asked), requests_csv(trace, moments))
    except OSError as error:
        error.filename = asked
        raise
    except ValueError as error:
        raise AskError(say("cannot write {file}: {why}", file=asked, why=error)) from None
