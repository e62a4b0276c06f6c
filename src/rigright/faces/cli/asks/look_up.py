"""`rigright look-up [KIND] [WORDS]`: what is known, with filters, order and sources."""

from __future__ import annotations

import argparse

from rigright.base.errors import AskError
from rigright.base.units import parse_count
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "know"
SUMMARY = say("look up chips, CPUs, clouds, prices, software, models, formats, engines, myths")

_FILTERS = {
    "vendor": "vendor={}",
    "segment": "segment={}",
    "min_memory": "memory>={}",
    "since": "since>={}",
    "task": "task={}",
    "family": "family={}",
    "min_params": "params>={}",
    "max_params": "params<={}",
}


def add(parser: argparse.ArgumentParser) -> None:
    """What can be asked."""
    parser.add_argument(
        "kind", nargs="?", help=str(say("chips, cpus, clouds, ...; other words are searched in all kinds"))
    )
    parser.add_argument("words", nargs="*", help=str(say("a name, loosely written: 4090, epyc 9554")))
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="FIELD>=VALUE",
        help=str(say("filter such as memory>=24GB or architecture~ada; repeatable")),
    )
    parser.add_argument("--vendor", metavar="NAME", help=str(say("only this vendor")))
    parser.add_argument(
        "--segment", metavar="NAME", help=str(say("only consumer, workstation, datacenter, embedded or soc"))
    )
    parser.add_argument("--min-memory", metavar="SIZE", help=str(say("only with at least this memory")))
    parser.add_argument("--since", metavar="DATE", help=str(say("only from this date: 2023 or 2023-06")))
    _add_models(parser)
    parser.add_argument(
        "--sort", metavar="FIELD", help=str(say("sort by a field: numbers descending, text ascending"))
    )
    parser.add_argument("--reverse", action="store_true", help=str(say("reverse the order")))
    parser.add_argument("--limit", metavar="N", help=str(say("maximum rows; 0: all")))
    parser.add_argument("--sources", action="store_true", help=str(say("show the source of each row")))


def _add_models(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--task", metavar="NAME", help=str(say("only models for this task: text, embed, vision ..."))
    )
    parser.add_argument("--family", metavar="NAME", help=str(say("only models of this family")))
    parser.add_argument(
        "--min-params", metavar="N", help=str(say("only models with at least this many parameters: 7B"))
    )
    parser.add_argument(
        "--max-params", metavar="N", help=str(say("only models with at most this many parameters: 70B"))
    )
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="SIZES",
        help=str(say("a model given by its dimensions")),
    )
    parser.add_argument(
        "--run-code", action="store_true", help=str(say("allow file.py:factory to run and be traced"))
    )
    parser.add_argument("--input", metavar="SHAPE", help=str(say("input of a traced module: 1x3x224x224")))


def answer(options: argparse.Namespace) -> Answer:
    """Look it up."""
    from rigright.report.pages import look_up as pages
    from rigright.verbs.look_up.frame import LookUpWish, is_kind, kind_summaries, look_up

    if options.kind is None:
        summaries = kind_summaries()
        return Answer(
            lambda: pages.kinds_page(summaries), lambda language: pages.kinds_plain(summaries, language)
        )
    short = [form.format(getattr(options, name)) for name, form in _FILTERS.items() if getattr(options, name)]
    wish = LookUpWish(
        where=(*short, *options.where),
        sort=options.sort,
        backwards=options.reverse,
        limit=None if options.limit is None else parse_count(options.limit),
        with_sources=options.sources,
        run_code=options.run_code,
        input_shape=options.input,
    )
    words = (*options.words, *options.shape)
    if not is_kind(options.kind):
        return _everywhere(" ".join((options.kind, *options.words)), options)
    listing = look_up(options.kind, words, wish=wish)
    return Answer(
        lambda: pages.page(listing),
        lambda language: pages.plain(listing, language),
        listing.exit_code,
        record=listing,
    )


def _everywhere(text: str, options: argparse.Namespace) -> Answer:
    """A word without a kind: everything that is known is searched."""
    if any(getattr(options, name) for name in (*_FILTERS, "where", "sort", "shape")):
        raise AskError(
            say('give a kind before a filter: rigright look-up chips "{text}" --where ...', text=text[:60])
        )
    from rigright.report.pages import look_up as pages
    from rigright.verbs.look_up.search import search

    found = search(text)
    return Answer(
        lambda: pages.findings_page(found),
        lambda language: pages.findings_plain(found, language),
        record=found,
    )
