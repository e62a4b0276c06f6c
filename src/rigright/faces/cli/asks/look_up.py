"""`rigright look-up [KIND] [WORDS]`: what is known, with filters, order and sources."""

from __future__ import annotations

import argparse

from rigright.base.errors import AskError
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


def answer(options: argparse.Namespace) -> Answer:
    """Look it up."""
    from rigright.base.money import currency_of, home_of
    from rigright.report.pages import look_up as pages
    from rigright.verbs.look_up.verb import LookUpWish, is_kind, kind_summaries, look_up

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
        limit=options.limit,
        with_sources=options.sources,
        currency=currency_of(options.currency or home_of(options.words, options.language)).code,
        run_code=options.run_code,
        input_shape=options.input,
    )
    words = (*options.words, *options.shape)
    if " " in options.kind.strip() or not is_kind(options.kind):
        spoken = " ".join((options.kind, *options.words)).split()
        named = next((word for word in spoken if is_kind(word)), None)
        if named is None:
            return _everywhere(" ".join(spoken), options)
        options.kind, words = named, tuple(word for word in spoken if word != named)
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
    from rigright.verbs.look_up.verb import search

    findings = search(text)
    return Answer(
        lambda: pages.findings_page(findings),
        lambda language: pages.findings_plain(findings, language),
        record=findings,
    )
