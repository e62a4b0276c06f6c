"""`diagnose`: the bottleneck, with evidence."""

from __future__ import annotations

import argparse

from rigright.base.units import show_seconds
from rigright.base.words import say
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.terminal import written_over

STAGE = "machine"
SUMMARY = say("find the bottleneck of a running job: GPU, memory, CPU, disk, network, PCIe, power, heat")


def answer(options: argparse.Namespace) -> Answer:
    """Diagnose."""
    from rigright.report.pages import diagnose as pages
    from rigright.verbs.diagnose import diagnose

    result = diagnose(
        options.from_file,
        since_s=options.since,
        live_s=options.live,
        history=options.history,
        progress=lambda gone_s, all_s: show_progress(gone_s, all_s, language=options.language),
    )
    return Answer.of(pages, result, exit_code=result.exit_code)


def show_progress(gone_s: float, all_s: float, *, language: str) -> None:
    """How much of the time has gone."""
    sentence = say("watched {gone} of {all}", gone=show_seconds(gone_s), all=show_seconds(all_s))
    written_over(sentence, language, is_last=gone_s >= all_s)
