"""`setup`: the software that goes together on a machine, and the lines that install it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.machine_options import add_from

if TYPE_CHECKING:
    from rigright.verbs.setup.set_up import SetUp

STAGE = "machine"
SUMMARY = say("matching driver, CUDA, framework and engine, with install commands")
_STDOUT = "-"
_FILES = ("script", "docker", "requirements")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `setup`."""
    parser.add_argument(
        "--for",
        dest="wanted",
        metavar="PLAN",
        help=str(say("`plan --json` output, or an engine: vllm")),
    )
    parser.add_argument(
        "--on", metavar="MACHINE", help=str(say('the GPUs: "8x h100"; default: this machine'))
    )
    add_from(parser)
    parser.add_argument(
        "--os",
        dest="system",
        metavar="SYSTEM",
        help=str(say('operating system, if not detected: "ubuntu 24.04", "rocky 9", wsl')),
    )
    parser.add_argument(
        "--framework", metavar="NAME", help=str(say("torch, tensorflow, jax, vllm, sglang, llama.cpp ..."))
    )
    parser.add_argument(
        "--script",
        nargs="?",
        const=_STDOUT,
        metavar="FILE",
        help=str(say("write an install script with each step explained; without FILE: print")),
    )
    parser.add_argument("--docker", nargs="?", const=_STDOUT, metavar="FILE", help=str(say("a Dockerfile")))
    parser.add_argument(
        "--requirements",
        nargs="?",
        const=_STDOUT,
        metavar="FILE",
        help=str(say("a requirements file for pip")),
    )


def answer(options: argparse.Namespace) -> Answer:
    """Choose, and tell or write it."""
    from rigright.report.pages import setup as pages
    from rigright.verbs.setup.frame import SetupWish, setup, write_file

    wish = SetupWish(
        on=options.on,
        from_file=options.from_file,
        system=options.system,
        wanted=options.wanted,
        framework=options.framework,
    )
    if options.on is not None and options.from_file is not None:
        raise AskError(say("--on names GPUs, --from reads a file: use one of them"))
    result = setup(wish)
    # the one file that goes to the screen
    asked = [kind for kind in _FILES if getattr(options, kind) == _STDOUT]
    if len(asked) > 1:
        raise AskError(say("only one file can be printed; give file names for the others"))
    shown = _text(asked[0], result, language=options.language) if asked else None
    for kind in _FILES:
        place = getattr(options, kind)
        if place not in {None, _STDOUT}:
            write_file(place, _text(kind, result, language=options.language))
    words = [
        ("--for", wish.wanted),
        ("--on", wish.on),
        ("--from", wish.from_file),
        ("--os", wish.system),
        ("--framework", wish.framework),
    ]
    return Answer(
        page=lambda: pages.page(result, pages.asked_line(words)),
        plain=lambda language: pages.plain(result, language),
        text=None if shown is None else (lambda: shown),
        record=result,
    )


def _text(kind: str, result: SetUp, *, language: str) -> str:
    from rigright.report import setup_files

    makers = {
        "script": setup_files.script,
        "docker": setup_files.dockerfile,
        "requirements": setup_files.requirements,
    }
    return makers[kind](result, language)
