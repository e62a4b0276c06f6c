"""Options of every verb that looks at a machine: another one than this, and what its type should be like."""

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
                "another machine: file, folder, tar, zip or gzip of tool output (nvidia-smi, dmesg, "
                "amd-smi, a bug report, several in one file), or of `probe --save`; - is stdin"
            )
        ),
    )


def add_baseline(parser: argparse.ArgumentParser) -> None:
    """`--baseline FILE`: what nodes of this type should be like."""
    parser.add_argument(
        "--baseline",
        metavar="FILE",
        help=str(say("compare with the baseline from `rigright baseline --save`")),
    )
