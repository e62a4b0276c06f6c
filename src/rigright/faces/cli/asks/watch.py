"""`watch`: the machine again and again, on the screen, as metrics, in the history."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from rigright.base.errors import AskError
from rigright.base.words import clean, say, tell
from rigright.faces.cli.answer import Answer

if TYPE_CHECKING:
    from rigright.verbs.watch.verb import Watch

STAGE = "machine"
SUMMARY = say("live view: GPUs, host, processes, events; Prometheus metrics; history")


def answer(options: argparse.Namespace) -> Answer:
    """Watch, until somebody ends it."""
    from rigright.faces.cli.live import can_live
    from rigright.faces.cli.watching import live
    from rigright.report.pages import watch as pages
    from rigright.verbs.watch.verb import WatchWish, watch

    if options.unit:
        return _unit(options)
    if not options.once and options.form not in {"text", "json"}:
        raise AskError(say("--{form} needs --once", form=options.form))
    is_live = not options.once and options.form != "json" and can_live()
    wish = WatchWish(
        every_s=options.every,
        keep=not (options.no_history or options.once),
        serve=options.serve,
        token_file=options.token,
        dcgm_names=options.dcgm_names,
        baseline=options.baseline,
        for_s=options.for_s,
        closely=is_live,
    )
    with watch(wish) as moments:
        if options.once:
            moment = moments.twice()
            return Answer.of(pages, moment)
        _until_stopped(moments, lambda: (live if is_live else _lines)(moments, options))
    options.form = "text"  # all was said while it went on
    return Answer(page=lambda: pages.page(None), plain=lambda _language: None, text=str)


def _unit(options: argparse.Namespace) -> Answer:
    from rigright.report.pages import export as pages
    from rigright.verbs.watch.serving import unit

    text = unit(
        serve=options.serve,
        token_file=options.token,
        every=f"{options.every:g}s",
        dcgm_names=options.dcgm_names,
    )
    fields = {"rigright-watch.service": text}
    return Answer(
        page=lambda: pages.files_page(fields),
        plain=lambda language: pages.files_plain(pages.PrintedFiles(files=fields), language),
        text=lambda: pages.text(fields),
    )


def _until_stopped(moments: Watch, run: Callable[[], None]) -> None:
    """SIGTERM and Ctrl-C are the usual ends, and no errors."""
    import signal

    before = signal.signal(signal.SIGTERM, lambda _number, _frame: moments.end())
    try:
        run()
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)


def _lines(moments: Watch, options: argparse.Namespace) -> None:
    """A line for each reading, or for each moment with --json; with --serve only the news."""
    from json import dumps

    from rigright.report.pages.watch import log_events, log_readings, plain

    texts: set[str] = set()
    if moments.serves:
        _aside(tell(say("metrics at {address}", address=moments.serves), options.language))
    for moment in moments:
        for note in moment.notes:
            text = tell(note, options.language)
            if text not in texts:
                texts.add(text)
                _aside(text)
        if options.form == "json":
            sys.stdout.write(dumps(plain(moment, options.language), ensure_ascii=True) + "\n")
        else:
            quiet = moments.serves is not None
            shown = [*log_events(moment, options.language)]
            shown = shown if quiet else [*log_readings(moment, options.language), *shown]
            sys.stdout.writelines(f"{line}\n" for line in shown)
        sys.stdout.flush()


def _aside(text: str) -> None:
    sys.stderr.write(f"rigright: {clean(text)}\n")
    sys.stderr.flush()
