"""Serves the metrics of a watch."""

from __future__ import annotations

from rigright.base.files import read_bounded
from rigright.base.units import KIB
from rigright.machine.exporter.page import Pages
from rigright.machine.exporter.server import Server, read_place, read_token
from rigright.machine.exporter.tally import Tally

_MOST_TOKEN = 4 * KIB  # letters of a token's file that are read


def serve(tally: Tally, place: str, *, token_file: str | None, dcgm_names: bool) -> Server:
    """A server that runs until it is closed."""
    token = None
    if token_file is not None:
        token = read_token(read_bounded(token_file, _MOST_TOKEN).decode("utf-8", "replace"))
    pages = Pages(tally, dcgm=dcgm_names)
    return Server(read_place(place), pages.page, token=token, is_up=lambda: tally.is_up)
