"""`fit`: what runs on this machine."""

from __future__ import annotations

import argparse
import shlex

from rigright.base.errors import AskError
from rigright.base.units import parse_count
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "plan"
SUMMARY = say("what runs on a machine: models and formats that fit, with the largest context, best first")

_SCALES = {"m": 1e-3, "b": 1.0, "t": 1e3}


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `fit`."""
    parser.add_argument(
        "--on",
        metavar="MACHINE",
        help=str(say('the cards: "8x h100"; or a file of `probe --save`; else those here')),
    )
    parser.add_argument("--task", help=str(say('"text", "image-text", "embed", "vision", "image", "speech"')))
    parser.add_argument("--family", help=str(say("a family of models: llama, qwen3")))
    parser.add_argument("--licence", "--license", dest="licence", help=str(say("part of the licence's name")))
    parser.add_argument("--min-params", metavar="SIZE", help=str(say("at least so large: 7B")))
    parser.add_argument("--max-params", metavar="SIZE", help=str(say("at most so large: 70B")))
    parser.add_argument("--context", metavar="N", help=str(say("tokens each must hold: 32k")))
    parser.add_argument("--engine", help=str(say('"vllm", "sglang", "llama.cpp" ...; a version may follow')))
    parser.add_argument("--all-formats", action="store_true", help=str(say("every format that fits")))
    parser.add_argument("--limit", metavar="N", help=str(say("rows shown; 0 shows all")))


def answer(options: argparse.Namespace) -> Answer:
    """Find what fits."""
    from rigright.report.pages import fit as pages
    from rigright.verbs.fit import SHOWN, FitWish, fit

    limit = SHOWN if options.limit is None else parse_count(options.limit)
    wish = FitWish(
        task=options.task,
        family=options.family,
        licence=options.licence,
        min_params=_params(options.min_params),
        max_params=_params(options.max_params),
        context_tok=None if options.context is None else parse_count(options.context),
        engine=options.engine,
        every_format=options.all_formats,
        limit=None if limit == 0 else limit,
    )
    result = fit(options.on, wish=wish, asked=_asked(options.on))
    return Answer(
        page=lambda: pages.page(result),
        plain=lambda language: pages.plain(result, language),
    )


def _asked(on: str | None) -> str:
    return "rigright fit" if on is None else f"rigright fit --on {shlex.quote(on)}"


def _params(text: str | None) -> float | None:
    """Read "7B" or "500M" as a number of parameters."""
    if text is None:
        return None
    from rigright.base.units import GIGA

    number, unit = text[:-1], text[-1:].lower()
    try:
        if not number.replace(".", "", 1).isdecimal():
            raise ValueError(text)  # noqa: TRY301
        return float(number) * _SCALES[unit] * GIGA
    except (ValueError, KeyError):
        raise AskError(
            say('cannot read "{text}" as a size of model; write for example 7B', text=text)
        ) from None
