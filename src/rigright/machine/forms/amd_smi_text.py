"""What amd-smi prints without `--json`: static, metric, monitor, or the picture of all cards."""

from __future__ import annotations

from rigright.machine.amd.answers import read_answers
from rigright.machine.amd.text import cards_in
from rigright.machine.record import Read


def matches(text: str) -> bool:
    """Whether it tells of AMD's cards so."""
    return bool(dict(read_answers(cards_in(text)).fields)["devices"])


def read(text: str) -> Read:
    """Its cards and driver."""
    return read_answers(cards_in(text))
