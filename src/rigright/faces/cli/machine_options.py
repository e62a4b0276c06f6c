"""The option of every verb that can look at another machine than this one."""

from __future__ import annotations

import argparse

from rigright.base.words import say


def add_from(parser: argparse.ArgumentParser) -> None:
    """`--from FILE`: a machine that was read before, or elsewhere."""
    parser.add_argument(
        "--from",
        dest="from_file",
        metavar="FILE",
        help=str(
            say(
                "another machine: what `probe --save` or --bundle wrote, nvidia-smi -q -x, "
                "a tree of /sys; - is stdin"
            )
        ),
    )
