"""`bench`: what this hardware really does, held against what it should."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rigright.base.errors import AskError
from rigright.base.units import parse_seconds
from rigright.base.words import Sentence, say, tell
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.machine_options import add_baseline
from rigright.faces.cli.terminal import written_over

STAGE = "machine"
SUMMARY = say("measure GPUs, memory, links, disks and network; compare with reference values")

_EXIT_STOPPED = 130
_LOOPBACK = "127.0.0.1"


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `bench`."""
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=str(say("only these parts; --list shows them"))
    )
    parser.add_argument("--quick", action="store_true", help=str(say("under half a minute, less precise")))
    parser.add_argument("--time", metavar="TIME", help=str(say("total time limit: 20min")))
    parser.add_argument("--on", metavar="CARDS", help=str(say("only these GPUs: 0,2")))
    parser.add_argument("--python", metavar="PATH", help=str(say("a Python that has PyTorch")))
    parser.add_argument("--disk", metavar="FOLDER", help=str(say("folder on the disk to measure")))
    parser.add_argument("--peer", metavar="HOST", help=str(say("another machine, where --listen runs")))
    parser.add_argument(
        "--listen",
        nargs="?",
        const=_LOOPBACK,
        metavar="ADDRESS",
        help=str(say("listen for another machine's --peer until Ctrl-C; 0.0.0.0: any machine")),
    )
    parser.add_argument("--endpoint", metavar="URL", help=str(say("language model endpoint to measure")))
    parser.add_argument("--model", help=str(say("model name there; default: the first one")))
    parser.add_argument(
        "--plan", metavar="FILE", help=str(say("send the load of this plan and compare with its prediction"))
    )
    parser.add_argument("--save", metavar="FILE", help=str(say("save the results, for --from")))
    parser.add_argument("--rows", metavar="FOLDER", help=str(say("save runs for `calibrate --from`")))
    parser.add_argument("--no-history", action="store_true", help=str(say("do not add to the history")))
    parser.add_argument(
        "--from",
        dest="from_file",
        metavar="FILE",
        help=str(say("output of --save, or a log of nccl-tests, nvbandwidth, gpu-burn or SuperBench")),
    )
    add_baseline(parser)
    parser.add_argument("--list", action="store_true", help=str(say("available parts")))


def answer(options: argparse.Namespace) -> Answer:
    """Measure, or read what was measured."""
    from rigright.report.pages import bench as pages
    from rigright.verbs.bench import frame

    expected = frame.baseline(options.baseline)  # a file that cannot be read is told before minutes of work
    if options.list:
        listed = frame.parts()
        return Answer(
            page=lambda: pages.list_page(listed), plain=lambda language: pages.list_plain(listed, language)
        )
    if options.listen is not None:
        frame.listen(options.listen, lambda address: _listening(address, options.language))
    if options.from_file is not None:
        result = frame.bench_from(options.from_file)
    else:
        result = frame.bench(
            *options.parts,
            wish=_wish(options),
            plan=options.plan,
            keep=frame.Keep(save=options.save, rows=options.rows, history=not options.no_history),
            progress=lambda title, place: _progress(title, place, language=options.language),
        )
    against = frame.against(result, expected)
    return Answer(
        page=lambda: pages.page(result, against=against),
        plain=lambda language: pages.plain_against(result, language, against=against),
        exit_code=_EXIT_STOPPED if result.stopped else against.exit_code if against else 0,
        record=result,
    )


def _wish(options: argparse.Namespace) -> Any:
    from rigright.verbs.bench.frame import BenchWish

    budget = None if options.time is None else parse_seconds(options.time)
    if budget is not None and budget < 1:
        raise AskError(
            say("--time {time} is too short to measure anything", time=options.time),
            hint=say("for example {example}", example="5min"),
        )
    return BenchWish(
        quick=options.quick,
        budget_s=budget,
        devices=options.on,
        python=options.python,
        disk=options.disk,
        peer=options.peer,
        endpoint=options.endpoint,
        model=options.model,
    )


def _progress(title: Sentence, place: tuple[int, int], *, language: str) -> None:
    done, parts = place
    written_over("" if done == parts else f"{done + 1}/{parts}  {tell(title, language)}", language)


def _listening(address: str, language: str) -> None:
    said = say("listening on {address}; stop with Ctrl-C", address=address)
    sys.stderr.write(tell(said, language) + "\n")
    sys.stderr.flush()
