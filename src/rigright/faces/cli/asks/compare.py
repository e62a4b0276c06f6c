"""`compare`: chips, machines or clouds side by side for one work."""

from __future__ import annotations

import argparse

from rigright.base.words import say
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.asks.plan import CASE, Options, add_options, command, told
from rigright.faces.cli.asks.plan import MACHINE as PLANNED

STAGE = "plan"
SUMMARY = say("chips, machines or clouds side by side for a model's work: speed, price, power, roofline")

SHARED = frozenset({"buy", "rent", "spot", "max-chips"})  # of what `plan` asks of machines
MACHINE: Options = tuple(option for option in PLANNED if option[0] in SHARED)
SHOWN: Options = (
    ("aim", "AIM", say('what each is laid out for: "cost", "speed", "latency", "power", "quality"')),
)
GROUPS = ((say("machine"), MACHINE), *CASE, (say("answer"), SHOWN))


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `compare`."""
    parser.add_argument(
        "things",
        nargs="+",
        metavar="THING",
        help=str(say('from two to eight: "4090" (as many as it takes), "8x h100", "aws:p5.48xlarge", "aws"')),
    )
    parser.add_argument(
        "--for",
        dest="model",
        required=True,
        metavar="MODEL",
        help=str(say("a name, a config.json, a folder, a GGUF file, a hub id")),
    )
    for title, options in GROUPS:
        add_options(parser, title, options=options)


def answer(options: argparse.Namespace) -> Answer:
    """Compare."""
    from rigright.report.pages import compare as pages
    from rigright.verbs.compare import compare
    from rigright.verbs.planning.words import read_wish

    words = told(options, tuple(group for _, group in GROUPS))
    result = compare(
        options.things,
        model=options.model,
        wish=read_wish(words),
        asked=command(["rigright", "compare", *options.things, "--for", options.model], words),
    )
    return Answer(
        page=lambda: pages.page(result),
        plain=lambda language: pages.plain(result, language),
    )
