"""`bench`: what this hardware really does, held against what it should."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rigright.base.errors import EXIT_INTERRUPT
from rigright.base.words import Sentence, say, tell
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.terminal import written_over

STAGE = "machine"
SUMMARY = say("measure GPUs, memory, links, disks and network; compare with reference values")


def answer(options: argparse.Namespace) -> Answer:
    """Measure, or read what was measured."""
    from rigright.report.pages import bench as pages
    from rigright.verbs.bench import verb

    expected = verb.baseline(options.baseline)  # a file that cannot be read is told before minutes of work
    if options.list:
        listed = verb.parts()
        return Answer(
            page=lambda: pages.list_page(listed), plain=lambda language: pages.list_plain(listed, language)
        )
    if options.listen is not None:
        verb.listen(options.listen, lambda address: _listening(address, options.language))
    if options.from_file is not None:
        result = verb.bench_from(options.from_file)
    else:
        result = verb.bench(
            *options.parts,
            wish=_wish(options),
            plan=options.plan,
            keep=verb.Keep(save=options.save, rows=options.rows, history=not options.no_history),
            progress=lambda title, place: _progress(title, place, language=options.language),
        )
    against = verb.against(result, expected)
    return Answer(
        page=lambda: pages.page(result, against=against),
        plain=lambda language: pages.plain_against(result, language, against=against),
        exit_code=EXIT_INTERRUPT
        if result.stopped
        else max(result.exit_code, against.exit_code if against else 0),
        record=result,
    )


def _wish(options: argparse.Namespace) -> Any:
    from rigright.verbs.bench.verb import BenchWish

    return BenchWish(
        quick=options.quick,
        budget_s=options.time,
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
    sentence = say("listening on {address}; stop with Ctrl-C", address=address)
    sys.stderr.write(tell(sentence, language) + "\n")
    sys.stderr.flush()
