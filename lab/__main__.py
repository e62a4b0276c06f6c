"""`python -m lab refit|bands|accuracy|check|typed`."""

from __future__ import annotations

import argparse
import sys

from lab import accuracy, checking, typed
from lab.page import left_out
from lab.record import LabError
from lab.refitting import keep, refitted, report


def _refit(options: argparse.Namespace) -> int:
    for subject, done, files in refitted(options.subjects, files=options.runs):
        print("\n".join(report(subject, done)), flush=True)
        if options.write:
            print("  written: " + ", ".join(keep(subject, done, files=files)), flush=True)
    return 0


def _bands(options: argparse.Namespace) -> int:
    left_out.renew(options.subjects)
    return 0


def _accuracy(options: argparse.Namespace) -> int:
    return accuracy.run(check=options.check)


def _check(options: argparse.Namespace) -> int:
    wrong = list(checking.stale(options.subjects))
    print("\n".join(wrong) or "every committed correction is what the runs give")
    return 1 if wrong else 0


def _typed(options: argparse.Namespace) -> int:
    del options
    return typed.write()


def main() -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(prog="python -m lab", description="fit and test corrections on runs")
    commands = parser.add_subparsers(required=True)
    for name, run, does in (
        ("refit", _refit, "fit terms and bands; --write keeps them"),
        ("bands", _bands, "leave groups out around the terms as they stand; renew bands and docs/accuracy/"),
        ("accuracy", _accuracy, "write docs/accuracy.md; --check says what is out of date"),
        ("typed", _typed, "write what notes say as columns, lab/typed/"),
        ("check", _check, "exit 1 where a committed correction is not what the runs give"),
    ):
        command = commands.add_parser(name, help=does, description=does)
        command.set_defaults(run=run)
        if name not in {"accuracy", "typed"}:
            command.add_argument("subjects", nargs="*", help="tables of corrections; all by default")
        if name == "refit":
            command.add_argument("--runs", nargs="+", default=[], metavar="FILE.csv")
            command.add_argument("--write", action="store_true")
        if name == "accuracy":
            command.add_argument("--check", action="store_true")
    options = parser.parse_args()
    try:
        return int(options.run(options))
    except LabError as error:
        sys.stderr.write(f"error: {error}\n")
        return 3


if __name__ == "__main__":
    sys.exit(main())
