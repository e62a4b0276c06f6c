"""`measure -- COMMAND`: the user's own command, run untouched, and what it took."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "machine"
STARTED_S = 0.3  # by then the command runs, and need not wait for what shows the answer
SUMMARY = say("run your own command and measure memory, utilisation, power and time; compare with a plan")


def answer(options: argparse.Namespace) -> Answer:
    """Measure."""
    from threading import Timer

    from rigright.verbs.measure.verb import EVERY_S, measure

    beside = Timer(STARTED_S, _prepare, (options,))
    beside.daemon = True
    beside.start()
    with _output_aside() if options.form != "text" else nullcontext():
        result = measure(
            options.command,
            every_s=EVERY_S if options.every is None else options.every,
            plan=options.plan,
            steps=options.steps,
            tokens=options.tokens,
            save_as=options.save,
        )
    if options.read:
        from rigright.verbs.measure.saved import with_runs

        result = with_runs(result, options.read, plan=options.plan, save_as=options.save)
    beside.cancel()
    from rigright.report.pages import measure as pages

    return replace(Answer.of(pages, result, exit_code=result.exit_code), aside=True)


@contextmanager
def _output_aside() -> Iterator[None]:
    """What the command prints goes to stderr: stdout is for the answer alone."""
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _prepare(options: argparse.Namespace) -> None:
    """Load what shows the answer while the command runs: nobody shall have to wait for it at the end."""
    import rigright.report.pages.measure
    from rigright.base import shelf
    from rigright.base.words import sentences

    sentences(options.language)
    if options.form == "json":
        import rigright.base.plain  # noqa: F401
    else:
        shelf.take("rigright.report.formats", options.form, bears="render")
