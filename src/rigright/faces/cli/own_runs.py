"""The option `--anchors`: runs of the user's own, which move what verbs tell of speeds."""

from __future__ import annotations

import argparse

from rigright.base.words import say

VERBS = {"compare", "explain", "fit", "plan", "validate"}  # that tell speeds


def add_anchors(parser: argparse.ArgumentParser) -> None:
    """The option."""
    text = say("your own runs, saved by `calibrate --from`; none: ignore them")
    parser.add_argument("--anchors", metavar="FILE", help=str(text))
