"""`baseline`: what a type of node should be like, and whether a node is."""

from __future__ import annotations

import argparse

from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "machine"
SUMMARY = say("baseline of a node type: save it from a known-good node, check others against it")


def answer(options: argparse.Namespace) -> Answer:
    """Save one, or check against one."""
    from rigright.report.pages import baseline as pages
    from rigright.verbs.baseline import SavedBaseline, baseline

    saved_baseline = baseline(
        save=options.save, check=options.check, from_file=options.from_file, bench=options.bench
    )
    if isinstance(saved_baseline, SavedBaseline):
        saved = saved_baseline
        return Answer(
            page=lambda: pages.page(saved.machine, saved.baseline),
            plain=lambda language: pages.plain(saved.baseline, language),
            record=saved,
        )
    result, expected = saved_baseline
    return Answer(
        page=lambda: pages.check_page(result, expected),
        plain=lambda language: pages.check_plain(
            pages.BaselineView(result=result, baseline=expected), language
        ),
        exit_code=result.exit_code,
        record=result,
    )
