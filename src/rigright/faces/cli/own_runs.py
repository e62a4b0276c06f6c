"""The option `--anchors`, and the note on every answer that runs of the user's own have moved."""

from __future__ import annotations

import argparse
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from rigright.base.words import say, tell
from rigright.faces.cli.answer import Answer

if TYPE_CHECKING:
    from rigright.report.page import Page

VERBS = {"compare", "explain", "fit", "plan", "validate"}  # that tell speeds


def add_anchors(parser: argparse.ArgumentParser) -> None:
    """The option."""
    text = say("runs of your own, as `calibrate --from` kept them; none: leave them out")
    parser.add_argument("--anchors", metavar="FILE", help=str(text))


def noted(answer: Answer, used: AbstractSet[str]) -> Answer:
    """The same answer, saying which own runs have moved it."""
    from rigright.report.page import Line
    from rigright.verbs.own_runs import sentence

    def page() -> Page:
        from dataclasses import replace

        made = answer.page()
        note = sentence(used)
        return made if note is None else replace(made, parts=(*made.parts, Line(said=note, tone="dim")))

    def plain(language: str) -> Any:
        made = answer.plain(language)
        note = sentence(used)
        return (
            made if note is None or not isinstance(made, dict) else made | {"own_runs": tell(note, language)}
        )

    return Answer(
        page=page,
        plain=plain,
        exit_code=answer.exit_code,
        text=answer.text,
        sheet=answer.sheet,
        record=answer.record,
        aside=answer.aside,
    )
