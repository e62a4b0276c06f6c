"""Serves the metrics of a watch."""

from __future__ import annotations

from pathlib import Path

from rigright.base.units import KIB
from rigright.machine.exporter import Server, read_place, read_token
from rigright.machine.exporter_page import Pages
from rigright.machine.exporter_tally import Tally

_MOST_TOKEN = 4 * KIB  # letters of a token's file that are read


def serve(tally: Tally, place: str, *, token_file: str | None, dcgm_names: bool) -> Server:
    """A server that runs until it is closed."""
    token = None
    if token_file is not None:
        with Path(token_file).open(encoding="utf-8", errors="replace") as file:
            token = read_token(file.read(_MOST_TOKEN))
    pages = Pages(tally, dcgm=dcgm_names)
    return Server(read_place(place), pages.page, token=token, is_up=lambda: tally.is_up)
