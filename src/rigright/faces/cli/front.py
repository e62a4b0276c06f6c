"""What `rigright` says of itself: its commands, and the options they all know."""

from __future__ import annotations

from difflib import get_close_matches

from rigright import __version__
from rigright.base import shelf
from rigright.base.words import Sentence, say
from rigright.report.page import Column, Commands, Line, Page, Table

ASKS = "rigright.faces.cli.asks"
TAGLINE = say("The right rig for your model, and your rig set right.")


def verbs() -> tuple[str, ...]:
    """Every command, as it is typed."""
    return tuple(name.replace("_", "-") for name in shelf.names(ASKS))


def front_page() -> Page:
    """Help on the whole."""
    summaries = shelf.load(ASKS, "SUMMARY")
    rows = tuple((file.replace("_", "-"), summary) for file, summary in summaries.items())
    blank = Column(head="")
    return Page(
        title=f"rigright {__version__}",
        parts=(
            Line(said=TAGLINE),
            Table(title=say("Commands"), columns=(blank, Column(head="", flexible=True)), rows=rows),
            Table(title=say("Options"), columns=(blank, Column(head="", flexible=True)), rows=_OPTIONS),
            Commands(
                title=say("For example"),
                items=(
                    'rigright plan qwen3-32b --mode chat --budget "$8000"',
                    'rigright explain llama-3.1-70b --on "8x h100"',
                    "rigright plan --help",
                ),
            ),
        ),
    )


def unknown_verb(verb: str) -> Sentence:
    """The complaint about a command, with the nearest known."""
    near = get_close_matches(verb, verbs(), n=1, cutoff=0.5)
    if near:
        return say('there is no command "{verb}"; did you mean {near}?', verb=verb, near=near[0])
    return say('there is no command "{verb}"; there are: {verbs}', verb=verb, verbs=", ".join(verbs()))


_OPTIONS = (
    ("--json  --markdown  --html  --csv", say("another form than text for a terminal")),
    ("--why", say("show formulas, facts and their sources")),
    ("--lang en|zh", say("language; by default the locale's")),
    ("--color auto|always|never", say("colours; auto: on a terminal, unless NO_COLOR is set")),
    ("--width CELLS", say("width of the screen; by default the terminal's")),
    ("--version", say("the version of rigright")),
    ("--help", say("help; after a command, on that command")),
)
