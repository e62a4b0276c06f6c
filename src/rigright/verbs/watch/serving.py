"""Serves the metrics of a watch."""

from __future__ import annotations

from rigright.base.files import read_bounded
from rigright.base.units import KIB
from rigright.machine.exporter.page import Pages
from rigright.machine.exporter.server import (
    ListenAddress,
    MetricsServer,
    guard,
    is_own_name,
    read_place,
    read_token,
)
from rigright.machine.exporter.tally import MetricsTally

__all__ = ["door", "is_own_name", "serve"]
_MOST_TOKEN = 4 * KIB  # letters of a token's file that are read


def serve(tally: MetricsTally, place: str, *, token_file: str | None, dcgm_names: bool) -> MetricsServer:
    """A server that runs until it is closed."""
    where, token = door(place, token_file=token_file)
    pages = Pages(tally, dcgm=dcgm_names)
    return MetricsServer(where, pages.page, token=token, is_up=lambda: tally.is_up)


def door(place: str, *, token_file: str | None) -> tuple[ListenAddress, str | None]:
    """Where to listen, and the token in a file, which is needed beyond this machine."""
    where, token = read_place(place), None
    if token_file is not None:
        token = read_token(read_bounded(token_file, _MOST_TOKEN).decode("utf-8", "replace"))
    guard(where, token)
    return where, token
